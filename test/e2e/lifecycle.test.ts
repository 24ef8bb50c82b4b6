import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runSkillgate } from "../../src/local/program.ts";
import { type FaultyPublisher, startFaultyPublisher } from "./faulty-publisher.ts";
import { startTwoGateways, type TwoGateways } from "./two-gateways.ts";

/** Policy may be this old; a little is added for the request that finds it too old. */
const POLICY_BOUND_MS = 5_000 + 200;
/** A copy of a release is served so long before anybody asks for a newer one; a little is added for the asking. */
const RELEASE_BOUND_MS = 15_000 + 500;
const STEP_MS = 100;

interface Version {
  readonly name: string;
  readonly scope: string | null;
  readonly toolSha256: string;
  readonly state: string;
}

interface Verification {
  readonly status: "intact" | "broken";
  readonly verifiedTo: number;
  readonly broken: { readonly seq: number; readonly reason: string } | null;
  readonly head: { readonly seq: number } | null;
  readonly unnoted: readonly number[];
}

interface Attested {
  readonly id: string;
  readonly skill: string;
}

/** The whole life of a publisher at a gateway, one step after the other: what `npm run e2e:lifecycle` shows. */
describe("from proposal to revocation", () => {
  let gateways: TwoGateways;
  let publisher: FaultyPublisher;
  let folder: string;
  let id: string;
  /** Of the attestations of the second version, by skill. */
  let newIds: Readonly<Record<string, string>>;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "skillgate-lifecycle-"));
    gateways = await startTwoGateways();
    publisher = await startFaultyPublisher();
  }, 180_000);

  afterAll(async () => {
    await gateways?.stop();
    await publisher?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  const admin = <T>(method: string, path: string, body?: object) =>
    gateways.administer(method, path, body) as Promise<T>;
  const probe = () =>
    admin<{ skills: readonly Version[]; rejected: readonly object[]; probedAt: number }>(
      "POST",
      `/origins/${id}/probe`,
    );
  const states = (skills: readonly Version[]) => skills.map(({ name, state }) => `${name} ${state}`);
  const ask = (isolate: 0 | 1) =>
    gateways.callers[isolate].send(publisher.origin, "tools/call", { name: "good", arguments: {} });

  /** The version that answers, or the HTTP status and code of the refusal. */
  async function answer(isolate: 0 | 1): Promise<unknown> {
    const { status, body } = await ask(isolate);
    const value = body?.result?.structuredContent;
    return value === undefined ? `${status} ${body?.error?.data?.code ?? body?.error?.code}` : value.version;
  }

  /** Milliseconds until an isolate answers so, from `since` on; at most the bound of the policy. */
  async function untilAnswers(isolate: 0 | 1, wanted: unknown, since: number): Promise<number> {
    for (;;) {
      const seen = await answer(isolate);
      const passed = performance.now() - since;
      if (seen === wanted) return passed;
      if (passed > POLICY_BOUND_MS) throw new Error(`After ${passed} ms the answer is still ${seen}.`);
      await pause();
    }
  }

  async function skillgate(...args: string[]): Promise<string> {
    const out: string[] = [];
    const complaints: string[] = [];
    const code = await runSkillgate(args, {
      print: (line) => out.push(line),
      report: (line) => complaints.push(line),
      env: { SKILLGATE_ADMIN_TOKEN: gateways.adminToken },
      cwd: folder,
      now: Date.now,
    });
    expect(code, complaints.join("\n")).toBe(0);
    return out.join("\n");
  }

  const verifyAudit = () => admin<Verification>("GET", "/audit/verify");

  /** What somebody with access to D1 could do. */
  async function database(statement: string, ...values: unknown[]): Promise<readonly Record<string, unknown>[]> {
    const { results } = await gateways.database
      .prepare(statement)
      .bind(...values)
      .all<Record<string, unknown>>();
    return results;
  }

  /** Signs all that the publisher serves and stores it in the gateway; answers the ids by skill. */
  async function signAll(): Promise<Readonly<Record<string, string>>> {
    const args = ["--all", "--key", "key.json", "--days", "30", "--upload", gateways.url];
    const { results } = JSON.parse(await skillgate("attest", "sign", publisher.origin, ...args)) as {
      results: readonly { readonly id: string; readonly standing: string }[];
    };
    expect(results.map(({ standing }) => standing)).toEqual(["attested", "attested"]);
    const stored = await Promise.all(results.map(({ id }) => admin<Attested>("GET", `/attestations/${id}`)));
    return Object.fromEntries(stored.map(({ skill, id }) => [skill, id]));
  }

  it("lint: the publisher passes", async () => {
    expect(await skillgate("lint", publisher.origin)).toContain("PASS: 2 skills");
  });

  it("propose: the origin is pending, and nobody may call it", async () => {
    ({ id } = await admin<{ id: string }>("POST", "/origins", { origin: publisher.origin }));
    expect(await answer(0)).toBe("403 origin_forbidden");
  });

  it("probe: shows what is there, nothing of it approved", async () => {
    const { skills, rejected } = await probe();
    expect(states(skills)).toEqual(["good waiting", "other waiting"]);
    expect(rejected).toEqual([]);
  });

  it("review: every source can be read", async () => {
    for (const { name, toolSha256 } of (await probe()).skills) {
      const path = `/origins/${id}/skills/${toolSha256}/source?name=${name}`;
      expect((await admin<{ source: string }>("GET", path)).source).toContain(`name: "${name}"`);
    }
  });

  it("sign: a reviewer vouches for both skills, and the gateway knows the reviewer", async () => {
    const [attester, publicKey] = splitKey(
      await skillgate("attest", "keygen", "--attester", "human:ada", "--out", "key.json"),
    );
    await admin("POST", "/reviewers", { attester, key: { kind: "ed25519", publicKey } });
    expect(Object.keys(await signAll())).toEqual(["good", "other"]);
  });

  it("activate: the call works, in the mode that wants attestations", async () => {
    await admin("PATCH", `/origins/${id}`, { attestationMode: "enforcing" });
    await admin("POST", `/origins/${id}/activate`, {});
    expect(await answer(0)).toBe(1);
    const { headers } = await ask(0);
    expect(headers["x-gw-attestations"]).toBe("attested=2,expired=0,invalid=0,unattested=0");
  });

  it("hold: the publisher changes the code, and the old version still answers when all copies are new", async () => {
    publisher.deploy(2);
    expect(states((await probe()).skills)).toEqual(["good waiting", "other waiting"]);
    // Not a call less: connections must not idle out, and no call may see the new code.
    for (const begin = performance.now(); performance.now() - begin < RELEASE_BOUND_MS; await pause()) {
      expect([await answer(0), await answer(1)]).toEqual([1, 1]);
    }
  });

  it("approve: the new version, signed and compared with the old one, answers within 5 s", async () => {
    newIds = await signAll();
    const { skills, probedAt } = await probe();
    const [good] = skills;
    const { hunks } = await admin<{ hunks: readonly { readonly lines: readonly string[] }[] }>(
      "GET",
      `/origins/${id}/skills/${good?.toolSha256}/diff?name=good`,
    );
    expect(
      hunks
        .flatMap(({ lines }) => lines.map((line) => line[0]))
        .join("")
        .trim(),
    ).toBe("-+");
    await admin("POST", `/origins/${id}/approve`, {
      skills: skills.map(({ scope, name, toolSha256 }) => ({ scope, name, toolSha256 })),
      probedAt,
    });
    const ms = await untilAnswers(1, 2, performance.now());
    console.log(`The approved version answers in a second isolate after ${Math.round(ms)} ms.`);
  });

  it("revoke: the call is refused within 5 s in a second isolate, and at once in the one that was told", async () => {
    await admin("POST", `/attestations/${newIds.good}/revoke`, { reason: "The reviewer took it back." });
    const since = performance.now();
    const refused = "200 -32602";
    expect(await answer(0)).toBe(refused);
    const ms = await untilAnswers(1, refused, since);
    console.log(`The revocation is in force in a second isolate after ${Math.round(ms)} ms.`);
    expect((await gateways.callers[1].send(publisher.origin, "tools/list")).body?.result?.tools).toMatchObject([
      { name: "other" },
    ]);
  });

  it("audit: the chain verifies up to its signed head, and tells every step of the way", async () => {
    const { status, verifiedTo, head, unnoted } = await verifyAudit();
    expect({ status, verifiedTo, unnoted }).toEqual({ status: "intact", verifiedTo: head?.seq, unnoted: [] });
    const { items } = await admin<{ items: readonly { readonly action: string }[] }>("GET", "/audit?limit=100");
    expect(items.map(({ action }) => action).reverse()).toEqual(
      expect.arrayContaining([
        "origin.create",
        "origin.probe",
        "reviewer.create",
        "attestation.create",
        "origin.update",
        "origin.activate",
        "skill.approve",
        "revocation.create",
      ]),
    );
  });

  it("audit: a row that was changed behind the API's back is named", async () => {
    const change = (from: string, to: string) =>
      database("UPDATE audit_log SET detail = replace(detail, ?, ?) WHERE action = 'reviewer.create'", from, to);
    const [row] = await database("SELECT seq FROM audit_log WHERE action = 'reviewer.create'");
    await change("human:ada", "human:eve");
    expect((await verifyAudit()).broken).toEqual({ seq: row?.seq, reason: "changed_row" });
    await change("human:eve", "human:ada");
    expect((await verifyAudit()).status).toBe("intact");
  });

  it("audit: a tail that was cut off is named", async () => {
    const { verifiedTo } = await verifyAudit();
    await database("DELETE FROM audit_log WHERE seq > ?", verifiedTo - 2);
    expect((await verifyAudit()).broken).toEqual({ seq: verifiedTo - 1, reason: "missing_row" });
  });
});

const pause = () => new Promise((resolve) => setTimeout(resolve, STEP_MS));

function splitKey(line: string): readonly [string, string] {
  const at = line.indexOf("=");
  return [line.slice(0, at), line.slice(at + 1)];
}
