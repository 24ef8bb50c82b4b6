import { beforeAll, expect, it } from "vitest";
import { sha256Hex } from "../../core/integrity.ts";
import {
  ADMIN_TOKEN,
  call,
  foundSources,
  freshDatabase,
  newClient,
  newOperator,
  publishers,
  register,
} from "./fixture.ts";
import { newKey, ORIGIN, reviewer, signed, store } from "./reviewing-fixture.ts";

const BYTES = "---\nname: sum\ndescription: Adds.\n---\n";
/** What ends, or takes back, what others need: last. */
const ENDS = /\/(?:suspend|retire|revoke|lift|rollback)$/;
const rank = (route: string) => (route.startsWith("DELETE ") ? 2 : ENDS.test(route) ? 1 : 0);
/** Steps for which what the fixture made is in another state, as their documented code says. */
const REFUSED: Readonly<Record<string, string>> = {
  "POST /origins/{id}/activate": "bad_state",
  "POST /clients/{id}/resume": "bad_state",
  "POST /bootstrap/retire": "bad_state",
};

/** What a reader writes in place of braces: by the path's first word and the name in the braces, or by the name alone. */
const filled = new Map<string, string>();

beforeAll(async () => {
  await freshDatabase();
  const id = await register(ORIGIN);
  const facts = await foundSources({ sum: "registerTool({ name: 'sum' });" });
  publishers.set(ORIGIN, facts);
  const toolSha256 = facts.ok ? (facts.skills[0]?.toolSha256 ?? "") : "";
  await call("POST", `/origins/${id}/probe`);
  await call("POST", `/origins/${id}/activate`);
  const ada = await newKey();
  const reviewerId = await reviewer(ada);
  const [attested] = await store([await signed(ada)]);
  const revocation = { kind: "hash", subject: "f".repeat(64), reason: "Bad." };
  const revocationId = (await call("POST", "/revocations", revocation)).body.id;
  const clientId = await newClient();
  const clientToken = (await call("POST", `/clients/${clientId}/tokens`)).body.id;
  const operator = await newOperator("viewer");
  const siteId = (await call("POST", "/sites", { name: "a-site" })).body.id;
  await call("POST", `/sites/${siteId}/versions`, { title: "First" });
  const sha256 = await sha256Hex(new TextEncoder().encode(BYTES));
  for (const [name, value] of Object.entries({
    ...{ "origins id": id, "reviewers id": reviewerId, "attestations id": attested.id, "revocations id": revocationId },
    ...{ "clients id": clientId, "clients tokenId": clientToken, "operators id": operator.id, "sites id": siteId },
    ...{ "operators tokenId": operator.tokenId, "origins origin": "https://new.example", origin: ORIGIN },
    ...{ "sites sha256": sha256, "sites file": BYTES, "sites name": "sum", "sites digests": sha256, grants: id },
    ...{ name: "sum", scope: "", toolSha256, token: ADMIN_TOKEN, attester: "human:bob", subject: "e".repeat(64) },
    ...{
      publicKey: (await newKey()).publicKey,
      originId: id,
      tool: "sum",
      allow: "sum",
      deny: "add",
      reason: "Because.",
    },
    ...{ title: "A site", description: "Adds.", version: "1", seq: "1", rpm: "60" },
    "attestations file": JSON.stringify([await signed(ada)]),
    "trust-root file": JSON.stringify((await call("GET", "/trust-root")).body.trustRoot),
    "import file": JSON.stringify({ allowedOrigins: ["https://moved.example"] }),
  })) {
    filled.set(name, value);
  }
});

/** The text with every brace filled in; `a|b` takes the first word. */
function fill(text: string, area: string): string {
  return text.replace(/\{([\w|-]+)\}/g, (hole, name: string) => {
    const value = filled.get(`${area} ${name}`) ?? filled.get(name) ?? (name.includes("|") ? name.split("|")[0] : null);
    if (value == null) throw new Error(`Nothing to fill in for ${hole}: ${text}`);
    return value;
  });
}

it("the command of every route is taken as it stands once its braces are filled in", async () => {
  const page: string = (await call("GET", "/docs")).body;
  const commands = [...page.matchAll(/<code>([A-Z]+) (\/[^<]*)<\/code><\/p>\s*<p>[\s\S]*?<pre>(curl [^<]*)<\/pre>/g)]
    .map(([, method = "", path = "", text = ""]) => ({ route: `${method} ${path}`, method, path, text }))
    .map((one) => ({ ...one, text: one.text.replaceAll("&quot;", '"').replaceAll("&#39;", "'") }));
  expect(commands.length).toBeGreaterThan(80);
  const ordered = commands.toSorted((a, b) => rank(a.route) - rank(b.route));
  const wrong: unknown[] = [];
  for (const { route, method, path, text } of ordered) {
    const area = path.split("/")[1] ?? "";
    if (text.includes("{probedAt}")) {
      filled.set("probedAt", String((await call("GET", `/origins/${filled.get("origins id")}`)).body.probedAt));
    }
    const [, address = ""] = /"\$API([^"]*)"/.exec(text) ?? [];
    const [, name, asked = ""] = /--data-urlencode '(\w+)=([^']*)'/.exec(text) ?? [];
    const query = name === undefined ? "" : `?${name}=${encodeURIComponent(fill(asked, area))}`;
    const [, type] = /-H 'Content-Type: ([^']*)'/.exec(text) ?? [];
    const [, json] = / -d '([^']*)'/.exec(text) ?? [];
    const raw = text.includes("'@{file}'") ? fill("{file}", area) : json === undefined ? undefined : fill(json, area);
    // What we made up would be pasted.
    if (json !== undefined) expect(json).not.toMatch(/…|0123456789abcdef|1780000000000|publisher\.example/);
    const { status, body } = await call(method, fill(address, area) + query, undefined, {
      ...(raw === undefined ? {} : { raw }),
      ...(type === undefined ? {} : { headers: { "Content-Type": type } }),
    });
    const isExpected = route in REFUSED ? body?.code === REFUSED[route] : status < 300;
    if (!isExpected) wrong.push([route, raw, status, body]);
  }
  expect(wrong).toEqual([]);
});
