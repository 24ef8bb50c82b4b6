import { describe, expect, it } from "vitest";
import type { Probe, Release, SkillVersion, Verdict } from "../api/types.ts";
import { attestedToday, probeToday } from "./origin-facts.ts";

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
