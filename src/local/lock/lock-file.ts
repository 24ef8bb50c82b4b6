import { isSha256Hex, type Sha256Hex } from "../../core/integrity.ts";
import { isJsonObject, type Json, type JsonObject } from "../../core/json.ts";
import { type CanonicalOrigin, parseOrigin } from "../../core/origin.ts";
import type { SkillId } from "../../core/skill.ts";
import { repeatedKey } from "./repeated-key.ts";

/** What one skill of an origin was when it was first used. */
export interface Pin extends SkillId {
  readonly toolSha256: Sha256Hex;
  /** Of the recipe that was verified with it; `null`: it had none. Absent: it had one that could not be had, and is pinned when it can. */
  readonly recipeSha256?: Sha256Hex | null;
  /** ISO 8601, UTC. */
  readonly pinnedAt: string;
}

/** By origin, then by {@link pinKey}. */
export type Pins = ReadonlyMap<CanonicalOrigin, ReadonlyMap<string, Pin>>;

/** The form of the file that this version reads and writes. */
const VERSION = 1;
/** Bytes. */
export const MAX_LOCK_BYTES = 4_194_304;

export function pinKey({ scope, name }: SkillId): string {
  return JSON.stringify([scope, name]);
}

/** The pins of a file, or one English sentence about what is wrong with it. Nothing is overlooked: a pin that is not read would be lost. */
export function readLock(text: string): Pins | string {
  let json: Json;
  try {
    json = JSON.parse(text) as Json;
  } catch {
    return "It is not valid JSON; maybe it is cut off.";
  }
  if (!isJsonObject(json)) return "It is not a JSON object.";
  const repeated = repeatedKey(text);
  if (repeated !== null) return `The key ${JSON.stringify(repeated)} stands twice in one object.`;
  const { lockfile_version: version, origins, ...others } = json;
  if (typeof version !== "number") return "The field `lockfile_version` is not a number.";
  if (version !== VERSION) {
    return `Its \`lockfile_version\` is ${version}, and this version of Skillgate knows ${VERSION}.`;
  }
  const other = Object.keys(others)[0];
  if (other !== undefined) return `The field ${JSON.stringify(other)} is not known.`;
  if (!isJsonObject(origins)) return "The field `origins` is not an object.";
  const pins = new Map<CanonicalOrigin, ReadonlyMap<string, Pin>>();
  for (const [origin, list] of Object.entries(origins)) {
    if (!isCanonical(origin)) return `${JSON.stringify(origin)} is not an origin in its canonical form.`;
    if (!Array.isArray(list)) return `The pins of ${origin} are not a list.`;
    const ofOrigin = new Map<string, Pin>();
    for (const [index, entry] of (list as readonly Json[]).entries()) {
      const pin = readPin(entry);
      if (typeof pin === "string") return `Pin ${index} of ${origin}: ${pin}`;
      if (ofOrigin.has(pinKey(pin))) return `Pin ${index} of ${origin} is of a skill that is pinned before.`;
      ofOrigin.set(pinKey(pin), pin);
    }
    pins.set(origin, ofOrigin);
  }
  return pins;
}

const FIELDS = new Set(["scope", "name", "tool_sha256", "recipe_sha256", "pinned_at"]);

function readPin(entry: Json): Pin | string {
  if (!isJsonObject(entry)) return "it is not an object.";
  const { scope, name, tool_sha256: toolSha256, recipe_sha256: recipeSha256, pinned_at: pinnedAt } = entry;
  const other = Object.keys(entry).find((key) => !FIELDS.has(key));
  if (other !== undefined) return `the field ${JSON.stringify(other)} is not known.`;
  if (scope !== null && typeof scope !== "string") return "the field `scope` is neither a string nor null.";
  if (typeof name !== "string") return "the field `name` is not a string.";
  if (!isHash(toolSha256)) return "the field `tool_sha256` is not 64 lower-case hexadecimal digits.";
  if (recipeSha256 !== undefined && recipeSha256 !== null && !isHash(recipeSha256)) {
    return "the field `recipe_sha256` is neither absent nor null nor 64 lower-case hexadecimal digits.";
  }
  if (typeof pinnedAt !== "string" || !isTime(pinnedAt)) return "the field `pinned_at` is not a time in UTC.";
  return { scope, name, toolSha256, ...(recipeSha256 === undefined ? {} : { recipeSha256 }), pinnedAt };
}

/** Sorted, so that it is the same file whoever wrote it in which order. */
export function writeLock(pins: Pins): string {
  const origins: Record<string, readonly JsonObject[]> = {};
  for (const [origin, ofOrigin] of [...pins].sort(([a], [b]) => compare(a, b))) {
    const sorted = [...ofOrigin.values()].sort(
      (a, b) => compare(a.scope ?? "", b.scope ?? "") || compare(a.name, b.name),
    );
    origins[origin] = sorted.map(({ scope, name, toolSha256, recipeSha256, pinnedAt }) => ({
      scope,
      name,
      tool_sha256: toolSha256,
      ...(recipeSha256 === undefined ? {} : { recipe_sha256: recipeSha256 }),
      pinned_at: pinnedAt,
    }));
  }
  return `${JSON.stringify({ lockfile_version: VERSION, origins }, null, 2)}\n`;
}

/** By code units: the order must not depend on anybody's language. */
function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function isHash(value: Json | undefined): value is Sha256Hex {
  return typeof value === "string" && isSha256Hex(value);
}

function isTime(text: string): boolean {
  const time = Date.parse(text);
  return !Number.isNaN(time) && new Date(time).toISOString() === text;
}

function isCanonical(text: string): text is CanonicalOrigin {
  try {
    return parseOrigin(text, { allowLoopbackHttp: true, ownHosts: [] }) === text;
  } catch {
    return false;
  }
}
