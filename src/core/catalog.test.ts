import { beforeAll, describe, expect, it } from "vitest";
import type { Attestation } from "./attestation/attestation.ts";
import { type SignatureFact, verifySignature } from "./attestation/facts.ts";
import { policyWith, trustWith } from "./attestation/fixture/policies.ts";
import { at, createReviewer, day, forged, type TestReviewer } from "./attestation/fixture/reviewing.ts";
import { embeddedTrustRoot } from "./attestation/trust-root.ts";
import { openQuestions, type Trust } from "./attestation/verdict.ts";
import { type ApprovedVersion, admit, type Catalog, type Policy, skillKey } from "./catalog.ts";
import type { Release, ReleaseSkill } from "./discovery/release.ts";
import { NO_INDEX } from "./discovery/skills-index.ts";
import type { Sha256Hex } from "./integrity.ts";
import type { CanonicalOrigin } from "./origin.ts";
import { toPublicName } from "./skill.ts";

const ORIGIN = "https://publisher.example" as CanonicalOrigin;
const NOW = at("2026-08-15T12:00:00Z");
/** The hash of a version of a script. */
const sha = (version: string) => version.repeat(64) as Sha256Hex;

function skill(name: string, version = "a", scope: string | null = null): ReleaseSkill {
  const recipe = { sha256: sha("0"), text: `# ${name} ${version}` };
  return { name, scope, publicName: toPublicName({ name, scope }), toolSha256: sha(version), recipe } as ReleaseSkill;
}

function release(skills: readonly ReleaseSkill[], more: Partial<Release> = {}): Release {
  const nothing = {
    memories: [],
    prose: [],
    held: [],
    confirmed: [],
    attestations: [],
    facts: [],
    index: NO_INDEX,
    rejected: [],
  };
  return { origin: ORIGIN, fetchedAt: 5, skills, ...nothing, ...more };
}

const served = ({ skills }: Catalog) =>
  skills.map(({ skill: { publicName, toolSha256 }, verdict, flag }) =>
    [publicName, toolSha256[0], verdict, flag].filter((part) => part !== null).join(" "),
  );
const withheld = (catalog: Catalog) =>
  catalog.withheld.map(
    ({ scope, name, toolSha256, code }) => `${toPublicName({ scope, name })} ${toolSha256[0]} ${code}`,
  );

describe("an origin", () => {
  it("has every skill admitted in document order where it is active and granted, and nothing otherwise", () => {
    const skills = [skill("zulu"), skill("alpha")];
    for (const status of ["pending", "active", "suspended", "revoked"] as const) {
      for (const granted of [true, false]) {
        const catalog = admit(release(skills), policyWith({ status, granted }), NOW);
        const admitted = status === "active" && granted;
        expect(served(catalog)).toEqual(admitted ? ["zulu a", "alpha a"] : []);
        expect(catalog).toMatchObject({ origin: ORIGIN, fetchedAt: 5, withheld: [] });
      }
    }
  });

  it("is decided once for a release, a policy and a day, and changes neither", () => {
    const [facts, policy] = [Object.freeze(release([skill("sum")])), Object.freeze(policyWith())];
    const first = admit(facts, policy, NOW);
    expect(admit(facts, policy, NOW + 60_000)).toBe(first);
    expect(admit(facts, policyWith(), NOW)).not.toBe(first);
    expect(admit(facts, policyWith(), NOW)).toEqual(first);
  });
});

describe("attestations", () => {
  let ada: TestReviewer;

  beforeAll(async () => {
    ada = await createReviewer("human:ada");
  });

  const of = (name: string, version = "a", more: { signedOn?: string; validUntil?: string } = {}) =>
    ada.sign({
      skill: name,
      toolSha256: sha(version),
      signedOn: day(more.signedOn ?? "2026-07-01"),
      validUntil: day(more.validUntil ?? "2027-06-30"),
    });

  /** A release whose facts a hub has established, for the reviewers in `trust`. */
  async function attestedRelease(skills: readonly ReleaseSkill[], attestations: readonly Attestation[]) {
    const trust = trustWith({ reviewers: [ada.reviewer] });
    const judged = skills.map(({ name, toolSha256 }) => ({ origin: ORIGIN, name, toolSha256 }));
    const evidence = attestations.map((attestation) => ({ attestation, storedAt: null }));
    const facts: [string, SignatureFact][] = [];
    for (const { factKey, attestation, key } of openQuestions(judged, evidence, new Map(), trust)) {
      facts.push([factKey, await verifySignature(attestation, key, embeddedTrustRoot())]);
    }
    return release(skills, { attestations, facts });
  }

  const policy = (mode: Policy["mode"], trust: Partial<Trust> = {}, more: Partial<Policy> = {}) =>
    policyWith({ mode, trust: trustWith({ reviewers: [ada.reviewer], ...trust }), ...more });

  const verdicts = async () => {
    const skills = ["good", "old", "bad", "none"].map((name) => skill(name));
    const over = await of("old", "a", { validUntil: "2026-08-01" });
    return attestedRelease(skills, [await of("good"), over, await forged(await of("bad"))]);
  };

  it("are neither shown nor counted in mode off", async () => {
    const catalog = admit(await verdicts(), policy("off"), NOW);
    expect(served(catalog)).toEqual(["good a", "old a", "bad a", "none a"]);
    expect(catalog.counts).toEqual({ attested: 0, expired: 0, invalid: 0, unattested: 0 });
  });

  it("are shown in mode advisory, where everything is served", async () => {
    const catalog = admit(await verdicts(), policy("advisory"), NOW);
    expect(served(catalog)).toEqual(["good a attested", "old a expired", "bad a invalid", "none a unattested"]);
    expect(catalog.counts).toEqual({ attested: 1, expired: 1, invalid: 1, unattested: 1 });
  });

  it("decide in mode enforcing, and are counted before they do", async () => {
    const catalog = admit(await verdicts(), policy("enforcing"), NOW);
    expect(served(catalog)).toEqual(["good a attested"]);
    expect(withheld(catalog)).toEqual(["old a not_attested", "bad a not_attested", "none a not_attested"]);
    expect(catalog.counts).toEqual({ attested: 1, expired: 1, invalid: 1, unattested: 1 });
  });

  it("[10.1-C] of one scope's code admit no other code under the same name", async () => {
    const lines = [skill("s", "a", "alpha"), skill("s", "b", "beta")];
    for (const skills of [lines, lines.toReversed()]) {
      const found = await attestedRelease(skills, [await of("s", "b")]);
      const catalog = admit(found, policy("enforcing"), NOW);
      expect(served(catalog)).toEqual(["beta__s b attested"]);
      expect(withheld(catalog)).toEqual(["alpha__s a not_attested"]);
      expect(catalog.counts).toMatchObject({ attested: 1, unattested: 1 });
    }
  });

  it("admit the same code in every scope, for scopes are not signed", async () => {
    const skills = [skill("s", "a"), skill("s", "a", "alpha"), skill("s", "a", "beta")];
    const catalog = admit(await attestedRelease(skills, [await of("s")]), policy("enforcing"), NOW);
    expect(served(catalog)).toEqual(["s a attested", "alpha__s a attested", "beta__s a attested"]);
  });

  it("[10.1-I] of one name admit no other name, not even for the very same code", async () => {
    const found = await attestedRelease([skill("good"), skill("evil"), skill("alpha__good")], [await of("good")]);
    const catalog = admit(found, policy("advisory"), NOW);
    expect(served(catalog)).toEqual(["good a attested", "evil a unattested", "alpha__good a unattested"]);
  });

  it("of the publisher and of the gateway's own store count together", async () => {
    const own = await of("own");
    const stored = [{ attestation: own, storedAt: at("2026-07-02") }];
    const answered = await attestedRelease([skill("own")], [own]);
    const found = await attestedRelease([skill("own"), skill("theirs")], [await of("theirs")]);
    const more = { stored, facts: new Map(answered.facts) };
    expect(served(admit(found, policy("enforcing", {}, more), NOW))).toEqual(["own a attested", "theirs a attested"]);
    const retired = { reviewers: [{ ...ada.reviewer, retiredAt: at("2026-08-01") }] };
    expect(served(admit(found, policy("enforcing", retired, more), NOW))).toEqual(["own a attested"]);
  });

  it("lose their force at midnight UTC, by a revocation and with their reviewer, of the release as it is", async () => {
    const attestation = await of("sum", "a", { validUntil: "2026-08-15" });
    const found = await attestedRelease([skill("sum")], [attestation]);
    const enforcing = policy("enforcing");
    const names = (decided: Policy, now = NOW) => served(admit(found, decided, now));
    expect(names(enforcing, at("2026-08-15T23:59:59.999Z"))).toEqual(["sum a attested"]);
    expect(names(enforcing, at("2026-08-16T00:00:00Z"))).toEqual([]);
    expect(names(policy("enforcing", { revokedAttestations: new Set([attestation.id]) }))).toEqual([]);
    expect(names(policy("enforcing", { reviewers: [] }))).toEqual([]);
    expect(names(policy("enforcing", { reviewers: [{ ...ada.reviewer, revokedAt: NOW }] }))).toEqual([]);
    expect(names(enforcing)).toEqual(["sum a attested"]);
  });

  it("whose signature nobody has looked at yet admit nothing", async () => {
    const found = { ...(await attestedRelease([skill("sum")], [await of("sum")])), facts: [] };
    expect(served(admit(found, policy("enforcing"), NOW))).toEqual([]);
  });
});

describe("code that changed", () => {
  const approvals = (...versions: string[]): readonly ApprovedVersion[] =>
    versions.map((version, index) => ({ toolSha256: sha(version), approvedAt: 100 - index }));
  const pinned = (pin: Policy["pin"], versions: readonly string[], more: Partial<Policy> = {}) =>
    policyWith({ pin, approved: new Map([[skillKey({ scope: null, name: "sum" }), approvals(...versions)]]), ...more });
  const confirmed = [toPublicName({ scope: null, name: "sum" })];
  const changedRelease = release([skill("sum", "c")], { held: [skill("sum", "b")], confirmed });

  it("is served at once without a pin, and with a flag under warn until it is approved", () => {
    expect(served(admit(changedRelease, pinned("off", ["b"]), NOW))).toEqual(["sum c"]);
    expect(served(admit(changedRelease, pinned("warn", ["b"]), NOW))).toEqual(["sum c unapproved"]);
    expect(served(admit(changedRelease, pinned("warn", ["c", "b"]), NOW))).toEqual(["sum c"]);
  });

  it("is held: the version approved last is served until the new one is approved", () => {
    const held = admit(changedRelease, pinned("hold", ["b", "a"]), NOW);
    expect(served(held)).toEqual(["sum b"]);
    expect(held.skills[0]?.skill.recipe?.text).toBe("# sum b");
    expect(served(admit(changedRelease, pinned("hold", ["c", "b"]), NOW))).toEqual(["sum c"]);
  });

  it("is served as it was approved, where its recipe or definition changed and its code did not", () => {
    const recipe = { sha256: sha("1"), text: "# approved", verified: true };
    const found = release([skill("sum", "b")], { held: [{ ...skill("sum", "b"), recipe }] });
    const recipes = (pin: Policy["pin"], versions: readonly string[]) =>
      admit(found, pinned(pin, versions), NOW).skills.map((one) => one.skill.recipe?.text);
    expect(recipes("hold", ["b"])).toEqual(["# approved"]);
    expect(recipes("hold", ["a", "b"])).toEqual(["# approved"]);
    expect(recipes("warn", ["b"])).toEqual(["# sum b"]);
    expect(recipes("off", ["b"])).toEqual(["# sum b"]);
  });

  it("whose hash is approved is served only where its release confirms the rest of it", () => {
    const unconfirmed = release([skill("sum", "b")]);
    for (const pin of ["off", "warn"] as const) {
      expect(served(admit(unconfirmed, pinned(pin, ["b"]), NOW))).toEqual(["sum b"]);
    }
    const catalog = admit(unconfirmed, pinned("hold", ["b", "a"]), NOW);
    expect([...served(catalog), ...withheld(catalog)]).toEqual(["sum b unconfirmed"]);
    // Another approved version is as good as before.
    const older = release([skill("sum", "b")], { held: [skill("sum", "a")] });
    expect(served(admit(older, pinned("hold", ["b", "a"]), NOW))).toEqual(["sum a"]);
  });

  it("is served under no pin once it is rejected", () => {
    const rejected = new Set([sha("c")]);
    for (const pin of ["off", "warn"] as const) {
      const catalog = admit(changedRelease, pinned(pin, ["b"], { rejected }), NOW);
      expect([...served(catalog), ...withheld(catalog)]).toEqual(["sum c rejected"]);
    }
    expect(served(admit(changedRelease, pinned("hold", ["b"], { rejected }), NOW))).toEqual(["sum b"]);
    expect(withheld(admit(changedRelease, pinned("hold", [], { rejected }), NOW))).toEqual(["sum c rejected"]);
    // The same code under another name, or in another scope, is as bad, unless it is approved there.
    const other = release([skill("sum", "c", "x"), skill("more", "c")], { confirmed });
    const more = { rejected, approved: new Map([[skillKey(skill("more")), approvals("c")]]) };
    const catalog = admit(other, policyWith({ pin: "warn", ...more }), NOW);
    expect([...served(catalog), ...withheld(catalog)]).toEqual(["more c", "x__sum c rejected"]);
  });

  it("is held back where no approved version is at hand", () => {
    const found = release([skill("sum", "c"), skill("new", "n")]);
    const catalog = admit(found, pinned("hold", ["b"]), NOW);
    expect(served(catalog)).toEqual([]);
    expect(withheld(catalog)).toEqual(["sum c awaiting_approval", "new n awaiting_approval"]);
  });

  it("goes back to an approved version without a new approval", () => {
    const back = release([skill("sum", "a")], { held: [skill("sum", "b")], confirmed });
    expect(served(admit(back, pinned("hold", ["b", "a"]), NOW))).toEqual(["sum a"]);
  });

  it("of one scope is not approved by the approval of another, nor replaced by its version", () => {
    const scoped = release([skill("sum", "b", "kb"), skill("sum", "c", "x")], { held: [skill("sum", "b")] });
    const catalog = admit(scoped, pinned("hold", ["b", "c"]), NOW);
    expect(withheld(catalog)).toEqual(["kb__sum b awaiting_approval", "x__sum c awaiting_approval"]);
  });

  it("of a skill that llms.txt no longer lists is gone, approved or not", () => {
    const catalog = admit(release([skill("other", "o")], { held: [skill("sum", "b")] }), pinned("hold", ["b"]), NOW);
    expect([...served(catalog), ...withheld(catalog)]).toEqual(["other o awaiting_approval"]);
  });

  it("and cannot be had is held too, last, and under hold alone", () => {
    const rejected = [{ scope: null, name: "sum", subject: "skill", code: "hash_mismatch", message: "" }] as const;
    const broken = release([skill("other", "o")], { held: [skill("sum", "b")], rejected });
    expect(served(admit(broken, pinned("hold", ["b"]), NOW))).toEqual(["sum b"]);
    expect(served(admit(broken, pinned("off", ["b"]), NOW))).toEqual(["other o"]);
  });

  it("runs nowhere once its hash is revoked, in any mode, and no older version takes its place", () => {
    const revoked = (version: string) => ({ trust: trustWith({ revokedHashes: new Set([sha(version)]) }) });
    for (const mode of ["off", "advisory", "enforcing"] as const) {
      for (const pin of ["off", "warn", "hold"] as const) {
        const catalog = admit(changedRelease, pinned(pin, ["c", "b"], { mode, ...revoked("c") }), NOW);
        expect(withheld(catalog)).toEqual(["sum c revoked_hash"]);
        expect(catalog.skills).toEqual([]);
      }
    }
    const held = admit(changedRelease, pinned("hold", ["b", "a"], revoked("b")), NOW);
    expect(withheld(held)).toEqual(["sum b revoked_hash"]);
    // What nobody approved was not served before its revocation either.
    expect(served(admit(changedRelease, pinned("hold", ["b"], revoked("c")), NOW))).toEqual(["sum b"]);
    // A hub may still hold what was approved before the revoked version.
    const behind = admit(changedRelease, pinned("hold", ["d", "b"], revoked("d")), NOW);
    expect(withheld(behind)).toEqual(["sum c awaiting_approval"]);
  });
});

describe("a client's rules", () => {
  const held = skill("held", "b");
  const skills = [skill("sum"), skill("get", "a", "shop"), skill("held")];
  const rejected = [
    { ...{ scope: null, name: "gone" }, subject: "skill", code: "hash_mismatch", message: "" },
  ] as const;
  const all = release(skills, { held: [skill("gone")], rejected });
  const rules = (allow: readonly string[] | null, ...deny: string[]) => ({
    allow: allow === null ? null : new Set(allow),
    deny: new Set(deny),
  });
  const names = (catalog: Catalog) => catalog.skills.map(({ skill: { publicName } }) => publicName);

  it.each([
    [rules(null), ["sum", "shop__get", "held"], 0],
    [rules(null, "sum", "nothing"), ["shop__get", "held"], 1],
    [rules(["sum", "get", "shop__get"]), ["sum", "shop__get"], 1],
    // Scopes are part of the name, and a denial goes before.
    [rules(["get"]), [], 3],
    [rules(["sum", "held"], "held"), ["sum"], 2],
    [rules([]), [], 3],
  ])("%j lets it see %j and hides %i", (tools, seen, hidden) => {
    const catalog = admit(release(skills), policyWith({ tools }), NOW);
    expect([names(catalog), catalog.hidden]).toEqual([seen, hidden]);
  });

  it("hide approved versions of changed skills, verdicts and what is withheld", () => {
    const policy = policyWith({
      mode: "enforcing",
      pin: "hold",
      approved: new Map([[skillKey(held), [{ toolSha256: held.toolSha256, approvedAt: 1 }]]]),
      tools: rules(["sum"]),
    });
    const catalog = admit(release(skills, { held: [held] }), policy, NOW);
    expect(catalog).toMatchObject({ skills: [], hidden: 2, counts: { unattested: 0 } });
    expect(withheld(catalog)).toEqual(["sum a awaiting_approval"]);
    expect(admit(all, { ...policy, tools: rules(null, "gone") }, NOW).hidden).toBe(1);
  });

  it("hide the runtime's own tool only where they deny it by name", () => {
    const guide = (tools: Policy["tools"]) => admit(all, policyWith({ tools }), NOW).guide;
    expect([null, rules(["sum"]), rules([]), rules(null, "get_skill_guide")].map(guide)).toEqual([
      true,
      true,
      true,
      false,
    ]);
  });
});
