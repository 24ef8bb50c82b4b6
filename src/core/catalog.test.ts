import { expect, it } from "vitest";
import { policyWith } from "./attestation/fixture/policies.ts";
import { admit } from "./catalog.ts";
import type { Release, ReleaseSkill } from "./discovery/release.ts";

const skills = ["zulu", "alpha"].map((name) => ({ name, publicName: name }) as ReleaseSkill);
const release = {
  origin: "https://publisher.example",
  fetchedAt: 5,
  skills,
  held: [],
  attestations: [],
  facts: [],
} as unknown as Release;

it("admits every skill of an active, granted origin, in document order", () => {
  const catalog = admit(release, policyWith(), 0);
  expect(catalog.skills.map(({ skill }) => skill.name)).toEqual(["zulu", "alpha"]);
  expect(catalog).toMatchObject({ origin: "https://publisher.example", fetchedAt: 5 });
});

it("admits nothing otherwise", () => {
  for (const status of ["pending", "active", "suspended", "revoked"] as const) {
    for (const granted of [true, false]) {
      const policy = policyWith({ status, granted });
      expect(admit(release, policy, 0).skills.length > 0).toBe(status === "active" && granted);
    }
  }
});

it("changes neither the release nor the policy", () => {
  const policy = Object.freeze(policyWith());
  const frozen = Object.freeze({ ...release, skills: Object.freeze([...skills]) });
  expect(admit(frozen, policy, 0)).toEqual(admit(frozen, policy, 0));
});
