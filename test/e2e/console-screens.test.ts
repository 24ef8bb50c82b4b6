import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { barriers, type Console, HAS_CHROMIUM, SKIPPED, startConsole } from "./console-page.ts";
import { startTestPublisher, type TestPublisher, type TestSkill } from "./test-publisher.ts";

const ROWS = 10_000;

/** What somebody writes who wants to run in an operator's browser, or to be taken for something else. */
const HOSTILE_TEXT = `<img src=x onerror="document.title='run'"><script>document.title='run'</script> \u202e gnp.exe ${"A very long word".repeat(2_000)}`;
const HOSTILE_RECIPE = `---
name: evil
---
# <script>document.title='run'</script>

[click me](javascript:document.title='run') and [here](data:text/html,<script>1</script>), ![picture](https://tracker.example/x.png)
<iframe src="https://evil.example"></iframe>

${">".repeat(400)} deep

| a | b |
| - | - |
| <b onclick="x()">x</b> | \u202etxet |
`;

const HOSTILE: TestSkill = {
  name: "evil",
  tool: `registerTool({ name: "evil", description: ${JSON.stringify(HOSTILE_TEXT)},
  inputSchema: { type: "object", properties: {
    "<img src=x onerror=alert(1)>": { type: "string", description: "</label><script>alert(1)</script>" },
    "__proto__": { type: "string" }, constructor: { enum: ["<b>", "toString"] } } },
  handler: () => "<svg onload=alert(1)>\\u202e" }); // \u202e hidden\n`,
  recipe: HOSTILE_RECIPE,
};

describe.skipIf(!HAS_CHROMIUM)(`every screen of the operators' console${SKIPPED}`, () => {
  let gateway: Console;
  let publisher: TestPublisher;
  let originId: string;
  let clientId: string;
  let screens: readonly string[];

  beforeAll(async () => {
    gateway = await startConsole();
    publisher = await startTestPublisher({ skills: [HOSTILE] });
    const { administer } = gateway;
    ({ id: originId } = await administer<{ id: string }>("POST", "/origins", { origin: publisher.origin }));
    const { skills } = await administer<{ skills: { toolSha256: string }[] }>("POST", `/origins/${originId}/probe`);
    await administer("POST", `/origins/${originId}/activate`, {});
    ({ id: clientId } = await administer<{ id: string }>("POST", "/clients", {
      name: '<script>document.title="run"</script>',
      rpm: 600,
      grants: "all",
    }));
    await administer("POST", `/clients/${clientId}/tokens`, { label: "<b>label</b>" });
    const publicKey = Buffer.from(new Uint8Array(32).fill(7)).toString("base64");
    await administer("POST", "/reviewers", { attester: "human:<b>eve</b>", key: { kind: "ed25519", publicKey } });
    await administer("POST", "/operators", { name: "Grace", role: "viewer" });
    await administer("POST", "/revocations", { kind: "hash", subject: "0".repeat(64), reason: "<i>why</i>" });
    const review = `/origins/${originId}/review?name=evil&sha=${skills[0]?.toolSha256}`;
    screens = [
      "/",
      "/origins",
      `/origins/${originId}`,
      `/origins/${originId}/skills`,
      `/origins/${originId}/release`,
      `/origins/${originId}/verdicts`,
      `/origins/${originId}/settings`,
      review,
      "/review",
      "/attestations",
      "/attestations/revocations",
      "/reviewers",
      "/clients",
      `/clients/${clientId}`,
      `/clients/${clientId}/grants`,
      `/clients/${clientId}/tools`,
      `/clients/${clientId}/limits`,
      `/clients/${clientId}/usage`,
      "/inspector",
      "/audit",
      "/audit/1",
      "/operators",
      "/system",
      "/nowhere",
    ];
  }, 180_000);

  afterAll(async () => {
    await gateway?.stop();
    await publisher?.stop();
  });

  it("has no barrier that WCAG 2.2 AA knows, shows no failure and fits, in light on a desk and in dark on a phone", {
    timeout: 240_000,
  }, async () => {
    const { page, faults, signIn, context } = await gateway.open();
    const looks = async (screen: string, scheme: "light" | "dark", width: number) => {
      await page.emulateMedia({ colorScheme: scheme });
      await page.setViewportSize({ width, height: 900 });
      const alerts = await page.locator(".note.bad[role=alert]").allTextContents();
      const beyond = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      const seen = { screen, scheme, barriers: await barriers(page), alerts, beyond };
      expect(seen).toEqual({ screen, scheme, barriers: [], alerts: [], beyond: 0 });
    };
    await page.goto(`${gateway.url}/admin/`);
    await page.getByLabel("Operator token").waitFor();
    await looks("sign-in", "light", 1280);
    await looks("sign-in", "dark", 390);
    await signIn();
    for (const screen of screens) {
      // As a link of the console does.
      await page.evaluate((path) => {
        history.pushState(null, "", `/admin${path}`);
        dispatchEvent(new Event("popstate"));
      }, screen);
      await page.locator("#main h1").waitFor();
      await page.locator("#main .loading").first().waitFor({ state: "detached" });
      await looks(screen, "light", 1280);
      await looks(screen, "dark", 390);
    }
    expect(faults).toEqual([]);
    await context.close();
  });

  it("can be walked through by keyboard alone: the menu, a dialog and back", async () => {
    const { page, signIn, goTo, context } = await gateway.open();
    await signIn();
    await goTo("/clients");
    await page.keyboard.press("Shift+Tab");
    await page.getByRole("button", { name: "Create a client" }).focus();
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").getByLabel("Name").focus();
    expect(await barriers(page)).toEqual([]);
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    const focused = () => page.evaluate(() => document.activeElement?.textContent);
    await expect.poll(focused).toBe("Create a client");
    await context.close();
  });

  it("shows what a publisher writes as text: nothing of it runs, loads, reorders or breaks the screen", async () => {
    const { page, faults, signIn, goTo, context } = await gateway.open();
    const foreign: string[] = [];
    page.on("request", (request) => {
      if (!request.url().startsWith(gateway.url)) foreign.push(request.url());
    });
    await signIn();
    await goTo(screens.find((screen) => screen.includes("/review?")) ?? "");
    await page.getByText("The source has characters that nobody sees.").waitFor();
    expect(await page.locator(".source .hidden-character").first().textContent()).toBe("U+202E");
    await page.getByRole("tab", { name: "Recipe" }).click();
    const recipe = page.locator(".markdown");
    await recipe.getByText("<iframe").waitFor();
    expect(await recipe.locator("script, iframe, img, [onclick], a[href^='javascript'], a[href^='data']").count()).toBe(
      0,
    );
    const links = await recipe
      .locator("a")
      .evaluateAll((all) => all.map((a) => [a.getAttribute("href"), a.getAttribute("rel")]));
    expect(links).toEqual([["https://tracker.example/x.png", "noopener noreferrer"]]);
    await page.getByRole("tab", { name: "Schema" }).click();
    await page.getByRole("region", { name: "What the script registers" }).waitFor();

    await goTo("/inspector");
    await page.getByRole("button", { name: "Begin" }).click();
    await page.getByRole("list", { name: "Tools" }).getByRole("button", { name: "evil" }).click();
    await page.getByRole("button", { name: "Call", exact: true }).click();
    await page.getByRole("region", { name: "Part 1 of the result" }).getByText("<svg onload=alert(1)>").waitFor();
    expect(await barriers(page)).toEqual([]);
    expect(await page.title()).toBe("Inspector · Skillgate");
    expect([foreign, faults]).toEqual([[], []]);
    await context.close();
  });

  it("stays usable with 10,000 rows: a page of each list is shown, and the last one is reached by a filter", async () => {
    const fill = async (table: string, columns: string, values: string) => {
      const numbers = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${ROWS})`;
      await gateway.database.prepare(`INSERT INTO ${table} (${columns}) ${numbers} SELECT ${values} FROM n`).run();
    };
    await fill(
      "clients",
      "id, name, status, grant_all, created_at, updated_at",
      "printf('cli_%024x', i), printf('Tenant %05d', i), 'active', 1, i, i",
    );
    await fill(
      "origins",
      "id, origin, status, pin, created_at, updated_at",
      "printf('org_%024x', i), printf('https://p%05d.example', i), 'active', 'hold', i, i",
    );
    const { page, signIn, goTo, faults, context } = await gateway.open();
    await signIn();
    for (const [screen, filter, last] of [
      ["/clients", "Name contains", "Tenant 10000"],
      ["/origins", "Address contains", "p10000"],
    ] as const) {
      await goTo(screen);
      expect(await page.locator("tbody tr").count()).toBe(50);
      await page.getByRole("button", { name: "Next" }).click();
      await page.getByText("Page 2").waitFor();
      await page.getByLabel(filter).fill(last);
      await page.getByRole("link", { name: last }).waitFor();
      expect(await page.locator("tbody tr").count()).toBe(1);
    }
    await goTo("/inspector");
    expect(faults).toEqual([]);
    await context.close();
  });
});
