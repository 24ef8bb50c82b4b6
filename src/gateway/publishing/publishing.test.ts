import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { buildTar, wrapGzip } from "../../../test/archives/build.ts";
import { archiveLimits } from "../../core/archive/archive.ts";
import { packArchive } from "../../core/archive/pack.ts";
import { sha256Hex } from "../../core/integrity.ts";
import { call, freshDatabase, testEnv } from "../admin/fixture.ts";
import type { Env } from "../env.ts";
import { aSkill, ask, bytesOf, manifestOf, newSite, publish, skillText, type TestSite, upload } from "./fixture.ts";
import { forgetOldSiteBytes } from "./forget-blobs.ts";
import { forgetSites } from "./read-site.ts";

const INDEX = "/.well-known/agent-skills/index.json";
const DAY_MS = 24 * 3_600_000;

beforeAll(freshDatabase);

let site: TestSite;
let base: string;

beforeEach(async () => {
  site = await newSite();
  base = `https://${site.host}`;
});

async function version(text: string) {
  return { skills: [await aSkill(site, "deploy", {}, text)] };
}

const digestsOf = (manifest: { skills: { digest: string }[] }) =>
  manifest.skills.map(({ digest }) => digest.slice("sha256:".length));
const refusal = ({ status, body }: Awaited<ReturnType<typeof publish>>) => ({
  status,
  code: body.code,
  field: body.errors?.[0]?.field,
  reason: body.errors?.[0]?.reason,
});

describe("a publish", () => {
  it("switches all at once, keeps what was, and is rolled back", async () => {
    const one = await version("one");
    expect((await publish(site, one)).body).toMatchObject({ version: 1, retiredAt: null, warnings: [] });
    expect((await publish(site, { ...(await version("two")), note: "Two." })).body).toMatchObject({
      version: 2,
      note: "Two.",
    });
    expect(await (await ask(`${base}/skills/deploy.md`)).text()).toContain("two");
    const { items } = (await call("GET", `/sites/${site.id}/versions`)).body;
    expect(
      items.map(({ version, retiredAt }: { version: number; retiredAt: number | null }) => [
        version,
        retiredAt === null,
      ]),
    ).toEqual([
      [2, true],
      [1, false],
    ]);
    const { headers } = await call("GET", `/sites/${site.id}`);
    const back = await call(
      "POST",
      `/sites/${site.id}/rollback`,
      { version: 1 },
      { headers: { "If-Match": headers.get("ETag") ?? "" } },
    );
    expect(back.body).toMatchObject({ currentVersion: 1 });
    expect(await (await ask(`${base}/skills/deploy.md`)).text()).toContain("one");
    expect(digestsOf(await manifestOf(base + INDEX))).toEqual([one.skills[0]?.sha256]);
    const again = await call(
      "POST",
      `/sites/${site.id}/rollback`,
      { version: 2 },
      { headers: { "If-Match": headers.get("ETag") ?? "" } },
    );
    expect(again.body.code).toBe("precondition_failed");
    const read = (await call("GET", `/sites/${site.id}/versions/1`)).body;
    expect(read.content.skills).toMatchObject([
      { name: "deploy", sha256: one.skills[0]?.sha256, place: { kind: "hosted", path: "/skills/deploy.md" } },
    ]);
  });

  it("[code:bad_state] [code:no_version] is rolled back to another version that is kept", async () => {
    await publish(site, await version("one"));
    expect((await call("POST", `/sites/${site.id}/rollback`, { version: 1 })).body.code).toBe("bad_state");
    expect((await call("POST", `/sites/${site.id}/rollback`, { version: 7 })).body.code).toBe("no_version");
  });

  it("[code:version_changed] of somebody who knows another version changes nothing", async () => {
    expect((await publish(site, { ...(await version("one")), base: null })).status).toBe(201);
    expect((await publish(site, { ...(await version("two")), base: null })).body.code).toBe("version_changed");
    expect((await publish(site, { ...(await version("two")), base: 1 })).status).toBe(201);
  });

  it("is made once for one Idempotency-Key", async () => {
    const wanted = { title: "x", ...(await version("one")) };
    const headers = { "Idempotency-Key": "a" };
    const [first, second] = [
      await call("POST", `/sites/${site.id}/versions`, wanted, { headers }),
      await call("POST", `/sites/${site.id}/versions`, wanted, { headers }),
    ];
    expect(second.body).toEqual(first.body);
    expect(second.headers.get("Idempotent-Replayed")).toBe("true");
    expect((await call("GET", `/sites/${site.id}/versions`)).body.items).toHaveLength(1);
  });

  it("goes on where it was interrupted", async () => {
    const present = await upload(site, "there");
    const digests = [present, "0".repeat(64)];
    expect((await call("POST", `/sites/${site.id}/blobs/missing`, { digests })).body).toEqual({
      missing: ["0".repeat(64)],
    });
    const other = await newSite();
    expect((await call("POST", `/sites/${other.id}/blobs/missing`, { digests })).body.missing).toEqual(digests);
  });

  it("takes uploads for what they are, of at most 5 MiB", async () => {
    const send = (sha256: string, raw: Uint8Array) =>
      call("POST", `/sites/${site.id}/blobs?sha256=${sha256}`, undefined, {
        raw,
        headers: { "Content-Type": "application/octet-stream" },
      });
    const bytes = new Uint8Array(5_242_880).fill(0xff);
    expect((await send(await sha256Hex(bytes), bytes)).body).toEqual({
      sha256: await sha256Hex(bytes),
      bytes: bytes.length,
    });
    expect((await send("0".repeat(64), bytesOf("x"))).body).toMatchObject({
      code: "bad_request",
      errors: [{ field: "sha256" }],
    });
    expect((await send("0".repeat(64), new Uint8Array(5_242_881))).body.code).toBe("too_large");
    const kept = "INSERT INTO site_blobs (site_id, sha256, bytes, stored_at) VALUES (?, 'x', 531628032, 1)";
    await testEnv.DB.prepare(kept).bind(site.id).run();
    expect((await send(await sha256Hex(bytesOf("x")), bytesOf("x"))).body.code).toBe("site_full");
    // What it has already takes no more room, and may have to be repaired.
    expect((await send(await sha256Hex(bytes), bytes)).status).toBe(200);
  });

  it("takes bytes that it has already, also where the site is full: only thus are they repaired", async () => {
    const sha256 = await upload(site, "x");
    const kept = "INSERT INTO site_blobs (site_id, sha256, bytes, stored_at) VALUES (?, 'x', ?, 1)";
    await testEnv.DB.prepare(kept)
      .bind(site.id, 536_870_912 - 1)
      .run();
    await testEnv.DB.prepare("UPDATE site_blobs SET mismatches = 3 WHERE sha256 = ?").bind(sha256).run();
    expect((await call("GET", `/sites/${site.id}/mismatches`)).body.items).toHaveLength(1);
    expect(await upload(site, "x")).toBe(sha256);
    expect((await call("GET", `/sites/${site.id}/mismatches`)).body.items).toEqual([]);
  });

  it("[skills-8.24] [skills-8.25] [skills-R15] of an unknown type or visibility, or with a field nobody knows, is refused by name", async () => {
    const [entry] = (await version("x")).skills;
    const field = async (change: object) => refusal(await publish(site, { skills: [{ ...entry, ...change }] }));
    expect(await field({ type: "executable" })).toMatchObject({ status: 400, field: "skills.0.type" });
    expect(await field({ visibility: "members-only" })).toMatchObject({ status: 400, field: "skills.0.visibility" });
    expect(await field({ hooks: [] })).toMatchObject({ status: 400 });
    const listed = { listings: [{ name: "x", skills: [{ ...entry, visibility: "members-only" }] }] };
    expect(refusal(await publish(site, listed))).toMatchObject({
      status: 400,
      field: "listings.0.skills.0.visibility",
    });
  });

  it("says which entry must not be published and why, and publishes nothing", async () => {
    const [entry] = (await version("x")).skills;
    const reserved = refusal(await publish(site, { skills: [{ ...entry, url: "/mcp" }] }));
    expect(reserved).toEqual({ status: 400, code: "bad_publication", field: "skills.0.url", reason: "reserved_url" });
    const twice = refusal(await publish(site, { skills: [entry, { ...entry, name: "other" }] }));
    expect(twice).toMatchObject({ field: "skills.1.url", reason: "duplicate_url" });
    expect((await ask(base + INDEX)).status).toBe(404);
  });

  it("warns of what clients drop, and publishes it", async () => {
    const sha256 = await upload(site, "# No frontmatter");
    const { status, body } = await publish(site, {
      skills: [{ name: "x", type: "skill-md", description: "x", url: "/x.md", sha256 }],
    });
    expect({ status, warnings: body.warnings }).toMatchObject({
      status: 201,
      warnings: [{ field: "skills.0", code: "no_frontmatter" }],
    });
  });

  it("has HTTP dates that tell two versions of one second apart", async () => {
    await publish(site, await version("one"));
    const first = (await call("GET", `/sites/${site.id}`)).body.switchedAt;
    await publish(site, await version("two"));
    expect((await call("GET", `/sites/${site.id}`)).body.switchedAt).toBeGreaterThanOrEqual(first + 1_000);
    // Made for a moment that has not come: nobody is told that what they hold is this one.
    const since = { "If-Modified-Since": new Date(first).toUTCString() };
    expect((await ask(base + INDEX, { headers: since })).status).toBe(200);
  });
});

describe("archives", () => {
  const skill = { name: "deploy", description: "Does deploy." };
  const files = [{ path: "SKILL.md", bytes: bytesOf(skillText("deploy", "Does deploy.")) }];
  const entry = (sha256: string, limits?: object) => ({
    ...skill,
    type: "archive",
    url: "/skills/deploy.tar.gz",
    sha256,
    limits,
  });

  it("are judged when they are published, within the limits of their entry, and served as they are", async () => {
    const packed = await packArchive([...files, { path: "a.txt", bytes: bytesOf("a") }], archiveLimits({}));
    const sha256 = await upload(site, packed);
    expect(refusal(await publish(site, { skills: [entry(sha256, { max_entries: 1 })] }))).toEqual({
      ...{ status: 400, code: "bad_publication", field: "skills.0", reason: "bad_archive/entries" },
    });
    expect((await publish(site, { skills: [entry(sha256)] })).status).toBe(201);
    const response = await ask(`${base}/skills/deploy.tar.gz`);
    expect(response.headers.get("Content-Type")).toBe("application/gzip");
    expect(new Uint8Array(await response.arrayBuffer())).toEqual(packed);
  });

  it("that leave their root are never published", async () => {
    const evil = wrapGzip(
      buildTar([
        { name: "SKILL.md", body: "x" },
        { name: "../evil", body: "x" },
      ]),
    );
    expect(refusal(await publish(site, { skills: [entry(await upload(site, evil))] }))).toMatchObject({
      reason: "bad_archive/path",
    });
  });
});

describe("[skills-R13] an artifact elsewhere", () => {
  const files = async (host: string, content: Record<string, string>) => {
    await fetch(`https://${host}/__files`, { method: "PUT", body: JSON.stringify(content) });
    return `https://${host}`;
  };
  const entry = (url: string, change: object = {}) => ({
    name: "deploy",
    type: "skill-md",
    description: "Does deploy.",
    url,
    ...change,
  });

  it("is fetched, hashed, and published with its own address", async () => {
    const text = skillText("deploy", "Does deploy.");
    const cdn = await files(`files-${site.name}.example`, { "/x.md": text });
    expect((await publish(site, { skills: [entry(`${cdn}/x.md`)] })).status).toBe(201);
    const [row] = (await manifestOf(base + INDEX)).skills;
    expect(row).toMatchObject({ url: `${cdn}/x.md`, digest: `sha256:${await sha256Hex(bytesOf(text))}` });
    const differs = await publish(site, { skills: [entry(`${cdn}/x.md`, { sha256: "0".repeat(64) })] });
    expect(refusal(differs)).toMatchObject({ field: "skills.0.sha256", reason: "digest_differs" });
  });

  it("is never an error page, nor on a host that is not public", async () => {
    const cdn = await files(`files-${site.name}.example`, {});
    expect(refusal(await publish(site, { skills: [entry(`${cdn}/none.md`)] }))).toMatchObject({
      reason: "fetch_failed",
    });
    for (const host of ["10.0.0.1", "169.254.169.254", "metadata.internal", "localhost"]) {
      expect(refusal(await publish(site, { skills: [entry(`https://${host}/x.md`)] }))).toMatchObject({
        reason: "bad_url",
      });
    }
  });
});

describe("bytes that were replaced", () => {
  it("stay readable by their digest for the grace period, and no longer", async () => {
    const one = (await version("one")).skills[0]?.sha256 ?? "";
    await publish(site, await version("one"));
    await publish(site, await version("two"));
    const response = await ask(`${base}/skills/deploy.md@${one}`);
    expect(response.headers.get("Cache-Control")).toContain("immutable");
    expect(await sha256Hex(new Uint8Array(await response.arrayBuffer()))).toBe(one);
    expect((await ask(`${base}/skills/other.md@${one}`)).status).toBe(404);
    await call("PATCH", `/sites/${site.id}`, { graceS: 0 });
    expect((await ask(`${base}/skills/deploy.md@${one}`)).status).toBe(404);
  });

  it("are looked for in versions that name them alone, however many there are and whatever is asked for", async () => {
    for (const text of ["one", "two", "three", "four"]) await publish(site, await version(text));
    const versionsRead = async (path: string): Promise<number> => {
      forgetSites();
      let count = 0;
      const DB = new Proxy(testEnv.DB, {
        get: (database, name) => {
          const value = Reflect.get(database, name) as unknown;
          if (typeof value !== "function") return value;
          return (...given: unknown[]) => {
            if (name === "prepare" && String(given[0]).startsWith('select "content"')) count += 1;
            return value.apply(database, given);
          };
        },
      });
      expect((await ask(`https://gate.example/s/${site.name}${path}`, {}, { DB })).status).toBe(404);
      return count;
    };
    const inForce = await versionsRead("/skills/none.md");
    expect(inForce).toBeGreaterThan(0);
    expect(await versionsRead(`/skills/deploy.md@${"0".repeat(64)}`)).toBe(inForce);
  });

  it("are hidden where the skill became so", async () => {
    const one = await version("one");
    await publish(site, one);
    await publish(site, { skills: [{ ...(await version("two")).skills[0], visibility: "authenticated" }] });
    expect((await ask(`${base}/skills/deploy.md@${one.skills[0]?.sha256}`)).status).toBe(404);
  });

  describe("and were hidden once", () => {
    const hide = { visibility: "authenticated" };
    const secret = "/secret.md";
    const file = async (text: string, about: object = {}) => ({
      url: secret,
      sha256: await upload(site, text),
      ...about,
    });
    const statuses = async (path: string, sha256: string | undefined) => {
      const url = `${base}${path}@${sha256}`;
      const known = await ask(url, { headers: { Authorization: "Bearer demo-token" } });
      return [(await ask(url)).status, known.status];
    };

    it("are read by authenticated callers in the grace period, also where nothing of the site is hidden any more", async () => {
      const one = { skills: [await aSkill(site, "deploy", hide, "one")] };
      await publish(site, one);
      const { skills } = await version("two");
      for (const next of [{ skills }, { title: "empty" }]) {
        expect((await publish(site, next)).status).toBe(201);
        expect(await statuses("/skills/deploy.md", one.skills[0]?.sha256)).toEqual([404, 200]);
      }
      expect(await statuses("/skills/deploy.md", skills[0]?.sha256)).toEqual([200, 200]);
    });

    it("stay hidden where they were taken away after they became so, under whatever bytes", async () => {
      const { skills } = await version("one");
      const open = await file("one");
      await publish(site, { skills, files: [open] });
      await publish(site, { skills: [await aSkill(site, "deploy", hide, "two")], files: [await file("two", hide)] });
      await publish(site, { title: "empty" });
      expect(await statuses("/skills/deploy.md", skills[0]?.sha256)).toEqual([404, 200]);
      expect(await statuses(secret, open.sha256)).toEqual([404, 200]);
    });

    it("stay hidden where they were taken away after a rollback had hidden them", async () => {
      const open = await file("one");
      await publish(site, { files: [{ ...open, ...hide }] });
      await publish(site, { files: [open] });
      expect(await statuses(secret, open.sha256)).toEqual([200, 200]);
      expect((await call("POST", `/sites/${site.id}/rollback`, { version: 1 })).status).toBe(200);
      await publish(site, { title: "empty" });
      expect(await statuses(secret, open.sha256)).toEqual([404, 200]);
    });

    it("stay hidden where their skill went into a listing that hides it", async () => {
      const { skills } = await version("one");
      await publish(site, { skills });
      await publish(site, { listings: [{ name: "partner", skills: [await aSkill(site, "deploy", hide, "two")] }] });
      expect(await statuses("/skills/deploy.md", skills[0]?.sha256)).toEqual([404, 200]);
    });

    it("are public where they became so before they were taken away", async () => {
      const open = await file("one");
      await publish(site, { files: [{ ...open, ...hide }] });
      await publish(site, { files: [open] });
      await publish(site, { title: "empty" });
      expect(await statuses(secret, open.sha256)).toEqual([200, 200]);
    });
  });

  it("and that no kept version names are removed after a week, others never", async () => {
    const kept = (await version("kept")).skills[0]?.sha256 ?? "";
    await publish(site, await version("kept"));
    const stray = await upload(site, "stray");
    const key = (sha256: string) => `sites/${site.id}/${sha256}`;
    await forgetOldSiteBytes(testEnv as Env, Date.now() + 6 * DAY_MS);
    expect(await testEnv.SITES.head(key(stray))).not.toBeNull();
    await forgetOldSiteBytes(testEnv as Env, Date.now() + 8 * DAY_MS);
    expect([await testEnv.SITES.head(key(stray)), await testEnv.SITES.head(key(kept))]).toEqual([
      null,
      expect.anything(),
    ]);
    expect((await call("POST", `/sites/${site.id}/blobs/missing`, { digests: [stray] })).body.missing).toEqual([stray]);
  });

  it("that were written while nothing could note it cannot be published, and are removed like others", async () => {
    const raw = bytesOf("half-way");
    const sha256 = await sha256Hex(raw);
    const key = `sites/${site.id}/${sha256}`;
    const send = (bindings: Record<string, unknown> = { ...testEnv }) =>
      call("POST", `/sites/${site.id}/blobs?sha256=${sha256}`, undefined, {
        raw,
        headers: { "Content-Type": "application/octet-stream" },
        bindings,
      });
    // The bytes are stored, and what follows never comes.
    const put = async (...object: Parameters<R2Bucket["put"]>) => {
      await testEnv.SITES.put(...object);
      throw new Error("The Worker ends.");
    };
    expect((await send({ ...testEnv, SITES: { put } })).status).toBe(500);
    expect(await testEnv.SITES.head(key)).not.toBeNull();
    const missing = async () =>
      (await call("POST", `/sites/${site.id}/blobs/missing`, { digests: [sha256] })).body.missing;
    expect(await missing()).toEqual([sha256]);
    const entry = { ...(await aSkill(site, "deploy")), sha256 };
    expect((await publish(site, { skills: [entry] })).body.errors).toMatchObject([{ reason: "unknown_digest" }]);
    expect((await call("GET", `/sites/${site.id}/mismatches`)).body.items).toEqual([]);
    await forgetOldSiteBytes(testEnv as Env, Date.now() + 8 * DAY_MS);
    expect(await testEnv.SITES.head(key)).toBeNull();
    expect((await send()).status).toBe(200);
    expect(await missing()).toEqual([]);
    // Bytes that are there stay what they are while they are sent again.
    expect((await send({ ...testEnv, SITES: { put } })).status).toBe(500);
    expect(await missing()).toEqual([]);
  });

  it("go with their version when 20 others have come and its grace period is over", async () => {
    await publish(site, await version("one"));
    for (let count = 0; count < 20; count += 1) await publish(site, { title: `${count}` });
    expect((await call("GET", `/sites/${site.id}/versions/1`)).status).toBe(200);
    await call("PATCH", `/sites/${site.id}`, { graceS: 0 });
    await publish(site, { title: "last" });
    const { items } = (await call("GET", `/sites/${site.id}/versions`)).body;
    expect([items.length, items[0].version, items.at(-1).version]).toEqual([20, 22, 3]);
  });
});

describe("a site that is deleted", () => {
  it("is gone at once with its versions, frees its name and hosts, and its bytes go with the cron", async () => {
    const kept = await newSite();
    await publish(kept, { skills: [await aSkill(kept, "kept")] });
    await publish(site, await version("one"));
    const [blob] = (await version("one")).skills;
    const { headers } = await call("GET", `/sites/${site.id}`);
    const unchanged = { headers: { "If-Match": headers.get("ETag") ?? "" } };
    await call("PATCH", `/sites/${site.id}`, { graceS: 60 });
    expect((await call("DELETE", `/sites/${site.id}`, undefined, unchanged)).body.code).toBe("precondition_failed");
    expect((await call("DELETE", `/sites/${site.id}`)).status).toBe(204);
    expect((await call("DELETE", `/sites/${site.id}`)).body.code).toBe("not_found");
    for (const path of ["", "/versions", "/versions/1", "/mismatches"]) {
      expect((await call("GET", `/sites/${site.id}${path}`)).status).toBe(404);
    }
    expect((await publish(site, {})).status).toBe(404);
    for (const url of [
      base + INDEX,
      `${base}/skills/deploy.md@${blob?.sha256}`,
      `https://gate.example/s/${site.name}${INDEX}`,
    ]) {
      expect((await ask(url)).status).toBe(404);
    }
    const listed = (await call("GET", `/sites?q=${site.id.slice(4)}`)).body.items;
    const again = await call("POST", "/sites", { name: site.name, hosts: [site.host] });
    expect([listed, again.status]).toEqual([[], 201]);
    const key = `sites/${site.id}/${blob?.sha256}`;
    expect(await testEnv.SITES.head(key)).not.toBeNull();
    await forgetOldSiteBytes(testEnv as Env, Date.now());
    expect(await testEnv.SITES.head(key)).toBeNull();
    const rows = await testEnv.DB.prepare("SELECT id FROM sites WHERE id = ?").bind(site.id).all();
    expect(rows.results).toEqual([]);
    expect((await ask(`https://${kept.host}/skills/kept.md`)).status).toBe(200);
    const { items } = (await call("GET", `/audit?subject=${site.id}&limit=1`)).body;
    expect(items).toMatchObject([
      { action: "site.delete", detail: { name: site.name, hosts: [site.host], version: 1 } },
    ]);
  });

  it("keeps its bytes on record until the bucket has removed them", async () => {
    const sha256 = await upload(site, "x");
    await call("DELETE", `/sites/${site.id}`);
    const SITES = { delete: () => Promise.reject(new Error("R2 is down.")) };
    await forgetOldSiteBytes({ ...testEnv, SITES } as unknown as Env, Date.now());
    expect(await testEnv.SITES.head(`sites/${site.id}/${sha256}`)).not.toBeNull();
    await forgetOldSiteBytes(testEnv as Env, Date.now());
    expect(await testEnv.SITES.head(`sites/${site.id}/${sha256}`)).toBeNull();
  });
});

it.each([
  "docs.example.",
  "DOCS.example",
  "a b",
  "*.example",
  "docs.example:443",
  "https://docs.example",
  "bücher.example",
])("the host %j, which no URL writes so or which is another's with a dot, is refused by its place", async (host) => {
  const { body, status } = await call("POST", "/sites", { name: "hosts-of-many-spellings", hosts: [host] });
  expect([status, body.errors[0].field]).toEqual([400, "hosts.0"]);
});

describe("[code:too_many_hosts] the hosts of all sites", () => {
  it("are 10,000 at most", async () => {
    const fill = `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9999 - (SELECT COUNT(*) FROM site_hosts))
      INSERT INTO site_hosts (host, site_id) SELECT 'h' || i || '.example', ? FROM n`;
    await testEnv.DB.prepare(fill).bind(site.id).run();
    const add = (name: string) => call("POST", "/sites", { name, hosts: [`${name}.example`] });
    expect((await add(`last-${site.name}`)).status).toBe(201);
    expect((await add(`more-${site.name}`)).body.code).toBe("too_many_hosts");
    await testEnv.DB.prepare("DELETE FROM site_hosts WHERE host LIKE 'h%.example'").run();
  });
});

describe("with the database down", () => {
  it("a site is served as it was last known, for a minute", async () => {
    await publish(site, await version("one"));
    expect((await ask(base + INDEX)).status).toBe(200);
    const Client = testEnv.DB.constructor as new (service: unknown) => D1Database;
    const DB = new Proxy(testEnv.DB, {
      get: (_, name) => {
        const broken = new Client(testEnv.BROKEN_D1);
        const value = Reflect.get(broken, name) as unknown;
        return typeof value === "function" ? value.bind(broken) : value;
      },
    });
    // Another binding has a directory of its own, so the site is asked for by its name.
    const url = `https://gate.example/s/${site.name}${INDEX}`;
    expect((await ask(url)).status).toBe(200);
    expect((await ask(url, {}, { DB })).status).toBe(200);
    expect((await ask("https://gate.example/s/never-seen/x", {}, { DB })).status).toBe(503);
  });
});
