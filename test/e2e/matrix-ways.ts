import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import type { Browser, Page } from "playwright-core";
import type { JsonObject } from "../../src/core/json.ts";
import { PACKAGE_FOLDER } from "../../src/dev/package/build.ts";
import { AdminClient } from "../../src/dev/stack/admin-client.ts";
import { onboardOrigin } from "../../src/dev/stack/onboarding.ts";
import type { AsyncToolHostOptions } from "../../src/library/host-async.ts";
import { openSite } from "../../src/local/serve/site-files.ts";
import { serveSite } from "../../src/local/serve/site-server.ts";
import type { MatrixCase, Way } from "../matrix/cases.ts";
import { ADMIN_TOKEN, type BareGateway } from "./bare-gateway.ts";

/** A site whose skills are served, and whose attestations of them count: nobody's, where it is not said. */
export interface ServedSite {
  readonly origin: string;
  readonly reviewer?: { readonly attester: string; readonly publicKey: string };
}

/** A request of JSON-RPC. */
export interface Message {
  readonly id: number;
  readonly method: string;
  readonly params: JsonObject;
}

/** One site, served in one way. */
export interface Served {
  readonly way: Way;
  /** What was found and is not served, each as `name: code`; the gateway tells its operator alone, and of attestations nobody. */
  readonly rejected: readonly string[];
  /** The text of the whole answer. */
  ask(message: Message): Promise<string>;
}

const textOf = ({ id, method, params }: Message) => JSON.stringify({ jsonrpc: "2.0", id, method, params });

const THIRTY_DAYS_MS = 30 * 86_400_000;

/** A client over HTTP of a gateway that admits the site. */
export async function servedByGateway({ url, administer }: BareGateway, site: ServedSite): Promise<Served> {
  const admin = new AdminClient(url, ADMIN_TOKEN);
  const { id, probe } = await onboardOrigin(admin, site.origin);
  await administer("PATCH", `/origins/${id}`, { attestationMode: site.reviewer === undefined ? "off" : "enforcing" });
  if (site.reviewer !== undefined) {
    const { attester, publicKey } = site.reviewer;
    const registeredAt = Date.now() - THIRTY_DAYS_MS;
    await administer("POST", "/reviewers", { attester, key: { kind: "ed25519", publicKey }, registeredAt });
  }
  const token = await admin.createToken(await admin.createClient(`client of ${site.origin}`));
  return {
    way: "gateway",
    rejected: probe.rejected.map(({ name, code }) => `${name}: ${code}`),
    ask: async (message) => {
      const answer = await fetch(`${url}/mcp?origin=${encodeURIComponent(site.origin)}`, {
        method: "POST",
        headers: {
          Authorization: `Bearer ${token}`,
          "Content-Type": "application/json",
          Accept: "application/json, text/event-stream",
          ...eraHeaders(message),
        },
        body: textOf(message),
      });
      return answer.text();
    },
  };
}

function eraHeaders({ method, params }: Message): Record<string, string> {
  if (params._meta === undefined) return { "MCP-Protocol-Version": "2025-11-25" };
  return { "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method, "Mcp-Name": String(params.name) };
}

/** The command of the package, in a time zone of its own. */
export async function servedByCommand(site: ServedSite): Promise<Served & AsyncDisposable> {
  const demands =
    site.reviewer === undefined
      ? []
      : ["--require-attestation", `${site.reviewer.attester}=${site.reviewer.publicKey}`];
  const child = spawn(
    process.execPath,
    [join(PACKAGE_FOLDER, "skillgate.js"), site.origin, "--json-logs", ...demands],
    { env: { ...process.env, TZ: "Asia/Kathmandu", LANG: "de_DE.UTF-8" } },
  );
  const rejected: string[] = [];
  createInterface({ input: child.stderr }).on("line", (line) => {
    const { event, name, code } = JSON.parse(line) as Record<string, string>;
    if (event === "rejected" || event === "refused") rejected.push(`${name}: ${code}`);
  });
  const waiting = new Map<number, (text: string) => void>();
  createInterface({ input: child.stdout }).on("line", (line) => {
    const answer = JSON.parse(line) as { id: number };
    // Over stdio these two characters are escaped, since readers such as this one take them for the end of a line.
    waiting.get(answer.id)?.(/\\u202[89]/.test(line) ? JSON.stringify(answer) : line);
  });
  const ask = (message: Message) =>
    new Promise<string>((resolve) => {
      waiting.set(message.id, resolve);
      child.stdin.write(`${textOf(message)}\n`);
    });
  await ask({ id: 0, method: "tools/list", params: {} });
  return { way: "command", rejected, ask, [Symbol.asyncDispose]: () => ended(child) };
}

async function ended(child: ChildProcessWithoutNullStreams): Promise<void> {
  const exit = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  child.stdin.end();
  await exit;
}

const LIBRARY = pathToFileURL(`${PACKAGE_FOLDER}/`).href;
const WEB_WAY = new URL("./web-way.mjs", import.meta.url);

/** What `web-way.mjs` gives. */
interface Connected {
  readonly recipes: Readonly<Record<string, string>>;
  readonly rejected: readonly string[];
  ask(message: string): Promise<string>;
  call(name: string, args: object): Promise<unknown>;
}

/** `connectStaticSkills` of the package in this Node. */
export async function servedInNode({ origin, reviewer }: ServedSite): Promise<Served & Pick<Connected, "recipes">> {
  const { connect } = (await import(WEB_WAY.href)) as { connect(...parameters: unknown[]): Promise<Connected> };
  const { ask, ...connected } = await connect(LIBRARY, origin, reviewer && [reviewer]);
  return { way: "node", ...connected, ask: (message) => ask(textOf(message)) };
}

/** A page in a browser of another time zone and language, from where the package's files are served. */
export async function openLibraryPage(browser: Browser): Promise<Page> {
  const page = await browser.newPage({ timezoneId: "America/St_Johns", locale: "de-DE" });
  const site = await serveSite({ site: await openSite(PACKAGE_FOLDER, { cwd: "/" }), port: 0 });
  page.on("close", () => void site[Symbol.asyncDispose]());
  await page.goto(`${site.origin}/THIRD-PARTY-LICENSES.txt`);
  return page;
}

/** `connectStaticSkills` of the package in a page. */
export async function servedInPage(
  page: Page,
  { origin, reviewer }: ServedSite,
): Promise<Served & Pick<Connected, "recipes">> {
  const program = `data:text/javascript;base64,${await readFile(WEB_WAY, "base64")}`;
  const library = `${new URL(page.url()).origin}/`;
  const connected = `globalThis[${JSON.stringify(origin)}]`;
  const parameters = JSON.stringify([library, origin, ...(reviewer === undefined ? [] : [[reviewer]])]);
  const { rejected, recipes } = (await page.evaluate(
    `import("${program}").then(async ({ connect }) => {
      const { rejected, recipes } = ${connected} = await connect(...${parameters});
      return { rejected, recipes };
    })`,
  )) as Connected;
  return {
    way: "page",
    rejected,
    recipes,
    ask: (message) => page.evaluate(`${connected}.ask(${JSON.stringify(textOf(message))})`),
  };
}

/** `AsyncToolHost` of the package, by an embedder that has the tool's source and knows neither scopes nor `llms.txt`. */
export async function servedByHost(
  { origin }: ServedSite,
  { source, scope }: MatrixCase,
  memory: Uint8Array | undefined,
): Promise<Served> {
  const library = {
    ...((await import(`${LIBRARY}host-async.js`)) as typeof import("../../src/library/host-async.ts")),
    ...((await import(`${LIBRARY}mcp-core-async.js`)) as typeof import("../../src/library/mcp-core-async.ts")),
  };
  const options: AsyncToolHostOptions = { allowedOrigin: origin, ...(memory === undefined ? {} : { memory }) };
  const host = new library.AsyncToolHost(options);
  await host.init();
  // A file is read as text without its byte order mark, as discovery does.
  host.loadToolSource(new TextDecoder().decode(new TextEncoder().encode(source)));
  const server = library.createMcpServer(host, { name: "skillgate", title: "Skillgate" });
  return {
    way: "host",
    rejected: [],
    ask: async (message) => {
      const params = { ...message.params, name: String(message.params.name).slice(`${scope}__`.length) };
      const answer = await server.handle(textOf({ ...message, params }));
      host.dispose();
      return JSON.stringify(answer);
    },
  };
}
