import { readdir, readFile, rm, stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import type { CatalogSkill } from "../../core/catalog.ts";
import type { Rejection } from "../../core/discovery/release.ts";
import { decodeUtf8 } from "../../core/integrity.ts";
import type { CanonicalOrigin } from "../../core/origin.ts";
import type { CheckPins, PinRefusal } from "../../core/runtime/origin-runtime.ts";
import { toPublicName } from "../../core/skill.ts";
import { CommandError } from "../command-error.ts";
import { errorCode, realPathOf, replaceFile } from "../files.ts";
import { exclusively, type IsOurs } from "./exclusively.ts";
import { MAX_LOCK_BYTES, type Pin, type Pins, pinKey, readLock, writeLock } from "./lock-file.ts";

export interface PinFileOptions {
  /** Absolute, or relative to `cwd`. */
  readonly file: string;
  readonly cwd: string;
  /** Takes what changed for what is pinned from now on, the first time that each origin is looked at. */
  readonly isUpdate: boolean;
  /** Refuses what is not pinned, and never writes. */
  readonly isFrozen: boolean;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** Told of what was pinned. */
  onPinned(message: string): void;
}

/** The name of a file that was not finished, behind that of the lock file. */
const PARTIAL = /^\.[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\.partial$/;

/** What is to be done about one look at an origin. */
interface Comparison {
  readonly refusals: readonly PinRefusal[];
  /** To be written. */
  readonly pins: readonly Pin[];
}

/**
 * A file of pins: what a skill was when it was first used is what it has to stay. Keyed by origin, scope and name; pins of skills that are gone
 * stay too. It is read at each look at an origin, and written whole or not at all, what others wrote in the meantime included; a file that
 * cannot be read any more refuses nothing that was pinned before and takes nothing new.
 */
export class PinFile {
  readonly #options: PinFileOptions;
  readonly #path: string;
  /** What the file last said, and what was written to it. */
  #known: Pins;
  readonly #looked = new Set<CanonicalOrigin>();

  private constructor(options: PinFileOptions, path: string, known: Pins) {
    this.#options = options;
    this.#path = path;
    this.#known = known;
  }

  /** @throws {CommandError} `bad_file` for one that cannot be read, or that is not a lock file of this version; it is left as it is. */
  static async open(options: PinFileOptions): Promise<PinFile> {
    const given = resolve(options.cwd, options.file);
    // A link is followed: replacing it would leave the file that it leads to behind.
    const path = await realPathOf(given).catch(() => given);
    if (path === null) {
      throw new CommandError("bad_file", `The lock file ${options.file} is a link that leads nowhere.`);
    }
    const known = await readPins(path);
    if (typeof known === "string") throw new CommandError("bad_file", `The lock file ${options.file}: ${known}`);
    if (known === null && options.isFrozen) {
      const message = `The lock file ${options.file} does not exist, and --frozen uses nothing that is not pinned in it.`;
      throw new CommandError("bad_file", message);
    }
    if (known === null && !options.isFrozen) await checkFolder(options.file, path);
    return new PinFile(options, path, known ?? new Map());
  }

  readonly check: CheckPins = async (origin, admitted, rejected) => {
    const skills = foundPins(admitted, rejected, new Date(this.#options.now()).toISOString());
    const isUpdate = this.#options.isUpdate && !this.#looked.has(origin);
    this.#looked.add(origin);
    const read = await readPins(this.#path).catch((error: unknown) => `It cannot be read (${errorCode(error)}).`);
    if (typeof read !== "string" && read !== null) this.#known = merged(this.#known, read);
    const found = this.#compare(origin, skills, this.#known, isUpdate);
    if (found.pins.length === 0) return found.refusals;
    if (typeof read === "string") return [...found.refusals, ...found.pins.map((pin) => notKept(pin, read))];
    try {
      return await exclusively(this.#path, (isOurs) => this.#pin(origin, skills, isUpdate, isOurs));
    } catch (error) {
      const why =
        error instanceof Error && !("code" in error) ? error.message : `It cannot be written (${errorCode(error)}).`;
      return [...found.refusals, ...found.pins.map((pin) => notKept(pin, why))];
    }
  };

  /** Looks again at what others may have written, and adds to it. */
  async #pin(
    origin: CanonicalOrigin,
    skills: readonly Pin[],
    isUpdate: boolean,
    isOurs: IsOurs,
  ): Promise<readonly PinRefusal[]> {
    const read = await readPins(this.#path);
    if (typeof read === "string") throw new Error(read);
    const base = merged(this.#known, read ?? new Map());
    const { refusals, pins } = this.#compare(origin, skills, base, isUpdate);
    const next = merged(base, new Map([[origin, new Map(pins.map((pin) => [pinKey(pin), pin]))]]));
    await this.#removePartials();
    await replaceFile(this.#path, writeLock(next), async () => {
      if (!(await isOurs())) throw new Error("Another process took its lock away.");
    });
    this.#known = next;
    for (const pin of pins) {
      this.#options.onPinned(pinnedMessage(origin, pin, base.get(origin)?.get(pinKey(pin))));
    }
    return refusals;
  }

  /** What another process left beside the file when it was killed: while this one has the lock, nobody else is writing. */
  async #removePartials(): Promise<void> {
    const [folder, name] = [dirname(this.#path), basename(this.#path)];
    for (const entry of await readdir(folder)) {
      if (entry.startsWith(`${name}.`) && PARTIAL.test(entry.slice(name.length))) {
        await rm(join(folder, entry), { force: true });
      }
    }
  }

  #compare(origin: CanonicalOrigin, skills: readonly Pin[], pins: Pins, isUpdate: boolean): Comparison {
    const ofOrigin = pins.get(origin);
    const refusals: PinRefusal[] = [];
    const added: Pin[] = [];
    for (const found of skills) {
      const { scope, name } = found;
      const pin = ofOrigin?.get(pinKey(found));
      const difference = pin === undefined ? null : differenceOf(pin, found);
      if (pin !== undefined && difference === null && !isLateRecipe(pin, found)) continue;
      if (difference !== null && !isUpdate) {
        refusals.push({ scope, name, code: "pin_mismatch", message: difference });
      } else if (this.#options.isFrozen) {
        refusals.push({ scope, name, code: "not_pinned", message: notPinned(pin, found) });
      } else added.push(found);
    }
    return { refusals, pins: added };
  }
}

/** What would be pinned of skills as they are. One whose recipe could not be had, or did not verify, is not one without a recipe. */
function foundPins(skills: readonly CatalogSkill[], rejected: readonly Rejection[], pinnedAt: string): readonly Pin[] {
  const lacking = new Set(rejected.filter(({ subject }) => subject === "recipe").map(pinKey));
  return skills.map(({ skill: { scope, name, toolSha256, recipe } }) => {
    const isLacking = recipe === null && lacking.has(pinKey({ scope, name }));
    return { scope, name, toolSha256, ...(isLacking ? {} : { recipeSha256: recipe?.sha256 ?? null }), pinnedAt };
  });
}

/** Its recipe can be had for the first time. */
function isLateRecipe(pin: Pin, found: Pin): boolean {
  return pin.recipeSha256 === undefined && typeof found.recipeSha256 === "string";
}

function pinnedMessage(origin: CanonicalOrigin, pin: Pin, before: Pin | undefined): string {
  const what = `${toPublicName(pin)} of ${origin}`;
  if (before?.toolSha256 === pin.toolSha256) return `pinned the recipe of ${what} at ${pin.recipeSha256 ?? "none"}`;
  const instead = before === undefined ? "" : `, instead of ${before.toolSha256} of ${before.pinnedAt}`;
  return `pinned ${what} at ${pin.toolSha256}${instead}`;
}

function notPinned(pin: Pin | undefined, { toolSha256, recipeSha256 }: Pin): string {
  return pin === undefined
    ? `It is not in the lock file, which is frozen; its tool_sha256 is ${toolSha256}.`
    : `Its SKILL.md is not in the lock file, which is frozen; the sha256 of that is ${recipeSha256}.`;
}

/** A recipe that could not be had, or that is gone, is no change: without it the skill is what it was. */
function differenceOf(pin: Pin, found: Pin): string | null {
  const day = pin.pinnedAt;
  if (pin.toolSha256 !== found.toolSha256) {
    return `Its tool.js has changed: the lock file has ${pin.toolSha256}, pinned at ${day}, and the origin serves ${found.toolSha256}. If that is wanted, run once with --lock-update.`;
  }
  if (typeof found.recipeSha256 !== "string" || pin.recipeSha256 === undefined) return null;
  if (pin.recipeSha256 === found.recipeSha256) return null;
  return `Its SKILL.md has changed: the lock file has ${pin.recipeSha256 ?? "none"}, pinned at ${day}, and the origin serves ${found.recipeSha256}. If that is wanted, run once with --lock-update.`;
}

function notKept({ scope, name }: Pin, why: string): PinRefusal {
  return { scope, name, code: "pin_not_kept", message: `It is new or changed, and could not be pinned. ${why}` };
}

/** What the second says goes before what the first says. */
function merged(first: Pins, second: Pins): Pins {
  const pins = new Map(first);
  for (const [origin, ofOrigin] of second) pins.set(origin, new Map([...(first.get(origin) ?? []), ...ofOrigin]));
  return pins;
}

/** `null`: there is no file. A sentence: it is not one of pins. */
async function readPins(path: string): Promise<Pins | string | null> {
  let bytes: Uint8Array;
  try {
    const found = await stat(path);
    // Others may have no end, or give none of what was written to them.
    if (!found.isFile()) return "It is not a file.";
    if (found.size > MAX_LOCK_BYTES) return `It has more than ${MAX_LOCK_BYTES} bytes, the limit.`;
    bytes = await readFile(path);
  } catch (error) {
    if (errorCode(error) === "ENOENT") return null;
    return `It cannot be read (${errorCode(error)}).`;
  }
  try {
    return readLock(decodeUtf8(bytes));
  } catch {
    return "It is not valid UTF-8.";
  }
}

/** Whoever mistypes a folder is told at once, before anything is refused for it. */
async function checkFolder(file: string, path: string): Promise<void> {
  const folder = dirname(path);
  const found = await stat(folder).catch(() => null);
  if (found?.isDirectory()) return;
  throw new CommandError("bad_file", `The lock file ${file} cannot be made: ${folder} is not a folder.`);
}
