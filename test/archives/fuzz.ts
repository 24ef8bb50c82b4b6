import { execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import {
  type Archive,
  ArchiveError,
  type ArchiveErrorCode,
  archiveLimits,
  readArchive,
} from "../../src/core/archive/archive.ts";
import { zlibInflater } from "../../src/core/archive/zlib-inflater.ts";
import { ARCHIVE_CASES } from "./cases.ts";
import { mutate, seededRandom } from "./mutate.ts";

/** Cases above this are the ones about limits: slow, and nothing to learn from their mutants. */
const MAX_CASE_BYTES = 4096;
const FOLDER = new URL(".", import.meta.url).pathname;

/** What a run found. Mutants are numbered from 0; a seed and a number make the same one again. */
export interface FuzzReport {
  readonly mutants: number;
  /** Those that were read; the rest were refused. */
  readonly accepted: number;
  readonly refused: Readonly<Partial<Record<ArchiveErrorCode, number>>>;
  /** Accepted ones that Python reads otherwise, or not at all. Null where there is no Python 3 to ask. */
  readonly differences: readonly string[] | null;
}

/** One reading of an archive, comparable as JSON. */
interface Reading {
  readonly files: Readonly<Record<string, string>>;
  readonly directories: Readonly<Record<string, string>>;
  readonly links: Readonly<Record<string, string>>;
}

/**
 * Reads so many mutants of the corpus and compares what is accepted with Python's reading. Deterministic in seed and count.
 *
 * @throws whatever is thrown that is no {@link ArchiveError}.
 */
export function fuzzArchives(count: number, seed: number): FuzzReport {
  const corpus = ARCHIVE_CASES.map(({ file, reason }) => ({
    reason,
    bytes: readFileSync(join(FOLDER, file)),
  })).filter(({ bytes }) => bytes.length <= MAX_CASE_BYTES);
  const all = corpus.map(({ bytes }) => bytes);
  const valid = corpus.filter(({ reason }) => reason === "ok").map(({ bytes }) => bytes);
  const limits = archiveLimits({});
  const refused: Partial<Record<ArchiveErrorCode, number>> = {};
  const accepted: { number: number; bytes: Uint8Array; reading: Reading }[] = [];
  for (let number = 0; number < count; number += 1) {
    const random = seededRandom(seed + number);
    // Mutants of what is valid come nearer to being accepted.
    const bases = random(4) > 0 ? valid : all;
    const bytes = mutate(bases[random(bases.length)] ?? new Uint8Array(0), all, random);
    try {
      accepted.push({ number, bytes, reading: readingOf(readArchive(bytes, limits, zlibInflater)) });
    } catch (error) {
      if (!(error instanceof ArchiveError)) throw new Error(`Mutant ${number} of seed ${seed}`, { cause: error });
      refused[error.code] = (refused[error.code] ?? 0) + 1;
    }
  }
  const readings = pythonReadings(accepted.map(({ bytes }) => bytes));
  const differences = readings?.flatMap((theirs, index) => {
    const { number, reading } = accepted[index] ?? {};
    const [ours, python] = [canonical(reading), canonical(theirs)];
    return ours === python ? [] : [`Mutant ${number} of seed ${seed}: ${ours} is to Python ${python}`];
  });
  return { mutants: count, accepted: accepted.length, refused, differences: differences ?? null };
}

function readingOf({ files, directories, links }: Archive): Reading {
  const hashes = new Map(files.map(({ path, bytes }) => [path, createHash("sha256").update(bytes).digest("hex")]));
  return {
    files: Object.fromEntries(hashes),
    directories: Object.fromEntries(directories.map((path) => [path, ""])),
    links: Object.fromEntries(
      links.map(({ path, kind, target, resolved }) => {
        const content = kind === "hard" ? ` ${hashes.get(resolved ?? "")}` : "";
        return [path, `${kind} ${target}${content}`];
      }),
    ),
  };
}

/** All keys in one order. */
function canonical(reading: unknown): string {
  return JSON.stringify(reading, (_, value) =>
    typeof value === "object" && value !== null
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  );
}

function pythonReadings(archives: readonly Uint8Array[]): readonly unknown[] | null {
  if (spawnSync("python3", ["--version"]).status !== 0) return null;
  const input = archives.flatMap((bytes) => {
    const length = Buffer.alloc(4);
    length.writeUInt32LE(bytes.length);
    return [length, bytes];
  });
  const script = join(FOLDER, "python_reading.py");
  const output = execFileSync("python3", [script], { input: Buffer.concat(input), maxBuffer: 2 ** 30 });
  return output
    .toString()
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as unknown);
}
