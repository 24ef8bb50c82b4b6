import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { readIndex } from "../../src/core/discovery/skills-index.ts";
import type { CanonicalOrigin } from "../../src/core/origin.ts";

const FOLDER = join(import.meta.dirname, "../../../shared/data/wild-indexes");

/**
 * What becomes of the indexes that real publishers served: the code of the report, and how many entries are compared. By the folder, which
 * says how the file conforms, and the first digits of its SHA-256.
 */
const OUTCOMES: Readonly<Record<string, string>> = {
  "nonconforming/95edf896": "unknown_schema 0",
  "nonconforming/3c976ca4": "unknown_schema 0",
  "nonconforming/a548733e": "unknown_schema 0",
  "nonconforming/2a28704d": "read 4",
  "nonconforming/a089a616": "missing_schema 2",
  "nonconforming/bd8c45f8": "unknown_schema 0",
  "nonconforming/0c169760": "unknown_type 2",
  "nonconforming/0b06a27c": "unknown_type 1",
  "nonconforming/053bf195": "missing_schema 1",
  "nonconforming/db713aba": "unknown_schema 0",
  "nonconforming/49df6f0f": "read 1",
  "nonconforming/5cac852b": "unknown_schema 0",
  "nonconforming/aeaca705": "missing_schema 1",
  "nonconforming/b77705fe": "unknown_schema 0",
  "nonconforming/c669946d": "missing_schema 5",
  "v0.1.0/a786b29a": "legacy_index 0",
  "v0.1.0/7979299c": "legacy_index 0",
  "v0.1.0/a400114f": "legacy_index 0",
  "v0.1.0/53198dc9": "legacy_index 0",
  "v0.1.0/e81f25ff": "legacy_index 0",
  "v0.2.0/e3f1fc8b": "read 1",
  "v0.2.0/4fe1673a": "read 1",
  "v0.2.0/b161f50f": "read 1",
  "v0.2.0/eda23f94": "read 1",
  "v0.2.0/55c8fad7": "read 7",
  "v0.2.0/703dd521": "read 1",
};

const why = existsSync(FOLDER) ? "" : " (skipped: third-party files that are no part of the repository)";

it.skipIf(why !== "")(`every index of real publishers has a stated outcome${why}`, () => {
  const files = readdirSync(FOLDER, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".json"));
  const outcomes = files.map((file) => {
    const bytes = readFileSync(join(FOLDER, file));
    const name = `${file.split("/")[0]}/${createHash("sha256").update(bytes).digest("hex").slice(0, 8)}`;
    const { code, entries } = readIndex(
      { ok: true, value: bytes },
      "https://publisher.example" as CanonicalOrigin,
    ).report;
    return [name, `${code} ${entries}`];
  });
  expect(Object.fromEntries(outcomes)).toEqual(OUTCOMES);
});
