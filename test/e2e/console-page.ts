import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { type Browser, type BrowserContext, chromium, type Locator, type Page } from "playwright-core";
import { ADMIN_TOKEN, type BareGateway, type BareOptions, startBareGateway } from "./bare-gateway.ts";

const CHROMIUM = [
  process.env.CHROMIUM_PATH,
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
  "/usr/bin/google-chrome-stable",
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
].find((path): path is string => path !== undefined && existsSync(path));

export const HAS_CHROMIUM = CHROMIUM !== undefined;
/** For the name of a suite. */
export const SKIPPED = HAS_CHROMIUM ? "" : " (skipped: no Chromium found; set CHROMIUM_PATH)";

export { ADMIN_TOKEN };

/** More than any screen of a test has stops. */
const MOST_TABS = 80;

/** The levels of WCAG 2.2 AA in axe's words. */
const WCAG = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];

export interface Console extends BareGateway {
  /** Creates a site and publishes versions of it, each with a skill whose bytes are its description. @returns its id. */
  publishSite(
    site: { readonly name: string; readonly hosts?: readonly string[] },
    ...versions: readonly SiteVersion[]
  ): Promise<string>;
  /** A browser that nobody signed in yet. What goes wrong in its pages is collected in `faults`. */
  open(options?: VisitOptions): Promise<Visitor>;
}

export interface SiteVersion {
  readonly title: string;
  readonly description: string;
  readonly note?: string;
}

export interface VisitOptions {
  readonly scheme?: "light" | "dark";
  readonly width?: number;
  /** What something before the gateway adds to every request. */
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Visitor {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Errors of scripts, and what the page's policy refused. */
  readonly faults: string[];
  signIn(token?: string): Promise<void>;
  /** Goes to a screen by its address, and waits until what it shows was read. */
  goTo(path: string): Promise<void>;
  /** Goes there as a link of the console does. */
  show(path: string): Promise<void>;
}

/** A gateway with its console, and a browser. */
export async function startConsole(options: BareOptions = {}): Promise<Console> {
  const gateway = await startBareGateway(options);
  const browser = await launchChromium();
  return {
    ...gateway,
    publishSite: async (site, ...versions) => {
      const { id } = await gateway.administer<{ id: string }>("POST", "/sites", site);
      for (const version of versions) {
        const { description } = version;
        const sha256 = createHash("sha256").update(description).digest("hex");
        await gateway.administer("POST", `/sites/${id}/blobs?sha256=${sha256}`, new TextEncoder().encode(description));
        const skill = { name: "deploy", type: "skill-md", description, url: "/skills/deploy.md", sha256 };
        await gateway.administer("POST", `/sites/${id}/versions`, { ...version, skills: [skill] });
      }
      return id;
    },
    open: (options) => visit(browser, gateway.url, options),
    stop: async () => {
      await browser.close();
      await gateway.stop();
    },
  };
}

/** Where {@link HAS_CHROMIUM}. */
export function launchChromium(): Promise<Browser> {
  return chromium.launch({ executablePath: CHROMIUM ?? "", args: ["--no-sandbox"] });
}

async function visit(
  browser: Browser,
  url: string,
  { scheme = "light", width = 1280, headers = {} }: VisitOptions = {},
): Promise<Visitor> {
  const context = await browser.newContext({
    colorScheme: scheme,
    viewport: { width, height: 900 },
    extraHTTPHeaders: headers,
    permissions: ["clipboard-read", "clipboard-write"],
  });
  const page = await context.newPage();
  page.setDefaultTimeout(20_000);
  const faults: string[] = [];
  page.on("pageerror", (error) => faults.push(error.message));
  page.on("dialog", (dialog) => {
    faults.push(`a dialog of the browser: ${dialog.message()}`);
    void dialog.dismiss();
  });
  // Refusals of the gateway are shown on the screen and expected here and there.
  page.on("console", (message) => {
    if (message.type() === "error" && !message.text().includes("the server responded with a status of 4")) {
      faults.push(message.text());
    }
  });
  const settled = async () => {
    await page.locator("#main h1").waitFor();
    await page.locator("#main .loading").first().waitFor({ state: "detached" });
  };
  return {
    page,
    context,
    faults,
    signIn: async (token = ADMIN_TOKEN) => {
      await page.goto(`${url}/admin/`);
      await page.getByLabel("Operator token").fill(token);
      await page.getByRole("button", { name: "Sign in" }).click();
      await settled();
    },
    show: async (path) => {
      await page.evaluate((to) => {
        history.pushState(null, "", `/admin${to}`);
        dispatchEvent(new Event("popstate"));
      }, path);
      await settled();
    },
    goTo: async (path) => {
      await page.goto(`${url}/admin${path}`);
      await settled();
    },
  };
}

/** Presses Tab, or Shift+Tab, until a thing has the focus, as somebody without a mouse does. */
export async function tabTo(page: Page, wanted: Locator, key: "Tab" | "Shift+Tab" = "Tab"): Promise<void> {
  await wanted.waitFor();
  const isThere = () => wanted.evaluate((element) => element === document.activeElement);
  for (let presses = 0; presses < MOST_TABS; presses++) {
    if (await isThere()) return;
    await page.keyboard.press(key);
  }
  throw new Error(`${wanted} is not reached by ${key}.`);
}

const axe = readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** What axe finds against WCAG 2.2 AA on the page as it is, each as `rule: element`. */
export async function barriers(page: Page): Promise<readonly string[]> {
  // A page that only changes its screen keeps it.
  if (!(await page.evaluate("'axe' in globalThis"))) await page.evaluate(await axe);
  const options = { runOnly: WCAG, resultTypes: ["violations"] };
  const found = (await page.evaluate(`axe.run(document, ${JSON.stringify(options)})`)) as {
    violations: { id: string; nodes: { html: string }[] }[];
  };
  return found.violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 200)}`));
}
