import { describe, expect, it } from "vitest";
import { fuzzArchives } from "../archives/fuzz.ts";

const MUTANTS = 20_000;

describe(`${MUTANTS} mutants of the corpus of archives`, () => {
  const { accepted, differences } = fuzzArchives(MUTANTS, 1);

  it("are refused with a code or read", () => {
    expect(accepted).toBeGreaterThan(MUTANTS / 20);
    expect(accepted).toBeLessThan(MUTANTS / 2);
  });

  it.skipIf(differences === null)("are read as Python reads them, which needs python3", () => {
    expect(differences).toEqual([]);
  });
});
