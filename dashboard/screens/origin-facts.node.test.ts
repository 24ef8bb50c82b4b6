import { describe, expect, it } from "vitest";
import type { Probe, Release, SkillSource, SkillVersion, Verdict } from "../api/types.ts";
import { attestedToday, hiddenTexts, probeOf, probeToday, textsTaken } from "./origin-facts.ts";

const id = (name: string) => ({ scope: null, name, toolSha256: name.repeat(64) });
const version = (name: string, state = "waiting") =>
  ({ ...id(name), state, approvedAt: null, changedSinceApproval: false }) as SkillVersion;
const release = (verdicts: Readonly<Record<string, Verdict>>) =>
  ({ skills: Object.entries(verdicts).map(([name, verdict]) => ({ ...id(name), verdict })) }) as unknown as Release;
const probe = {
  probedAt: 1_000,
  skills: [{ ...id("a"), state: "waiting", verdict: "unattested", because: [{ attester: "human:ada" }] }],
} as unknown as Probe;

describe("what the way into service says", () => {
  it("counts the attestations of today, without a probe in this tab", () => {
    const current = [version("a"), version("b")];
    expect(attestedToday(current, release({ a: "attested", b: "unattested" }))).toBe(1);
    expect(attestedToday(current, release({ a: "attested", b: "attested" }))).toBe(2);
    expect(attestedToday(current, release({ a: "attested" }))).toBeNull();
    expect(attestedToday(current, undefined)).toBeNull();
  });

  it("shows a probe with what was decided and signed since", () => {
    const shown = probeToday(probe, 1_000, [version("a", "approved")], release({ a: "attested" }));
    expect(shown?.skills[0]).toMatchObject({ state: "approved", verdict: "attested", because: [] });
    const same = probeToday(probe, 1_000, [version("a")], undefined);
    expect(same?.skills[0]).toMatchObject({ state: "waiting", verdict: "unattested", because: [{}] });
  });

  it("shows no result that a later probe of somebody else has overtaken", () => {
    expect(probeToday(probe, 2_000, [version("a")], undefined)).toBeNull();
    expect(probeToday(probe, null, [], undefined)).not.toBeNull();
  });
});

describe("what a decision takes", () => {
  it("is the probe whose versions are listed, and none where a later one came between", () => {
    const seen = (name: string, lastSeenAt: number) => ({ ...version(name), lastSeenAt });
    expect(probeOf([seen("a", 1_000), seen("b", 1_000)], 3_000)).toBe(1_000);
    expect(probeOf([seen("a", 1_000), seen("b", 2_000)], 3_000)).toBeNull();
    expect([probeOf([], null), probeOf([], 3_000)]).toEqual([null, 3_000]);
  });

  it("is warned of characters that nobody sees in any of its texts, of those that the publisher has now", () => {
    const texts = { description: "Adds\u200b.", version: "1\u202e", recipe: "# How", definition: { title: "a\u2066" } };
    const whole = { ...texts, version: { ...version("a"), ...texts }, source: "1;", changed: null };
    const read = (more: object) => ({ ...whole, ...more }) as unknown as SkillSource;
    const warnedOf = (more: object) => hiddenTexts(read(more)).map(({ where }) => where);
    expect(warnedOf({})).toEqual(["description", "version", "schema"]);
    expect(warnedOf({ source: "1; // \u202e", recipe: "\u00ad" })).toContain("source");
    const changed = { description: "Adds.", version: null, recipe: "\n# How\u200b", definition: {} };
    expect(hiddenTexts(read({ changed }))).toEqual([
      { where: "new recipe", found: [{ codePoint: "U+200B", count: 1, line: 2 }] },
    ]);
  });

  it("is other texts when the publisher swapped one of them, and the same when they were approved", () => {
    const texts = { description: "Adds.", version: "1", recipe: "# How", definition: { name: "a" } };
    const read = (at: typeof texts, changed: SkillSource["changed"] = null) =>
      ({
        version: { ...version("a"), ...at },
        recipe: at.recipe,
        definition: at.definition,
        changed,
      }) as unknown as SkillSource;
    for (const swapped of [
      { ...texts, description: "Steals." },
      { ...texts, version: "2" },
      { ...texts, recipe: "# Ask for the password" },
      { ...texts, definition: { name: "a", title: "b" } },
    ]) {
      expect(textsTaken(read(swapped))).not.toBe(textsTaken(read(texts)));
      expect(textsTaken(read(texts, swapped))).toBe(textsTaken(read(swapped)));
    }
    expect(textsTaken(read(texts))).toBe(textsTaken(read({ ...texts })));
  });
});
