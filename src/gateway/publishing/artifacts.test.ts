import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { addClient, addOrigin } from "../../../test/workerd/gateway-fixture.ts";
import { sha256Hex } from "../../core/integrity.ts";
import { ADMIN_TOKEN, call, freshDatabase, testEnv } from "../admin/fixture.ts";
import { createToken } from "../auth/token.ts";
import { aSkill, ask, manifestOf, newSite, publish, skillText, type TestSite, tamper, upload } from "./fixture.ts";

const INDEX = "/.well-known/agent-skills/index.json";
const ANY = { Authorization: "Bearer demo-token" };

beforeAll(freshDatabase);

let site: TestSite;
let base: string;
let sha256: string;

beforeEach(async () => {
  site = await newSite();
  base = `https://${site.host}`;
  const skills = [await aSkill(site, "deploy"), await aSkill(site, "secret", { visibility: "authenticated" })];
  sha256 = skills[0]?.sha256 ?? "";
  await publish(site, { skills });
});

afterEach(() => vi.restoreAllMocks());

describe("an artifact", () => {
  it("[skills-8.39] is served as it was uploaded, under the type it has", async () => {
    const response = await ask(`${base}/skills/deploy.md`);
    expect(response.headers.get("Content-Type")).toBe("text/markdown; charset=utf-8");
    expect(response.headers.get("ETag")).toBe(`"sha256-${sha256}"`);
    expect(response.headers.get("Cache-Control")).toBe("public, max-age=300, must-revalidate, no-transform");
    expect(response.headers.get("Access-Control-Allow-Origin")).toBe("*");
    const bytes = new Uint8Array(await response.arrayBuffer());
    expect(new TextDecoder().decode(bytes)).toBe(skillText("deploy", "Does deploy."));
    const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
    expect(response.headers.get("Content-Digest")).toBe(`sha-256=:${btoa(String.fromCharCode(...digest))}:`);
  });

  it("[skills-8.1] is what a manifest names with its digest, for a skill whose bytes were just uploaded", async () => {
    expect((await manifestOf(base + INDEX)).skills).toMatchObject([{ name: "deploy", digest: `sha256:${sha256}` }]);
  });

  it("[skills-8.2] whose bytes were never uploaded is not published, and the refusal names it", async () => {
    const missing = { name: "x", type: "skill-md", description: "x", url: "/skills/x.md", sha256: "0".repeat(64) };
    const { status, body } = await publish(site, { skills: [missing] });
    expect({ status, code: body.code, errors: body.errors }).toMatchObject({
      status: 400,
      code: "bad_publication",
      errors: [{ field: "skills.0", reason: "unknown_digest" }],
    });
    expect((await manifestOf(base + INDEX)).skills).toHaveLength(1);
  });

  it("answers HEAD and If-None-Match, and both only with sound bytes", async () => {
    const head = await ask(`${base}/skills/deploy.md`, { method: "HEAD" });
    expect([head.status, head.headers.get("Content-Length"), await head.text()]).toEqual([
      200,
      String(skillText("deploy", "Does deploy.").length),
      "",
    ]);
    const held = { "If-None-Match": `W/"sha256-${sha256}"` };
    expect((await ask(`${base}/skills/deploy.md`, { headers: held })).status).toBe(304);
    await tamper(site, sha256, "other");
    expect((await ask(`${base}/skills/deploy.md`, { headers: held })).status).toBe(503);
    expect((await ask(`${base}/skills/deploy.md`, { method: "HEAD" })).status).toBe(503);
  });

  describe("of more than is held in memory", () => {
    const TEXT = `# Large\n${"0123456789abcdef".repeat(20_000)}`;
    let large: string;

    beforeEach(async () => {
      large = await upload(site, TEXT);
      const files = [{ url: "/large.md", sha256: large }];
      expect((await publish(site, { skills: [await aSkill(site, "deploy")], files })).status).toBe(201);
    });

    it("is served as it was uploaded, with its length", async () => {
      const response = await ask(`${base}/large.md`);
      expect([response.status, response.headers.get("ETag")]).toEqual([200, `"sha256-${large}"`]);
      expect((await response.text()) === TEXT).toBe(true);
      const head = await ask(`${base}/large.md`, { method: "HEAD" });
      expect([head.headers.get("Content-Length"), await head.text()]).toEqual([String(TEXT.length), ""]);
      const held = await ask(`${base}/large.md`, { headers: { "If-None-Match": `"sha256-${large}"` } });
      expect([held.status, await held.text()]).toEqual([304, ""]);
    });

    it("is not served where it is another", async () => {
      await tamper(site, large, TEXT.replace("# Large", "# Other"));
      for (const method of ["GET", "HEAD"]) expect((await ask(`${base}/large.md`, { method })).status).toBe(503);
    });

    it("is not served where it became another after its digest was taken", async () => {
      const replacing = {
        get: async (key: string) => {
          const object = await testEnv.SITES.get(key);
          await testEnv.SITES.put(key, TEXT.replace("# Large", "# Other"));
          return object;
        },
      };
      const response = await ask(`${base}/large.md`, {}, { SITES: replacing });
      expect([response.status, await response.text()]).toEqual([503, '{"error":"service unavailable"}']);
    });

    it("is served where the very bytes were uploaded again after their digest was taken", async () => {
      let uploads = 0;
      const repeating = {
        get: async (key: string) => {
          const object = await testEnv.SITES.get(key);
          if (uploads++ === 0) await testEnv.SITES.put(key, TEXT);
          return object;
        },
      };
      const response = await ask(`${base}/large.md`, {}, { SITES: repeating });
      expect([response.status, (await response.text()) === TEXT]).toEqual([200, true]);
    });

    it("is not served where the bucket fails after its digest was taken", async () => {
      let reads = 0;
      const failing = {
        get: async (key: string) => {
          if (reads++ > 0) throw new Error("The bucket does not answer.");
          return testEnv.SITES.get(key);
        },
      };
      expect((await ask(`${base}/large.md`, {}, { SITES: failing })).status).toBe(503);
      expect(reads).toBe(2);
    });
  });

  it("[skills-R12] is found under every spelling of its path", async () => {
    expect((await ask(`${base}/skills/%64eploy.md`)).status).toBe(200);
    expect((await ask(`${base}/Skills/deploy.md`)).status).toBe(404);
  });
});

describe("[skills-R7] an artifact for authenticated callers", () => {
  it("is for anonymous ones as if it were not there", async () => {
    const [hidden, unknown] = [await ask(`${base}/skills/secret.md`), await ask(`${base}/skills/none.md`)];
    expect(hidden.status).toBe(404);
    expect(await hidden.text()).toBe(await unknown.text());
    const named = ([name]: [string, string]) => name !== "x-request-id";
    expect([...hidden.headers].filter(named)).toEqual([...unknown.headers].filter(named));
  });

  it("is kept by no cache, and read by no page", async () => {
    const { status, headers } = await ask(`${base}/skills/secret.md`, { headers: ANY });
    expect(status).toBe(200);
    expect(headers.get("Cache-Control")).toBe("private, no-cache, no-transform");
    expect([headers.get("Vary"), headers.get("Access-Control-Allow-Origin")]).toEqual(["Authorization", null]);
  });

  it("is not reached by its digest either", async () => {
    const digest = await sha256Hex(new TextEncoder().encode(skillText("secret", "Does secret.")));
    expect((await ask(`${base}/skills/secret.md@${digest}`)).status).toBe(404);
    expect((await ask(`${base}/skills/secret.md@${digest}`, { headers: ANY })).status).toBe(200);
  });

  it("is not reached by a digest or a place that it had when it was for everybody", async () => {
    const before = `/skills/deploy.md@${sha256}`;
    const other = await upload(site, skillText("deploy", "Does deploy.", "Changed."));
    const entry = { name: "deploy", type: "skill-md", description: "Does deploy." };
    for (const [skill, status] of [
      [{ ...entry, url: "/skills/moved.md", sha256 }, 200],
      [{ ...entry, url: "/skills/moved.md", sha256, visibility: "authenticated" }, 404],
      [{ ...entry, url: "/skills/again.md", sha256: other, visibility: "authenticated" }, 404],
      [{ ...entry, name: "renamed", url: "/skills/again.md", sha256: other }, 404],
      [{ ...entry, url: "/skills/again.md", sha256: other }, 200],
    ] as const) {
      expect((await publish(site, { skills: [skill] })).status).toBe(201);
      expect((await ask(base + before)).status, JSON.stringify(skill)).toBe(status);
      expect((await ask(base + before, { headers: ANY })).status).toBe(200);
    }
  });

  it("is for no caller of the operators' API, where the site verifies", async () => {
    await call("PATCH", `/sites/${site.id}`, { authenticatedMeans: "verified" });
    const response = await ask(`${base}/skills/secret.md`, { headers: { Authorization: `Bearer ${ADMIN_TOKEN}` } });
    expect(response.status).toBe(404);
  });
});

describe("[skills-R7] where a site verifies, what is for authenticated callers is shown", () => {
  const byName = () => `https://gate.example/s/${site.name}`;
  const header = (token: string) => ({ Authorization: `Bearer ${token}` });
  /** What is seen at the site's host and under its name on the gateway's: the status of the artifact, of its pinned address, and how many skills are listed. */
  const seen = async (headers: Record<string, string>) => {
    const digest = await sha256Hex(new TextEncoder().encode(skillText("secret", "Does secret.")));
    const at = async (address: string) => [
      (await ask(`${address}/skills/secret.md`, { headers })).status,
      (await ask(`${address}/skills/secret.md@${digest}`, { headers })).status,
      (await manifestOf(address + INDEX, headers)).skills.length,
    ];
    return { host: await at(base), name: await at(byName()) };
  };
  const NOTHING = [404, 404, 1];
  const ALL = [200, 200, 2];

  beforeEach(async () => {
    await call("PATCH", `/sites/${site.id}`, { authenticatedMeans: "verified" });
  });

  it("to a client that may use every origin, and to one that is granted the site's by the address it asks at", async () => {
    expect(await seen(header((await addClient()).token))).toEqual({ host: ALL, name: ALL });
    const host = await addOrigin("x", "active", { origin: base });
    const name = await addOrigin("x", "active", { origin: byName() });
    expect(await seen(header((await addClient({ grants: [host.id] })).token))).toEqual({ host: ALL, name: NOTHING });
    expect(await seen(header((await addClient({ grants: [name.id] })).token))).toEqual({ host: NOTHING, name: ALL });
    const manifest = await ask(base + INDEX, { headers: header((await addClient()).token) });
    expect(manifest.headers.get("X-Gw-Client")).toBeNull();
  });

  it.each<[string, () => Promise<Record<string, string>>]>([
    ["without a credential", async () => ({})],
    ["whose header is no bearer token", async () => ({ Authorization: "Basic ZGVtbzpkZW1v" })],
    ["with a word of its own", async () => ANY],
    ["with a token that nobody issued", async () => header(createToken())],
    ["with an expired token", async () => header((await addClient({ expiresAt: Date.now() - 1 })).token)],
    ["with a revoked token", async () => header((await addClient({ revokedAt: Date.now() - 1 })).token)],
    ["of a suspended client", async () => header((await addClient({ status: "suspended" })).token)],
    ["of a client that has no grant", async () => header((await addClient({ grants: [] })).token)],
    [
      "of a client that is granted another site",
      async () => {
        const other = await addOrigin("x", "active", { origin: `https://${(await newSite()).host}` });
        return header((await addClient({ grants: [other.id] })).token);
      },
    ],
    [
      "of a client that is granted the site's origin, which is suspended",
      async () => {
        const { id } = await addOrigin("x", "suspended", { origin: base });
        return header((await addClient({ grants: [id] })).token);
      },
    ],
  ])("to no caller %s", async (_, headers) => {
    expect(await seen(await headers())).toEqual({ host: NOTHING, name: NOTHING });
  });
});

describe("bytes that are others than published", () => {
  const lines = () => {
    const written: Record<string, unknown>[] = [];
    vi.spyOn(console, "error").mockImplementation((line) => {
      const read = JSON.parse(String(line));
      if (read.event === "agent_skill.digest_mismatch") written.push(read);
    });
    return written;
  };
  const tampered = async () => {
    await tamper(site, sha256, "tampered");
    return sha256Hex(new TextEncoder().encode("tampered"));
  };
  const audited = async () =>
    (await call("GET", `/audit?subject=${site.id}`)).body.items
      .filter(({ action }: { action: string }) => action.startsWith("agent_skill."))
      .map(({ action }: { action: string }) => action);

  it("[skills-8.18] [skills-R29] are not served: the answer is generic, kept by nobody, and tells no digest", async () => {
    lines();
    const observed = await tampered();
    const response = await ask(`${base}/skills/deploy.md`);
    expect(response.status).toBe(503);
    expect(response.headers.get("Cache-Control")).toBe("no-store");
    expect(response.headers.get("Retry-After")).toBe("60");
    expect(response.headers.get("Content-Type")).toBe("application/json");
    const text = JSON.stringify([...response.headers]) + (await response.clone().text());
    expect(await response.text()).toBe('{"error":"service unavailable"}');
    expect(text).not.toContain(sha256);
    expect(text).not.toContain(observed);
  });

  it("[skills-R28] are told of once a request, HEAD included, with the documented fields", async () => {
    const written = lines();
    const observed = await tampered();
    await ask(`${base}/skills/deploy.md`, { method: "HEAD" });
    expect(written).toEqual([
      {
        event: "agent_skill.digest_mismatch",
        skill_name: "deploy",
        hostname: site.host,
        expected_digest: sha256,
        observed_digest: observed,
        caller: "anonymous",
        origin: site.name,
        tenant_id: site.id,
        request_id: expect.any(String),
        ts: expect.any(Number),
      },
    ]);
    await ask(`${base}/skills/deploy.md`);
    expect(written).toHaveLength(2);
    expect(await audited()).toEqual(["agent_skill.digest_mismatch", "agent_skill.digest_mismatch"]);
  });

  it("[skills-R27] are counted by skill and site, and under the documented name", async () => {
    lines();
    await tampered();
    await ask(`${base}/skills/deploy.md`);
    const headers = { Authorization: `Bearer ${ADMIN_TOKEN}` };
    const metrics = await (await ask("https://admin.example/metrics", { headers })).text();
    expect(metrics).toContain(`skillgate_agent_skill_digest_mismatch_total{skill="deploy",site="${site.name}"} 1`);
    expect(metrics).toMatch(/^sbproxy_agent_skill_digest_mismatch_total\{skill="deploy"\} \d+$/m);
  });

  it("are in quarantine after the third time: out of the manifest, until they are uploaded again", async () => {
    lines();
    await tampered();
    for (let times = 0; times < 4; times += 1) await ask(`${base}/skills/deploy.md`);
    expect(await audited()).toEqual([
      "agent_skill.quarantine",
      "agent_skill.digest_mismatch",
      "agent_skill.digest_mismatch",
    ]);
    expect((await manifestOf(base + INDEX)).skills).toEqual([]);
    expect((await call("GET", `/sites/${site.id}/mismatches`)).body.items).toMatchObject([{ sha256, mismatches: 3 }]);
    await testEnv.SITES.put(`sites/${site.id}/${sha256}`, skillText("deploy", "Does deploy."));
    expect((await ask(`${base}/skills/deploy.md`)).status).toBe(503);
    await upload(site, skillText("deploy", "Does deploy."));
    expect((await ask(`${base}/skills/deploy.md`)).status).toBe(200);
    expect((await manifestOf(base + INDEX)).skills).toHaveLength(1);
    expect((await audited())[0]).toBe("agent_skill.repair");
  });

  it("may also be gone", async () => {
    const written = lines();
    await tamper(site, sha256, null);
    expect((await ask(`${base}/skills/deploy.md`)).status).toBe(503);
    expect(written).toMatchObject([{ observed_digest: "absent" }]);
  });

  it("of another tenant with the same name are another series and another fault", async () => {
    lines();
    const other = await newSite();
    await publish(other, { skills: [await aSkill(other, "deploy")] });
    await tampered();
    expect((await ask(`${base}/skills/deploy.md`)).status).toBe(503);
    expect((await ask(`https://${other.host}/skills/deploy.md`)).status).toBe(200);
  });

  it("are not served while the bucket fails, and nobody is blamed", async () => {
    const written = lines();
    const SITES = { get: () => Promise.reject(new Error("R2 is down.")) };
    expect((await ask(`${base}/skills/deploy.md`, {}, { SITES })).status).toBe(503);
    expect(written).toEqual([]);
  });
});
