import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ROOT } from "../../src/dev/stack/paths.ts";
import { openSite } from "../../src/local/serve/site-files.ts";
import { serveSite } from "../../src/local/serve/site-server.ts";
import { ADMIN_TOKEN, barriers, type Console, HAS_CHROMIUM, SKIPPED, startConsole, tabTo } from "./console-page.ts";
import { skill, startTestPublisher, type TestPublisher, type TestSkill } from "./test-publisher.ts";

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

/** As long as a recipe may be, with something hidden at its end. */
const VAST = skill("vast", "return 1;", { recipe: `${"# Long\n\nA line of a recipe.\n".repeat(9_000)}\u202e end` });

/** What a viewer's screens offer: to look, to copy, and what stays in this browser. */
const LOOKING =
  /^(?:Menu|Sign out|Copy\b.*|Verify|Tokens|Make a key|Forget|← Previous|Next →|… show more.*|Show [\d,]+ more characters of this line|Show more.*|Try again)$/;
/** What a reviewer does besides. */
const REVIEWING =
  /^(?:Propose(?: an origin)?|Probe now|Probe again|Suspend|Approve|Reject|Paste an attestation|Sign here|Renew|Revoke code everywhere)$/;

describe.skipIf(!HAS_CHROMIUM)(`every screen of the operators' console${SKIPPED}`, () => {
  let gateway: Console;
  let publisher: TestPublisher;
  let originId: string;
  let clientId: string;
  let screens: readonly string[];
  let vastReview: string;
  let siteId: string;

  beforeAll(async () => {
    gateway = await startConsole();
    publisher = await startTestPublisher({ skills: [HOSTILE, VAST] });
    const { administer } = gateway;
    ({ id: originId } = await administer<{ id: string }>("POST", "/origins", { origin: publisher.origin }));
    const { skills } = await administer<{ skills: { name: string; toolSha256: string }[] }>(
      "POST",
      `/origins/${originId}/probe`,
    );
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
    siteId = await gateway.publishSite(
      { name: "handbook", hosts: ["skills.example"] },
      { title: `<script>document.title="run"</script>`, description: "First." },
      { title: "AVeryLongWord".repeat(7), description: `<b>${"AVeryLongWord".repeat(70)}</b>`, note: "<i>why</i>" },
    );
    await gateway.database.prepare("UPDATE site_blobs SET mismatches = 3").run();
    // Names as long as they may be, without a place to break; and calls, so that plots have values.
    const long = "W".repeat(100);
    const { id: longId } = await administer<{ id: string }>("POST", "/clients", { name: long, rpm: 1, grants: "all" });
    await administer("POST", `/clients/${longId}/tokens`, { label: long });
    await administer("POST", `/clients/${longId}/suspend`);
    await administer("POST", "/operators", {
      name: long,
      role: "viewer",
      accessEmail: `${"w".repeat(60)}@example.com`,
    });
    await administer("POST", "/origins", {
      origin: `https://${`${"w".repeat(60)}.`.repeat(3)}example.com/${"w".repeat(60)}`,
    });
    await administer("POST", "/reviewers", {
      attester: `sigstore:${"w".repeat(80)}`,
      key: { kind: "sigstore", issuer: `https://${"w".repeat(60)}.example`, identity: "w".repeat(80) },
      note: long,
    });
    const hour = Math.floor(Date.now() / 3_600_000);
    for (const [ago, calls] of [
      [0, 3],
      [1, 1_234],
      [5, 70],
    ] as const) {
      const at = `${hour - ago}, '${clientId}', '${originId}', '${"w".repeat(60)}'`;
      const ms = [0, 1, 0, calls - 1, ...Array(11).fill(0)].join(", ");
      await gateway.database.prepare(`INSERT INTO usage_hourly VALUES (${at}, ${calls}, 1, ${ms})`).run();
      await gateway.database.prepare(`INSERT INTO usage_errors VALUES (${at}, 'rate_limited', 1)`).run();
    }
    const review = `/origins/${originId}/review?name=evil&sha=${skills.find(({ name }) => name === "evil")?.toolSha256}`;
    vastReview = `/origins/${originId}/review?name=vast&sha=${skills.find(({ name }) => name === "vast")?.toolSha256}`;
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
      "/sites",
      `/sites/${siteId}`,
      `/sites/${siteId}/versions`,
      `/sites/${siteId}/versions/2`,
      `/sites/${siteId}/integrity`,
      `/sites/${siteId}/settings`,
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

  it("has no barrier that WCAG 2.2 AA knows, shows no failure and fits, in light and in dark, on a desk and on a phone", {
    timeout: 240_000,
  }, async () => {
    const { page, faults, signIn, context } = await gateway.open();
    const looksAt = async (screen: string, scheme: "light" | "dark", width: number) => {
      await page.emulateMedia({ colorScheme: scheme });
      await page.setViewportSize({ width, height: 900 });
      const alerts = await page.locator(".note.bad[role=alert]").allTextContents();
      const beyond = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      const seen = { screen, scheme, width, barriers: await barriers(page), alerts, beyond };
      expect(seen).toEqual({ screen, scheme, width, barriers: [], alerts: [], beyond: 0 });
    };
    const looks = async (screen: string) => {
      await looksAt(screen, "light", 1280);
      await looksAt(screen, "dark", 1280);
      await looksAt(screen, "dark", 390);
      await looksAt(screen, "light", 390);
    };
    await page.goto(`${gateway.url}/admin/`);
    await page.getByLabel("Operator token").waitFor();
    await looks("sign-in");
    await signIn();
    for (const screen of screens) {
      // As a link of the console does.
      await page.evaluate((path) => {
        history.pushState(null, "", `/admin${path}`);
        dispatchEvent(new Event("popstate"));
      }, screen);
      await page.locator("#main h1").waitFor();
      await page.locator("#main .loading").first().waitFor({ state: "detached" });
      for (const table of await page.getByText("Show as a table").all()) await table.click();
      await looks(screen);
    }
    expect(faults).toEqual([]);
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
    const beyond = await page
      .locator(".source")
      .first()
      .evaluate((region) => region.scrollWidth - region.clientWidth);
    expect(beyond, "code that stands to the right of what is seen").toBeLessThanOrEqual(1);
    await page.getByRole("tab", { name: "Recipe" }).click();
    await page.getByText("The recipe laid out").click();
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

    await goTo(vastReview);
    await page.getByRole("tab", { name: "Recipe" }).click();
    await page.getByText("The recipe has characters that nobody sees.").waitFor();
    expect(await page.locator(".source .line").count()).toBeLessThanOrEqual(2_000);

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

  it("offers a viewer and a reviewer what they may do, and nothing that would be refused", {
    timeout: 120_000,
  }, async () => {
    for (const role of ["viewer", "reviewer"] as const) {
      const { id } = await gateway.administer<{ id: string }>("POST", "/operators", { name: `A ${role}`, role });
      const { token } = await gateway.administer<{ token: string }>("POST", `/operators/${id}/tokens`, {});
      const { page, faults, signIn, show, context } = await gateway.open();
      await signIn(token);
      const offered = new Set<string>();
      for (const screen of screens) {
        await show(screen);
        const names = await page
          .locator("#main")
          .getByRole("button", { disabled: false })
          .evaluateAll((all) => all.map((one) => one.getAttribute("aria-label") ?? one.textContent ?? ""));
        for (const name of names) offered.add(name);
      }
      const doing = [...offered].filter((name) => !LOOKING.test(name));
      expect(doing.filter((name) => role === "viewer" || !REVIEWING.test(name))).toEqual([]);
      if (role === "reviewer")
        expect(doing).toEqual(expect.arrayContaining(["Propose an origin", "Reject", "Suspend"]));
      if (role === "reviewer") {
        // Another tab of the browser signs somebody else in.
        await show("/origins");
        await page.getByRole("button", { name: "Propose an origin" }).click();
        await page.getByLabel("Address of the publisher").fill("https://late.example");
        await page.evaluate(
          async (body) => {
            const headers = { "Content-Type": "application/json" };
            await fetch("/admin/api/v1/session", { method: "POST", headers, body });
          },
          JSON.stringify({ token: ADMIN_TOKEN }),
        );
        await page.getByRole("button", { name: "Propose", exact: true }).click();
        await page
          .getByRole("dialog")
          .getByText("ADMIN_TOKEN signed in. What you asked for last was not done.")
          .waitFor();
        expect(await barriers(page)).toEqual([]);
        const { items } = await gateway.administer<{ items: unknown[] }>("GET", "/origins?q=late.example");
        expect(items).toEqual([]);
      }
      expect(faults).toEqual([]);
      await context.close();
    }
  });

  it("stays usable with 10,000 rows, and with what is larger than a gateway lets through: lists come by page, fields search, the rest waits to be asked for", {
    timeout: 180_000,
  }, async () => {
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
    await fill(
      "skills",
      "origin_id, scope, name, tool_sha256, first_seen_at, last_seen_at",
      `'${originId}', '', printf('skill_%05d', i), printf('%064x', i), i, i`,
    );
    await fill(
      "attestations",
      "id, origin, skill, tool_sha256, attester, signed_on, valid_until, entry, stored_at, stored_by",
      "printf('%064x', i), printf('https://p%05d.example', i), 'skill', printf('%064x', i), 'human:ada', '2026-01-01', '2027-01-01', '{\"signature\":\"x\"}', i, 'opr'",
    );
    await fill(
      "client_tokens",
      "id, client_id, token_sha256, created_at",
      `printf('tok_%024x', i), '${clientId}', printf('%064x', i), i`,
    );
    await fill(
      "audit_log",
      "seq, at, actor, action, subject, detail, request_id, prev_hash, hash",
      "i + 1000, i, 'system', 'test.fill', 'nothing', '{}', 'r', printf('%064x', i), printf('%064x', i + 1)",
    );
    await fill(
      "operators",
      "id, name, role, status, created_at, updated_at",
      "printf('opr_%024x', i), printf('Operator %05d', i), 'viewer', 'active', i, i",
    );
    await fill(
      "sites",
      "id, name, status, authenticated_means, entries_alias, artifact_urls, grace_s, created_at, updated_at",
      "printf('sit_%024x', i), printf('site-%05d', i), 'active', 'header', 1, 'pinned', 0, i, i",
    );
    await fill(
      "site_versions",
      "site_id, version, content, published_at, published_by, retired_at",
      `'${siteId}', i + 2, '{}', i, 'admin-token', i`,
    );
    const { page, signIn, goTo, faults, context } = await gateway.open();
    await signIn();
    for (const screen of [
      `/sites/${siteId}/versions`,
      `/origins/${originId}/skills`,
      "/attestations",
      `/clients/${clientId}`,
      "/audit",
      "/operators",
    ]) {
      await goTo(screen);
      await page.getByRole("button", { name: "Next" }).click();
      await page.getByText("Page 2").waitFor();
      expect([screen, await page.locator("tbody tr").count()]).toEqual([screen, 50]);
    }
    for (const [screen, filter, last] of [
      ["/clients", "Name contains", "Tenant 10000"],
      ["/origins", "Address contains", "p10000"],
      ["/sites", "Name contains", "site-10000"],
    ] as const) {
      await goTo(screen);
      expect(await page.locator("tbody tr").count()).toBe(50);
      await page.getByRole("button", { name: "Next" }).click();
      await page.getByText("Page 2").waitFor();
      await page.getByLabel(filter).fill(last);
      await page.getByRole("link", { name: last }).waitFor();
      expect(await page.locator("tbody tr").count()).toBe(1);
    }
    // A field that searches: by keyboard alone, and never at each key.
    await goTo("/inspector");
    const asked: string[] = [];
    page.on("request", (request) => asked.push(new URL(request.url()).searchParams.get("q") ?? ""));
    for (const [label, text, only] of [
      ["As the client", "tenant 10000", "Tenant 10000"],
      ["At the origin", "p10000", "https://p10000.example"],
    ] as const) {
      const field = page.getByRole("combobox", { name: label });
      await tabTo(page, field);
      await page.keyboard.type(text, { delay: 5 });
      await page.getByRole("option", { name: only }).waitFor();
      await page.getByRole("status").getByText("1 result", { exact: true }).first().waitFor({ state: "attached" });
      await page.keyboard.press("ArrowDown");
      expect(await field.getAttribute("aria-activedescendant")).toMatch(/-0$/);
      if (only === "Tenant 10000") expect(await barriers(page)).toEqual([]);
      await page.keyboard.press("Enter");
      expect([await field.inputValue(), await field.getAttribute("aria-expanded")]).toEqual([only, "false"]);
    }
    expect(asked.filter((q) => q !== "")).toEqual(["tenant 10000", "p10000"]);
    await page.getByRole("combobox", { name: "As the client" }).fill("nobody of that name");
    await page.getByRole("option", { name: "Nothing fits." }).waitFor();
    await page.keyboard.press("Escape");
    expect(await page.getByRole("combobox", { name: "As the client" }).inputValue()).toBe("Tenant 10000");

    // What a gateway of ours would refuse, in case another one does not.
    const vast = "x\u202e".repeat(500_000);
    const tools = Array.from({ length: ROWS }, (_, index) => ({
      name: `tool_${index}\u200b`,
      description: index === 9_999 ? vast : "One of many.",
      inputSchema: {
        type: "object",
        properties: {
          [`member\u202e${index}`]: { type: "string" },
          choice: { enum: [{ toString: 1, valueOf: 1 }], default: { toString: 1 } },
        },
      },
    }));
    const deep = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
    const content = `[{"type":"text","text":${JSON.stringify(vast)}},{"type":"other","value":${deep}}]`;
    await page.route("**/mcp?**", async (route) => {
      const { id, method } = route.request().postDataJSON();
      const result = method === "tools/list" ? JSON.stringify({ tools }) : `{"content":${content}}`;
      await route.fulfill({ contentType: "application/json", body: `{"jsonrpc":"2.0","id":${id},"result":${result}}` });
    });
    await page.getByRole("button", { name: "Begin" }).click();
    await page.getByLabel("10,000 tools").fill("tool_9999");
    await page.getByRole("list", { name: "Tools" }).getByRole("button").click();
    await page.getByLabel("memberU+202E9999").fill("a");
    await page.getByRole("button", { name: "Call", exact: true }).click();
    await page.getByRole("region", { name: "Part 1 of the result" }).getByText("show more of 1,000,000").waitFor();
    await page.getByRole("region", { name: "Part 2 of the result" }).getByText("It cannot be laid out").waitFor();
    expect(await barriers(page)).toEqual([]);
    expect(faults).toEqual([]);
    await context.close();
  });

  it.each([
    ["light", 1280],
    ["dark", 390],
  ] as const)(
    "has a demo page that verifies and calls the tools of a site in the browser alone, %s at %i",
    async (scheme, width) => {
      const folder = await openSite("publishers/demo/public", { cwd: ROOT });
      await using site = await serveSite({ site: folder, port: 0 });
      const { page, context, faults } = await gateway.open({ scheme, width });
      const asked = new Set<string>();
      page.on("request", (request) => asked.add(new URL(request.url()).origin));
      await page.goto(`${gateway.url}/demo?origin=${encodeURIComponent(site.origin)}`);
      await page.getByText("Connected: 2 verified tools, 0 refused.").waitFor();
      await page.getByText(/SHA-256 of tool\.js of sum_numbers is as declared/).waitFor();
      const tool = page.getByRole("article", { name: "sum_numbers" });
      await tool.getByLabel("a", { exact: true }).fill("19.5");
      await tool.getByLabel("b", { exact: true }).fill("22.5");
      await tool.getByRole("button", { name: "Call sum_numbers" }).press("Enter");
      await tool.getByRole("region", { name: "Result of sum_numbers" }).getByText("42").waitFor();
      await tool.getByText("Recipe (SKILL.md)").click();
      await tool.getByRole("heading", { name: "sum_numbers" }).last().waitFor();
      expect(await page.evaluate("origin")).toBe("null");
      expect(await barriers(page)).toEqual([]);
      expect([...asked].sort()).toEqual([gateway.url, site.origin].sort());
      expect(faults.filter((fault) => !fault.includes("origin-keyed"))).toEqual([]);
      await context.close();
    },
  );

  it("has a demo page in which nothing of a hostile site runs, and which says why a site that shuts pages out cannot be read", async () => {
    const { page, context, faults } = await gateway.open();
    await page.goto(`${gateway.url}/demo?origin=${encodeURIComponent(publisher.origin)}`);
    await page
      .getByText(/must send Access-Control-Allow-Origin/)
      .first()
      .waitFor();
    faults.length = 0;
    await page.route(`${publisher.origin}/**`, async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, headers: { ...response.headers(), "access-control-allow-origin": "*" } });
    });
    await page.getByRole("button", { name: "Connect" }).click();
    const tool = page.getByRole("article", { name: "evil" });
    await tool.getByText("Recipe (SKILL.md)").click();
    await tool.locator(".markdown").getByText("<iframe").waitFor();
    await tool.getByRole("button", { name: "Call evil" }).click();
    await tool.getByRole("region", { name: "Result of evil" }).getByText("<svg onload=alert(1)>").waitFor();
    expect(
      await page.locator("main script, iframe, img, svg, [onclick], a[href^='javascript'], a[href^='data']").count(),
    ).toBe(0);
    expect(await page.title()).toBe("Skillgate demo");
    expect(faults).toEqual([]);
    await context.close();
  });
});
