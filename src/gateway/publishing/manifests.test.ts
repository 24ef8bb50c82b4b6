import { beforeAll, describe, expect, it } from "vitest";
import { sha256Hex } from "../../core/integrity.ts";
import { call, freshDatabase, testEnv } from "../admin/fixture.ts";
import { aSkill, ask, manifestOf, newSite, publish, siteEnv, type TestSite, upload } from "./fixture.ts";

const INDEX = "/.well-known/agent-skills/index.json";
const ANY = { Authorization: "Bearer demo-token" };

let site: TestSite;
let base: string;

/** One public skill and one for authenticated callers, two listings, and a file. */
beforeAll(async () => {
  await freshDatabase();
  // The addresses of the specification.
  site = await newSite({ artifactUrls: "plain" });
  base = `https://${site.host}`;
  const own = [
    await aSkill(site, "deploy-via-pr"),
    await aSkill(site, "internal-rotate-secret", { visibility: "authenticated" }),
  ];
  const partner = [
    await aSkill(site, "deploy-via-pr", { url: "skills/deploy-via-pr.md" }, "The partner's own."),
    await aSkill(site, "partner-only"),
    await aSkill(site, "partner-secret", { visibility: "authenticated" }),
  ];
  const listings = [
    { name: "partner", skills: partner },
    { name: "zeta", skills: [await aSkill(site, "zeta-only")] },
  ];
  const files = [{ url: "/data/x.html", sha256: await upload(site, "<script>alert(1)</script>") }];
  const { status, body } = await publish(site, { skills: own, listings, files });
  expect({ status, warnings: body.warnings }).toEqual({ status: 201, warnings: [] });
});

const names = (manifest: { skills: { name: string }[] }) => manifest.skills.map(({ name }) => name);

describe("the manifest of a site", () => {
  it("[skills-8.36] is JSON that names its schema", async () => {
    const response = await ask(base + INDEX);
    expect(response.status).toBe(200);
    expect(response.headers.get("Content-Type")).toBe("application/json");
    expect(await response.json()).toMatchObject({
      $schema: "https://schemas.agentskills.io/discovery/0.2.0/schema.json",
    });
  });

  it("[skills-8.37] shows an anonymous caller what is public", async () => {
    expect(names(await manifestOf(base + INDEX))).toEqual(["deploy-via-pr", "partner-only", "zeta-only"]);
  });

  it("[skills-8.38] shows all to a caller with an Authorization header, whatever it says, where the site takes that", async () => {
    const shown = names(await manifestOf(base + INDEX, ANY));
    expect(shown).toEqual(["deploy-via-pr", "internal-rotate-secret", "partner-only", "partner-secret", "zeta-only"]);
  });

  it("[skills-8.40] does not exist where no skill is published, and neither does a site", async () => {
    const empty = await newSite();
    expect((await ask(`https://${empty.host}${INDEX}`)).status).toBe(404);
    await publish(empty, {});
    for (const url of [
      `https://${empty.host}${INDEX}`,
      `https://gate.example/s/none${INDEX}`,
      `https://gate.example/s/${empty.name}`,
    ]) {
      const response = await ask(url);
      expect(response.status).toBe(404);
      expect(await response.json()).toMatchObject({ error: "not_found" });
    }
  });

  it("[skills-8.42] of a listing holds that listing alone", async () => {
    const manifest = await manifestOf(`${base}/.well-known/agent-skills/partner/index.json`);
    expect(names(manifest)).toEqual(["deploy-via-pr", "partner-only"]);
    expect(manifest.entries).toEqual(manifest.skills);
  });

  it("[skills-8.43] of a listing is filtered like any other", async () => {
    const url = `${base}/.well-known/agent-skills/partner/index.json`;
    expect(names(await manifestOf(url, ANY))).toEqual(["deploy-via-pr", "partner-only", "partner-secret"]);
  });

  it("[skills-8.44] of a listing names artifacts that are served under the listing", async () => {
    const [row] = (await manifestOf(`${base}/.well-known/agent-skills/partner/index.json`)).skills;
    expect(row.url).toBe(`${base}/.well-known/agent-skills/partner/skills/deploy-via-pr.md`);
    expect(await (await ask(row.url)).text()).toContain("The partner's own.");
  });

  it("[skills-8.45] in aggregate is the site's own, then its listings'", async () => {
    const { skills } = await manifestOf(base + INDEX);
    expect(skills[0].url).toBe(`${base}/skills/deploy-via-pr.md`);
    expect(skills[1].url).toBe(`${base}/.well-known/agent-skills/partner/skills/partner-only.md`);
  });

  it("[skills-8.46] holds nothing of another host's site", async () => {
    const other = await newSite();
    await publish(other, { skills: [await aSkill(other, "other-only")] });
    expect(names(await manifestOf(`https://${other.host}${INDEX}`))).toEqual(["other-only"]);
    expect(names(await manifestOf(base + INDEX))).not.toContain("other-only");
    expect((await ask(`${base}/skills/other-only.md`)).status).toBe(404);
  });

  it("[skills-8.47] in aggregate shows an authenticated caller the listings' hidden skills too", async () => {
    expect(names(await manifestOf(base + INDEX, ANY))).toContain("partner-secret");
  });

  it.each(["none/index.json", "partner/none.md", "partner/index.json/", "PARTNER/index.json", "index.json/x", ""])(
    "[skills-8.48] [skills-R19] there is nothing at …/agent-skills/%s",
    async (path) => {
      const response = await ask(`${base}/.well-known/agent-skills/${path}`);
      expect({ status: response.status, type: response.headers.get("Content-Type") }).toEqual({
        status: 404,
        type: "application/json",
      });
    },
  );

  it("[skills-8.41] [skills-8.49] [skills-R1] names addresses whose bytes have the digest it says", async () => {
    for (const path of [
      INDEX,
      "/.well-known/agent-skills/partner/index.json",
      "/.well-known/agent-skills/zeta/index.json",
    ]) {
      for (const { url, digest } of (await manifestOf(base + path, ANY)).skills) {
        const response = await ask(url, { headers: ANY });
        expect(response.status).toBe(200);
        expect(`sha256:${await sha256Hex(new Uint8Array(await response.arrayBuffer()))}`).toBe(digest);
      }
    }
  });

  it("[skills-8.50] is the site's own where there is no listing", async () => {
    const own = await newSite();
    await publish(own, { skills: [await aSkill(own, "only")] });
    expect(names(await manifestOf(`https://${own.host}${INDEX}`))).toEqual(["only"]);
  });

  it("[skills-8.23] a site without skills has no manifest, and its files are served all the same", async () => {
    const filesOnly = await newSite();
    await publish(filesOnly, { files: [{ url: "/a.txt", sha256: await upload(filesOnly, "a") }] });
    expect((await ask(`https://${filesOnly.host}${INDEX}`)).status).toBe(404);
    expect((await ask(`https://${filesOnly.host}/a.txt`)).status).toBe(200);
  });

  it("[skills-R7] a file for authenticated callers is for nobody else, by any address, though every skill is public", async () => {
    const mixed = await newSite();
    const sha256 = await upload(mixed, "secret");
    await publish(mixed, {
      skills: [await aSkill(mixed, "open")],
      files: [{ url: "/skills/a.txt", sha256, visibility: "authenticated" }],
    });
    for (const path of ["/skills/a.txt", `/skills/a.txt@${sha256}`]) {
      const url = `https://${mixed.host}${path}`;
      for (const method of ["GET", "HEAD"]) expect((await ask(url, { method })).status).toBe(404);
      const known = await ask(url, { headers: ANY });
      expect([known.status, await known.text()]).toEqual([200, "secret"]);
      expect(known.headers.get("Cache-Control")).toMatch(/^private/);
    }
  });

  it("[skills-R17] has the scheme and the port of the request, by name as by host", async () => {
    const byName = await manifestOf(`http://gate.example:8787/s/${site.name}${INDEX}`);
    expect(byName.skills[0].url).toBe(`http://gate.example:8787/s/${site.name}/skills/deploy-via-pr.md`);
    expect((await ask(byName.skills[0].url)).status).toBe(200);
  });

  it("[skills-R18] answers GET, HEAD and OPTIONS, and says so to every other method", async () => {
    for (const method of ["POST", "PUT", "DELETE", "PATCH"]) {
      for (const path of [INDEX, "/skills/deploy-via-pr.md", "/mcp-not-here"]) {
        const response = await ask(base + path, { method });
        expect({ status: response.status, allow: response.headers.get("Allow") }).toEqual({
          status: 405,
          allow: "GET, HEAD, OPTIONS",
        });
        expect(await response.json()).toMatchObject({ error: "method_not_allowed" });
      }
    }
    const preflight = await ask(base + INDEX, { method: "OPTIONS", headers: { Origin: "https://app.example" } });
    expect(preflight.status).toBe(204);
    expect(preflight.headers.get("Access-Control-Allow-Origin")).toBe("*");
  });

  it("[skills-R4] is conditional, by its tag and by its date", async () => {
    const { headers } = await ask(base + INDEX);
    const etag = headers.get("ETag") ?? "";
    expect(etag).toMatch(/^"sha256-[0-9a-f]{64}"$/);
    expect(headers.get("Cache-Control")).toBe("public, max-age=60");
    for (const tag of [etag, `W/${etag}`, `"x", ${etag}`, "*"]) {
      const held = await ask(base + INDEX, { headers: { "If-None-Match": tag } });
      expect({ status: held.status, body: await held.text(), etag: held.headers.get("ETag") }).toEqual({
        status: 304,
        body: "",
        etag,
      });
      expect(held.headers.get("Vary")).toBe("Authorization");
    }
    expect((await ask(base + INDEX, { headers: { "If-None-Match": '"x"' } })).status).toBe(200);
    const open = await newSite();
    await publish(open, { skills: [await aSkill(open, "only")] });
    const index = `https://${open.host}${INDEX}`;
    const since = { "If-Modified-Since": (await ask(index)).headers.get("Last-Modified") ?? "" };
    expect((await ask(index, { headers: since })).status).toBe(304);
    expect((await ask(index, { headers: { "If-Modified-Since": "Thu, 01 Jan 2026 00:00:00 GMT" } })).status).toBe(200);
    expect((await ask(index, { headers: { ...since, "If-None-Match": '"x"' } })).status).toBe(200);
  });

  it("has no date where none tells what a caller may have seen: of hidden skills, of quarantine, of another setting", async () => {
    const now = () => ({ "If-Modified-Since": new Date().toUTCString() });
    const mixed = await ask(base + INDEX, { headers: { ...ANY, ...now() } });
    expect([mixed.status, mixed.headers.get("Last-Modified")]).toEqual([200, null]);
    const open = await newSite();
    await publish(open, { skills: [await aSkill(open, "only")] });
    const index = `https://${open.host}${INDEX}`;
    expect((await ask(index, { headers: now() })).status).toBe(304);
    await call("PATCH", `/sites/${open.id}`, { entriesAlias: false });
    expect((await ask(index, { headers: now() })).status).toBe(200);
    const other = await newSite();
    await publish(other, { skills: [await aSkill(other, "only")] });
    await testEnv.DB.prepare("UPDATE site_blobs SET mismatches = 3 WHERE site_id = ?").bind(other.id).run();
    const quarantined = await ask(`https://${other.host}${INDEX}`, { headers: now() });
    expect(await quarantined.json()).toMatchObject({ skills: [] });
  });

  it("for an authenticated caller is another representation, which no cache and no page keeps", async () => {
    const [anonymous, known] = [await ask(base + INDEX), await ask(base + INDEX, { headers: ANY })];
    expect(known.headers.get("ETag")).not.toBe(anonymous.headers.get("ETag"));
    expect(known.headers.get("Cache-Control")).toMatch(/^private, no-cache/);
    expect([
      anonymous.headers.get("Access-Control-Allow-Origin"),
      known.headers.get("Access-Control-Allow-Origin"),
    ]).toEqual(["*", null]);
    expect(known.headers.get("Vary")).toBe("Authorization");
  });

  it("answers HEAD with the headers of GET", async () => {
    const [get, head] = [await ask(base + INDEX), await ask(base + INDEX, { method: "HEAD" })];
    expect(head.headers.get("Content-Length")).toBe(String((await get.arrayBuffer()).byteLength));
    expect([head.headers.get("ETag"), await head.text()]).toEqual([get.headers.get("ETag"), ""]);
  });

  it("ignores the query, and is exact in its path", async () => {
    expect((await ask(`${base}${INDEX}?x=1`)).status).toBe(200);
    expect((await ask(`${base}/.well-known/agent-skills/INDEX.json`)).status).toBe(404);
    expect((await ask(`${base}/.well-known/%61gent-skills/index.json`)).status).toBe(200);
  });
});

describe("the hosts of a site", () => {
  it("answer nothing of the gateway's own", async () => {
    for (const path of ["/", "/metrics", "/admin", "/admin/api/v1/sites", "/s/x/a"]) {
      expect((await ask(base + path)).status).toBe(404);
    }
  });

  it("are never the operators'", async () => {
    expect((await ask(`https://admin.example/s/${site.name}${INDEX}`)).status).toBe(404);
    const refused = await call("POST", "/sites", { name: "x", hosts: ["admin.example"] }, { bindings: siteEnv });
    expect(refused.body).toMatchObject({ code: "bad_request", errors: [{ field: "hosts.0" }] });
    const own = await call("POST", "/sites", { name: "x", hosts: ["gate.example"] }, { bindings: siteEnv });
    expect(own.body).toMatchObject({ code: "bad_request" });
  });

  it("serve nothing that runs, whatever it is called", async () => {
    for (const url of [`${base}/data/x.html`, `${base}/skills/deploy-via-pr.md`, base + INDEX, `${base}/none`]) {
      const { headers } = await ask(url);
      expect(headers.get("Content-Security-Policy")).toMatch(/(?:^|; )sandbox$/);
      expect(headers.get("X-Content-Type-Options")).toBe("nosniff");
      expect(headers.get("Content-Type")).not.toContain("html");
    }
  });

  it("of a suspended site answer nothing", async () => {
    const own = await newSite();
    await publish(own, { skills: [await aSkill(own, "only")] });
    await call("PATCH", `/sites/${own.id}`, { status: "suspended" });
    expect((await ask(`https://${own.host}${INDEX}`)).status).toBe(404);
    await call("PATCH", `/sites/${own.id}`, { status: "active", entriesAlias: false });
    expect(Object.keys(await manifestOf(`https://${own.host}${INDEX}`))).toEqual(["$schema", "skills"]);
  });
});
