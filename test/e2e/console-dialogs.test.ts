import { createHash } from "node:crypto";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import type { Page, Route } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { attestationEntry } from "../../src/core/attestation/attestation.ts";
import type { CalendarDate } from "../../src/core/attestation/calendar-date.ts";
import { signAttestation } from "../../src/core/attestation/sign.ts";
import { EMBEDDED_TRUST_ROOT } from "../../src/core/attestation/sigstore/trusted-root.ts";
import type { Sha256Hex } from "../../src/core/integrity.ts";
import type { CanonicalOrigin } from "../../src/core/origin.ts";
import {
  ADMIN_TOKEN,
  barriers,
  type Console,
  HAS_CHROMIUM,
  SKIPPED,
  startConsole,
  tabTo,
  type Visitor,
} from "./console-page.ts";
import { skill, startTestPublisher, type TestPublisher, toolFile } from "./test-publisher.ts";

const TEAM = "team.cloudflareaccess.com";
const AUD = "0123456789abcdef".repeat(4);

type Row = Readonly<Record<string, unknown>>;
interface Rows {
  readonly items: readonly Row[];
}

/** What a screen, or the API behind it, comes to say; beside other tests that may take a while. */
const soon = <T>(read: () => Promise<T>) => expect.poll(read, { timeout: 20_000 });

/** The first way of each request through the gateway is spoilt: what it was conditional on, else its body, else its address. */
async function spoil(route: Route): Promise<void> {
  const request = route.request();
  if (request.method() === "GET") return route.continue();
  const { "content-length": _, ...headers } = await request.allHeaders();
  if (headers["if-match"] !== undefined) return route.continue({ headers: { ...headers, "if-match": '"stale"' } });
  if (request.postData() === null) return route.continue({ url: `${request.url()}0` });
  // Of its own: what is sent after it is no repetition.
  const other = { ...headers, "idempotency-key": crypto.randomUUID() };
  return route.continue({ headers: other, postData: "7" });
}

/** One operator's browser, from the first key pressed to the retirement of ADMIN_TOKEN; one step after the other. */
describe.skipIf(!HAS_CHROMIUM)(`keys, dialogs and Cloudflare Access in the operators' console${SKIPPED}`, () => {
  let gateway: Console;
  let publisher: TestPublisher;
  let visitor: Visitor;
  let page: Page;
  let originPath: string;
  let teamKey: Awaited<ReturnType<typeof generateKeyPair>>;

  beforeAll(async () => {
    teamKey = await generateKeyPair("RS256");
    const keys = [{ ...(await exportJWK(teamKey.publicKey)), kid: "k1", alg: "RS256", use: "sig" }];
    gateway = await startConsole({
      vars: { ACCESS_TEAM_DOMAIN: TEAM, ACCESS_AUD: AUD },
      documents: new Map([[`https://${TEAM}/cdn-cgi/access/certs`, { keys }]]),
    });
    publisher = await startTestPublisher({
      skills: [
        skill("greet", "return 'hello';", { recipe: "# Greeting\n\nSay hello.\n" }),
        skill("leave", "return 1;"),
      ],
    });
    visitor = await gateway.open();
    ({ page } = visitor);
  }, 180_000);

  afterAll(async () => {
    await gateway?.stop();
    await publisher?.stop();
  });

  const button = (name: string) => page.getByRole("button", { name, exact: true });
  const read = <T = Row>(path: string) => gateway.administer<T>("GET", path);
  const versionOf = async (name: string) =>
    (await read<Rows>(`${originPath}/skills?current=true`)).items.find((one) => one.name === name) ?? {};
  const reviewOf = async (name: string) =>
    `${originPath}/review?name=${name}&sha=${(await versionOf(name)).toolSha256}`;

  /** Submits an open dialog twice: spoilt, which leaves it open with the gateway's refusal, and as it is, which closes it. */
  async function submit(title: string | RegExp, name: string): Promise<void> {
    const asked = page.getByRole("dialog", { name: title }).last();
    const act = asked.getByRole("button", { name, exact: true }).last();
    await page.route("**/admin/api/v1/**", spoil);
    await act.click();
    const refusal = asked.getByRole("alert").locator("code").last();
    await refusal.waitFor();
    expect(await refusal.textContent()).toMatch(/^(?:bad_request|not_found|precondition_failed)$/);
    await page.unroute("**/admin/api/v1/**", spoil);
    await act.click();
    await asked.waitFor({ state: "detached" });
  }

  it("takes an origin from proposal through its review into service by keyboard alone", async () => {
    const keys = page.keyboard;
    const inDialog = (name: string) => page.getByRole("dialog").getByRole("button", { name, exact: true });
    await page.goto(`${gateway.url}/admin/`);
    await tabTo(page, page.getByLabel("Operator token"));
    await keys.type(ADMIN_TOKEN);
    await keys.press("Enter");
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    await tabTo(
      page,
      page.getByRole("navigation", { name: "Console" }).getByRole("link", { name: "Origins" }),
      "Shift+Tab",
    );
    await keys.press("Enter");
    await tabTo(page, page.getByLabel("Status"));
    await keys.press("ArrowDown");
    await page.getByText("Nothing fits the filter.").waitFor();
    expect(page.url()).toContain("?status=pending");
    await tabTo(page, button("Propose an origin"), "Shift+Tab");
    await keys.press("Space");
    await tabTo(page, page.getByLabel("Address of the publisher"));
    await keys.type("https://typed-by-mistake.example");
    await keys.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    expect(await button("Propose an origin").evaluate((it) => it === document.activeElement)).toBe(true);
    await keys.press("Enter");
    await tabTo(page, page.getByLabel("Address of the publisher"));
    await keys.type(publisher.origin);
    expect(await barriers(page)).toEqual([]);
    await keys.press("Enter");
    await page.getByRole("heading", { name: publisher.origin }).waitFor();
    originPath = new URL(page.url()).pathname.slice("/admin".length);
    await tabTo(page, button("Probe now"));
    await keys.press("Enter");
    await tabTo(page, page.getByRole("link", { name: "Review 2 versions" }));
    await keys.press("Enter");
    await tabTo(page, page.getByRole("navigation", { name: "Versions" }).getByRole("link", { name: /^greet/ }));
    await keys.press("Enter");
    await page.getByRole("region", { name: "Source" }).getByText('"greet"').waitFor();
    await tabTo(page, button("Approve"));
    await keys.press("Enter");
    await page.getByText("You have not opened the recipe and the schema.").waitFor();
    await keys.press("Escape");
    await tabTo(page, page.getByRole("tab", { name: "Source" }));
    for (const key of ["ArrowRight", "ArrowRight"]) await keys.press(key);
    await page.getByRole("region", { name: "Recipe, as clients get it" }).waitFor();
    await keys.press("ArrowRight");
    await page.getByRole("region", { name: "What the script registers" }).waitFor();
    await tabTo(page, button("Approve"), "Shift+Tab");
    await keys.press("Space");
    await tabTo(page, page.getByRole("dialog").getByLabel("Note"));
    await keys.type("Read by keyboard.");
    expect(await page.getByText("You have not opened").count()).toBe(0);
    await tabTo(page, inDialog("Approve"));
    await keys.press("Space");
    await page.locator("h2").getByText("approved").waitFor();
    await tabTo(page, page.getByRole("link", { name: "← Back to the origin" }), "Shift+Tab");
    await keys.press("Enter");
    await tabTo(page, button("Activate"));
    await keys.press("Enter");
    await tabTo(page, page.getByLabel("I have read them"));
    await keys.press("Space");
    await tabTo(page, inDialog("Activate"));
    await keys.press("Enter");
    await page.getByRole("heading", { name: "In service" }).waitFor();
    expect(await read(originPath)).toMatchObject({ status: "active" });
    expect(await versionOf("greet")).toMatchObject({ state: "approved", note: "Read by keyboard." });
  });

  it("shows what a new version changes, warns of what nobody sees in its texts, and rejects it", async () => {
    const tool = toolFile("greet", "return 'hello\u200b you';");
    publisher.put("/tools/greet.js", tool);
    const sha = createHash("sha256").update(tool).digest("hex");
    const text = await (await fetch(`${publisher.origin}/llms.txt`)).text();
    publisher.put(
      "/llms.txt",
      text.replace(/(\[greet\].*?): A test\.(.*"tool_sha256":")[0-9a-f]{64}/, `$1: Gree\u202ets.$2${sha}`),
    );
    await gateway.administer("POST", `${originPath}/probe`);
    await visitor.goTo(await reviewOf("greet"));
    const difference = page.getByRole("region", { name: "Difference" });
    await difference.getByText("return 'hello", { exact: false }).first().waitFor();
    expect(await difference.locator("mark .hidden-character").textContent()).toBe("U+200B");
    const said = page.getByRole("status").filter({ hasText: "characters that nobody sees" });
    await soon(() => said.getByText(/^The (?:source|description) has characters that nobody sees\.$/).count()).toBe(2);
    expect(await barriers(page)).toEqual([]);
    await button("Reject").click();
    await page.getByLabel("Note").fill("It hides something.");
    await submit("Reject greet?", "Reject");
    await soon(() => versionOf("greet")).toMatchObject({ state: "rejected", note: "It hides something." });
  });

  it("registers reviewers, signs, renews, stores, revokes and lifts, and keeps the lists' filters", async () => {
    await visitor.goTo("/reviewers");
    await page.getByLabel("Your name as a reviewer").fill("human:ada");
    await button("Make a key").click();
    await page
      .getByRole("row", { name: /human:ada/ })
      .getByRole("button", { name: "Register" })
      .click();
    await submit("Register human:ada with this key?", "Register");
    await button("Register a reviewer").click();
    await page.getByLabel("Kind of key").selectOption("sigstore");
    await page.getByLabel("Name", { exact: true }).fill("sigstore:bea@example.org");
    await page.getByLabel("Issuer").fill("https://accounts.example.org");
    await page.getByLabel("Identity").fill("bea@example.org");
    await submit("Register a reviewer", "Register");
    const pair = (await crypto.subtle.generateKey("Ed25519", true, ["sign", "verify"])) as CryptoKeyPair;
    const publicKey = Buffer.from(await crypto.subtle.exportKey("raw", pair.publicKey)).toString("base64");
    await gateway.administer("POST", "/reviewers", { attester: "human:bob", key: { kind: "ed25519", publicKey } });
    const reviewers = async () =>
      (await read<Rows>("/reviewers")).items.map(({ attester, status }) => [attester, status]);
    expect(await reviewers()).toEqual(expect.arrayContaining([["sigstore:bea@example.org", "active"]]));

    await visitor.goTo(await reviewOf("leave"));
    await button("Sign here").click();
    await submit("Sign leave", "Sign and store");
    const attestations = async () => (await read<Rows>("/attestations")).items;
    await soon(attestations).toMatchObject([{ skill: "leave", attester: "human:ada" }]);
    await visitor.goTo("/attestations");
    await button("Renew").click();
    const later = new Date(Date.now() + 20 * 86_400_000).toISOString().slice(0, 10);
    await page.getByLabel("Valid until").fill(later);
    await submit("Sign leave anew", "Sign and store");
    await soon(async () => (await attestations()).map(({ validUntil }) => validUntil)).toContain(later);
    const claim = {
      origin: publisher.origin as CanonicalOrigin,
      skill: "leave",
      toolSha256: (await versionOf("leave")).toolSha256 as Sha256Hex,
      signedOn: new Date().toISOString().slice(0, 10) as CalendarDate,
      validUntil: later as CalendarDate,
    };
    const signed = await signAttestation(claim, { attester: "human:bob", privateKey: pair.privateKey });
    await button("Paste an attestation").click();
    await page.getByLabel("Entry, or a list of entries").fill(JSON.stringify([attestationEntry(signed)]));
    await submit("Store attestations", "Store");
    await page.getByText("it counts as attested").waitFor();
    await page
      .getByRole("row", { name: /human:bob/ })
      .getByRole("button", { name: "Revoke" })
      .click();
    await page.getByLabel("Reason").fill("Signed by mistake.");
    await submit("Revoke the attestation of leave?", "Revoke");
    const revocations = async () => (await read<Rows>("/revocations")).items;
    await soon(revocations).toMatchObject([{ kind: "attestation", reason: "Signed by mistake.", liftedAt: null }]);

    // Filters are in the address: a reload, Back and the tabs keep them.
    await page.getByLabel("State").selectOption("in_force");
    await page.getByLabel("Ending").selectOption("30");
    await page.getByRole("combobox", { name: "Origin" }).fill("http://127.0.0.1");
    await page.getByRole("option", { name: publisher.origin }).click();
    await page.waitForURL(/origin=http.*state=in_force.*expiring=30/);
    const isFiltered = async (rows: number) => {
      await soon(() => page.locator("tbody tr").count()).toBe(rows);
      await page.getByRole("row", { name: /leave.*human:ada/ }).waitFor();
      expect(await page.getByLabel("State").inputValue()).toBe("in_force");
      expect(await page.getByLabel("Ending").inputValue()).toBe("30");
      expect(await page.getByRole("combobox", { name: "Origin" }).inputValue()).toBe(publisher.origin);
    };
    await isFiltered(1);
    await page.reload();
    await isFiltered(1);
    await page.getByRole("link", { name: "Revocations" }).click();
    await button("Lift").click();
    await page.getByLabel("Reason").fill("It was right.");
    await submit("Lift this revocation?", "Lift");
    await soon(revocations).toMatchObject([{ liftReason: "It was right." }]);
    await button("Revoke code everywhere").click();
    await page.getByLabel("SHA-256").fill("0".repeat(64));
    await page.getByLabel("Reason").fill("Known to be bad.");
    await submit("Revoke a hash everywhere", "Revoke");
    await soon(async () => (await revocations()).map(({ kind }) => kind)).toContain("hash");

    // What was lifted is in force again.
    await page.goBack();
    await isFiltered(2);
    await page.goForward();
    await page.getByRole("link", { name: "Stored" }).click();
    await isFiltered(2);

    await visitor.goTo("/reviewers");
    const bob = page.getByRole("row", { name: /human:bob/ });
    for (const [step, status] of [
      ["Retire", "retired"],
      ["Revoke", "revoked"],
    ] as const) {
      await bob.getByRole("button", { name: step }).click();
      await page.getByLabel("Reason").fill("Left.");
      if (step === "Revoke") await page.getByLabel(/^Type/).fill("human:bob");
      await submit(`${step} human:bob?`, step);
      await soon(reviewers).toEqual(expect.arrayContaining([["human:bob", status]]));
    }
  });

  it("changes a client: its state, limits, grants and rules", async () => {
    const { id } = await gateway.administer<{ id: string }>("POST", "/clients", { name: "Desk", rpm: 60, grants: [] });
    const path = `/clients/${id}`;
    await visitor.goTo(path);
    for (const [step, status] of [
      ["Suspend", "suspended"],
      ["Resume", "active"],
    ] as const) {
      await button(step).click();
      await submit(`${step} Desk?`, step);
      await soon(() => read(path)).toMatchObject({ status });
    }
    await button("Change").click();
    await page.getByLabel("Calls a minute").fill("7");
    await submit("Change Desk", "Save");
    await soon(() => read(path)).toMatchObject({ rpm: 7 });

    await visitor.show(`${path}/limits`);
    await button("Add a limit").click();
    const origin = page.getByRole("dialog").getByRole("combobox", { name: "Origin" });
    await soon(() => origin.inputValue()).toBe(publisher.origin);
    await page.getByRole("dialog").getByLabel("Calls a minute").fill("3");
    await submit("Limit an origin or a tool", "Add");
    await soon(() => read(`${path}/limits`)).toMatchObject({ items: [{ tool: null, rpm: 3 }] });
    await button("Remove").click();
    await submit("Remove this limit?", "Remove");
    await soon(() => read(`${path}/limits`)).toMatchObject({ items: [] });

    await visitor.show(`${path}/grants`);
    const originId = originPath.split("/").at(-1);
    for (const [step, title, submitted, grants] of [
      ["Grant", `Grant ${publisher.origin}?`, "Grant", [originId]],
      ["Take back", `Take back ${publisher.origin}?`, "Take back", []],
      ["Grant all origins", "Grant every active origin?", "Grant all", "all"],
      ["Grant single origins instead", "Take back the grant of all origins?", "Take it back", []],
    ] as const) {
      await button(step).click();
      await submit(title, submitted);
      await soon(() => read(path)).toMatchObject({ grants });
    }

    await visitor.show(`${path}/tools`);
    await button("Add a rule").click();
    await soon(() => origin.inputValue()).toBe(publisher.origin);
    await page.getByLabel("Denied tools").fill("leave");
    await submit("Rule for an origin's tools", "Add");
    await soon(() => read(`${path}/tools`)).toMatchObject({ items: [{ allow: null, deny: ["leave"] }] });
    await page.getByRole("row", { name: /leave/ }).getByRole("button", { name: "Change" }).click();
    await page.getByLabel("Denied tools").fill("greet");
    await submit(/^Tools of/, "Save");
    await soon(() => read(`${path}/tools`)).toMatchObject({ items: [{ deny: ["greet"] }] });
    await button("Remove").click();
    await submit(/^Remove the rule for/, "Remove");
    await soon(() => read(`${path}/tools`)).toMatchObject({ items: [] });
  });

  it("lets an operator in by Cloudflare Access, says how to get out of it, and refuses another application's", async () => {
    await gateway.administer("POST", "/operators", { name: "Ada", role: "reviewer", accessEmail: "ada@example.com" });
    const assertion = (audience: string) =>
      new SignJWT({ email: "ada@example.com" })
        .setProtectedHeader({ alg: "RS256", kid: "k1" })
        .setIssuer(`https://${TEAM}`)
        .setAudience(audience)
        .setIssuedAt()
        .setExpirationTime("1h")
        .sign(teamKey.privateKey);
    const stranger = await gateway.open({ headers: { "Cf-Access-Jwt-Assertion": await assertion("f".repeat(64)) } });
    await stranger.page.goto(`${gateway.url}/admin/`);
    const refusal = stranger.page.getByRole("alert");
    await refusal.getByText("its assertion names no operator of this gateway").waitFor();
    await refusal.getByText("ACCESS_AUD").waitFor();
    await stranger.page.getByLabel("Operator token").waitFor();
    expect(await barriers(stranger.page)).toEqual([]);
    await stranger.context.close();

    const ada = await gateway.open({ headers: { "Cf-Access-Jwt-Assertion": await assertion(AUD) } });
    await ada.goTo("/origins");
    expect(await ada.page.locator(".account p").filter({ hasText: "Ada" }).textContent()).toContain("reviewer");
    expect(await ada.page.getByRole("button", { name: "Propose an origin" }).isEnabled()).toBe(true);
    await ada.goTo("/clients");
    expect(await ada.page.getByRole("button", { name: "Create a client" }).isDisabled()).toBe(true);
    // It changes something: with the proof that the session's answer gave.
    await ada.goTo("/origins");
    await ada.page.getByRole("button", { name: "Propose an origin" }).click();
    await ada.page.getByLabel("Address of the publisher").fill("https://by-access.example");
    await ada.page.getByRole("button", { name: "Propose", exact: true }).click();
    await ada.page.getByRole("heading", { name: "https://by-access.example" }).waitFor();
    await ada.page.getByRole("button", { name: "Sign out" }).click();
    const asked = ada.page.getByRole("dialog", { name: "Sign out of Cloudflare Access too?" });
    await asked.getByText("/cdn-cgi/access/logout").waitFor();
    expect(await barriers(ada.page)).toEqual([]);
    await ada.page.route("**/cdn-cgi/access/logout", (route) => route.fulfill({ body: "Signed out of Access." }));
    await asked.getByRole("button", { name: "Sign out of both" }).click();
    await ada.page.getByText("Signed out of Access.").waitFor();
    expect(ada.faults).toEqual([]);
    await ada.context.close();
  });

  it("follows an operator's role while they work, names what they decided, and asks them to sign in once they are suspended", async () => {
    type Id = { id: string };
    const { id } = await gateway.administer<Id>("POST", "/operators", { name: "Mary", role: "viewer" });
    const { token } = await gateway.administer<Id & { token: string }>("POST", `/operators/${id}/tokens`, {});
    const mary = await gateway.open();
    await mary.signIn(token);
    await mary.show("/origins");
    const propose = mary.page.getByRole("button", { name: "Propose an origin" });
    await mary.page.getByText("Live", { exact: true }).waitFor();
    expect(await propose.isDisabled()).toBe(true);
    await gateway.administer("PATCH", `/operators/${id}`, { role: "reviewer" });
    await mary.page.locator('button:enabled:text-is("Propose an origin")').waitFor();
    const subject = "ab".repeat(32);
    await fetch(`${gateway.url}/admin/api/v1/revocations`, {
      method: "POST",
      headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
      body: JSON.stringify({ kind: "hash", subject, reason: "Stolen." }),
    });
    await mary.show("/attestations/revocations");
    await mary.page.getByRole("cell", { name: "Mary" }).waitFor();
    await gateway.administer("PATCH", `/operators/${id}`, { status: "suspended" });
    await mary.page.getByRole("dialog", { name: "Sign in again" }).waitFor();
    await mary.context.close();
  });

  it("replaces the trust root, runs operators and their tokens, and retires ADMIN_TOKEN", async () => {
    await visitor.goTo("/system");
    await button("Replace").click();
    await page.getByLabel("trusted_root.json").fill(EMBEDDED_TRUST_ROOT);
    await submit("Replace the trust root", "Replace");
    await soon(() => read("/trust-root")).toMatchObject({ source: "operator" });
    await button("Back to the embedded one").click();
    await submit("Go back to the embedded trust root?", "Go back");
    await soon(() => read("/trust-root")).toMatchObject({ source: "embedded" });

    await visitor.goTo("/operators");
    await button("Add an operator").click();
    await page.getByRole("dialog").getByLabel("Name", { exact: true }).fill("Grace");
    await submit("Add an operator", "Add");
    const grace = page.getByRole("row", { name: /Grace/ });
    const operator = async () => (await read<Rows>("/operators?q=Grace")).items[0];
    await grace.getByRole("button", { name: "Change" }).click();
    await page.getByRole("dialog").getByLabel("Role").selectOption("admin");
    await submit("Change Grace", "Save");
    await soon(operator).toMatchObject({ role: "admin" });
    for (const [step, status] of [
      ["Suspend", "suspended"],
      ["Resume", "active"],
    ] as const) {
      await grace.getByRole("button", { name: step }).click();
      await submit(`${step} Grace?`, step);
      await soon(operator).toMatchObject({ status });
    }
    await grace.getByRole("button", { name: "Tokens" }).click();
    const tokens = page.getByRole("dialog", { name: "Tokens of Grace" });
    const issued: string[] = [];
    for (let times = 0; times < 2; times++) {
      await tokens.getByRole("button", { name: "Issue a token" }).click();
      await submit("Issue a token for Grace", "Issue");
      await soon(async () => issued.includes((await tokens.locator("pre").textContent()) ?? "")).toBe(false);
      issued.push((await tokens.locator("pre").textContent()) ?? "");
    }
    await tokens.getByRole("button", { name: "Revoke" }).first().click();
    await submit("Revoke this operator's token?", "Revoke");
    await tokens.getByRole("row", { name: /revoked/ }).waitFor();
    await tokens.getByRole("button", { name: "I have copied it" }).click();
    const status = async (token: string) => {
      const headers = { Authorization: `Bearer ${token}` };
      return (await fetch(`${gateway.url}/admin/api/v1/session`, { headers })).status;
    };
    const statuses = await Promise.all(issued.map(status));
    expect(statuses.toSorted()).toEqual([200, 401]);

    await button("Sign out").click();
    await page.getByLabel("Operator token").fill(issued[statuses.indexOf(200)] ?? "");
    await button("Sign in").click();
    await visitor.goTo("/operators");
    await button("Retire ADMIN_TOKEN").click();
    await page.getByLabel(/^Type/).fill("ADMIN_TOKEN");
    await submit("Retire ADMIN_TOKEN?", "Retire it");
    await page.getByText(/^Retired /).waitFor();
    expect(await status(ADMIN_TOKEN)).toBe(401);
    expect(visitor.faults).toEqual([]);
  });
});
