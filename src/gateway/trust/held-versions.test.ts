import { describe, expect, it } from "vitest";
import { policyWith } from "../../core/attestation/fixture/policies.ts";
import { admit, type Catalog, skillKey } from "../../core/catalog.ts";
import type { Contradiction, Rejection, Release, ReleaseSkill } from "../../core/discovery/release.ts";
import { NO_INDEX } from "../../core/discovery/skills-index.ts";
import type { Sha256Hex } from "../../core/integrity.ts";
import type { CanonicalOrigin } from "../../core/origin.ts";
import { toPublicName } from "../../core/skill.ts";
import { packRelease, unpackRelease } from "../releases/packed-release.ts";
import { type ApprovedStore, approvedBefore, approvedVersions, restorableSkills } from "./held-versions.ts";

const ORIGIN = "https://publisher.example" as CanonicalOrigin;
const SOURCE = new Uint8Array(900_000);

/** A version with a recipe; its hash is that of no bytes. */
function skill(number: number, text: string, more: Partial<ReleaseSkill> = {}): ReleaseSkill {
  const hash = (kind: string) => `${kind}${String(number).padStart(63, "0")}` as Sha256Hex;
  const name = `s${number}`;
  return {
    scope: null,
    name,
    publicName: toPublicName({ scope: null, name }),
    description: "Does something.",
    version: null,
    toolSha256: hash("a"),
    source: SOURCE,
    definition: { name, inputSchema: { type: "object" } },
    recipe: { sha256: hash(text === "approved" ? "b" : "c"), text: text.padEnd(60_000), verified: true },
    ...more,
  };
}

function release(skills: readonly ReleaseSkill[], more: Partial<Release> = {}): Release {
  const nothing = { memories: [], prose: [], held: [], confirmed: [], attestations: [], facts: [], rejected: [] };
  return { origin: ORIGIN, fetchedAt: 5, skills, index: NO_INDEX, ...nothing, ...more };
}

/** A store in which each of these is approved, and a count of what it was asked. */
function storeOf(approved: readonly ReleaseSkill[], before: Release | null = null) {
  const asked = { compared: 0, read: 0 };
  const byKey = new Map(approved.map((version) => [skillKey(version), version]));
  const isSame = (one: ReleaseSkill) => byKey.get(skillKey(one))?.recipe?.sha256 === one.recipe?.sha256;
  const store: ApprovedStore = {
    before,
    readVersions: async (wanted) => {
      asked.read += wanted.length;
      return wanted.flatMap((version) => byKey.get(skillKey(version)) ?? []);
    },
    compare: async (skills) => {
      asked.compared += skills.length;
      return {
        confirmed: skills.filter(isSame),
        changed: skills.filter((one) => !isSame(one)).flatMap((one) => byKey.get(skillKey(one)) ?? []),
      };
    },
  };
  return { store, asked };
}

const approvals = (approved: readonly ReleaseSkill[]) =>
  new Map(approved.map((one) => [skillKey(one), [{ toolSha256: one.toolSha256, approvedAt: 1 }]]));
const recipes = ({ skills }: Catalog) => new Set(skills.map((one) => one.skill.recipe?.text.trim() ?? null));
const hold = (approved: readonly ReleaseSkill[]) => policyWith({ pin: "hold", approved: approvals(approved) });

describe("a release that is too large for all versions held", () => {
  it("serves none in their place, and asks for them again with the next discovery", async () => {
    const approved = Array.from({ length: 30 }, (_, i) => skill(i, "approved"));
    const found = release(approved.map((_, i) => skill(i, "anything")));
    const first = storeOf(approved);
    const completed = { ...found, ...(await approvedVersions(found, approvals(approved), first.store)) };
    const sent = unpackRelease(await packRelease(completed));
    const left = sent.held.length;
    expect(left).toBeLessThan(30);
    const catalog = admit(sent, hold(approved), 0);
    expect([catalog.skills.length, recipes(catalog)]).toEqual([left, new Set(["approved"])]);
    expect(new Set(catalog.withheld.map(({ code }) => code))).toEqual(new Set(["unconfirmed"]));
    const second = storeOf(approved, sent);
    await approvedVersions(found, approvals(approved), second.store);
    expect([first.asked.compared, second.asked.compared]).toEqual([30, 30 - left]);
  });
});

describe("what was confirmed", () => {
  it("stays so while nothing changes, and is held without the database where something does", async () => {
    const approved = [skill(0, "approved")];
    const found = release(approved);
    const confirmed = { ...found, ...(await approvedVersions(found, approvals(approved), storeOf(approved).store)) };
    expect(recipes(admit(confirmed, hold(approved), 0))).toEqual(new Set(["approved"]));
    const again = storeOf(approved, confirmed);
    expect((await approvedVersions(found, approvals(approved), again.store)).confirmed).toEqual(["s0"]);
    expect(again.asked.compared).toBe(0);
    const changed = release([skill(0, "anything")]);
    for (const [now, before] of [
      [found, confirmed],
      [changed, confirmed],
    ] as const) {
      const carried = { ...now, ...approvedBefore(now, before) };
      expect(recipes(admit(carried, hold(approved), 0))).toEqual(new Set(["approved"]));
    }
    // Nobody had looked at it before: it may be anything.
    expect(approvedBefore(changed, found)).toEqual({ held: [], confirmed: [] });
    expect(admit({ ...found, ...approvedBefore(found, found) }, hold(approved), 0).skills).toEqual([]);
  });
});

describe("documents of a publisher that disagree", () => {
  const rejection = (subject: Rejection["subject"]): Rejection => ({
    ...{ scope: null, name: "s0" },
    subject,
    code: "index_mismatch",
    message: "",
  });
  const approved = [skill(0, "approved")];

  it("about a tool leave nothing of it to be served, whatever was approved", async () => {
    const found = release([], { rejected: [rejection("skill")] });
    const { store, asked } = storeOf(approved);
    expect(await approvedVersions(found, approvals(approved), store)).toEqual({ held: [], confirmed: [] });
    const before = release(approved, { confirmed: approved.map(({ publicName }) => publicName) });
    expect(approvedBefore(found, before)).toEqual({ held: [], confirmed: [] });
    expect(asked).toEqual({ compared: 0, read: 0 });
  });

  it("for the first time leave what index.json declares, or nothing where it declares neither", async () => {
    const [v1, v2] = [approved[0] as ReleaseSkill, skill(0, "new", { toolSha256: "f".repeat(64) as Sha256Hex })];
    const contradiction = (more: Partial<Contradiction> = {}) => {
      const one = { declared: v2.toolSha256, tool: [v1.toolSha256], recipe: [], isLasting: false, ...more };
      return release([], { rejected: [{ ...rejection("skill"), contradiction: one }] });
    };
    const both = new Map([[skillKey(v1), [v2, v1].map(({ toolSha256 }) => ({ toolSha256, approvedAt: 1 }))]]);
    const before = release(approved, { confirmed: approved.map(({ publicName }) => publicName) });
    for (const [found, held] of [
      [contradiction(), [v1]],
      [contradiction({ tool: [] }), [v1]],
      [contradiction({ tool: ["a".repeat(64)] }), []],
      [contradiction({ tool: [v1.toolSha256, ""] }), []],
      [contradiction({ recipe: ["e".repeat(64)] }), [{ ...v1, recipe: null }]],
      [contradiction({ isLasting: true }), []],
    ] as const) {
      const versions = await approvedVersions(found, approvals(approved), storeOf(approved).store);
      expect(versions).toEqual({ held, confirmed: [] });
      expect(approvedBefore(found, before)).toEqual({ held, confirmed: [] });
      const completed = { ...found, ...versions };
      expect(admit(completed, hold(approved), 0).skills.map((one) => one.skill)).toEqual(held);
      expect(restorableSkills(completed).length).toBe(held.length);
    }
    // The new version is approved already, and the old index.json still declares the one before.
    expect((await approvedVersions(contradiction(), both, storeOf(approved).store)).held).toEqual([v1]);
  });

  it("about a recipe, for the first time, leave the approved one that index.json declares", async () => {
    const recipe = approved[0]?.recipe?.sha256 as Sha256Hex;
    for (const [more, text] of [
      [{}, "approved"],
      [{ recipe: ["e".repeat(64)] }, null],
      [{ isLasting: true }, null],
    ] as const) {
      const contradiction = { declared: "c".repeat(64), tool: [], recipe: [recipe], isLasting: false, ...more };
      const rejected = [{ ...rejection("recipe"), contradiction }];
      const found = release([skill(0, "approved", { recipe: null })], { rejected });
      const before = release([skill(0, "approved", { recipe: null })], {
        rejected: [rejection("recipe")],
        confirmed: [],
      });
      const { store } = storeOf(approved, before);
      const completed = { ...found, ...(await approvedVersions(found, approvals(approved), store)) };
      expect(recipes(admit(completed, hold(approved), 0))).toEqual(new Set([text]));
    }
  });

  it("about a recipe leave the tool without one, until they agree again", async () => {
    const without = skill(0, "approved", { recipe: null });
    const serve = async (found: Release, before: Release | null) => {
      const { store } = storeOf(approved, before);
      const completed = { ...found, ...(await approvedVersions(found, approvals(approved), store)) };
      return [completed, recipes(admit(completed, hold(approved), 0))] as const;
    };
    const missing = release([without], { rejected: [{ ...rejection("recipe"), code: "http_status" }] });
    const refused = release([without], { rejected: [rejection("recipe")] });
    const [first, asApproved] = await serve(missing, null);
    expect(asApproved).toEqual(new Set(["approved"]));
    const [second, none] = await serve(refused, first);
    expect(none).toEqual(new Set([null]));
    expect(recipes(admit({ ...refused, ...approvedBefore(refused, first) }, hold(approved), 0))).toEqual(
      new Set([null]),
    );
    expect((await serve(missing, second))[1]).toEqual(new Set(["approved"]));
    // Nor does another version of the skill bring one.
    const other = skill(0, "new", { toolSha256: "f".repeat(64) as Sha256Hex, recipe: null });
    expect((await serve({ ...refused, skills: [other] }, null))[1]).toEqual(new Set([null]));
    expect((await serve({ ...missing, skills: [other] }, null))[1]).toEqual(new Set(["approved"]));
  });
});
