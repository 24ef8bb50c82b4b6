import { canonicalJson } from "../canonical-json.ts";
import { isSha256Hex, type Sha256Hex, sha256Hex } from "../integrity.ts";
import { isJsonObject, type Json, type JsonObject } from "../json.ts";
import { isWithinDepth } from "../json-depth.ts";
import { type CanonicalOrigin, OriginError, parseOrigin } from "../origin.ts";
import {
  type Attestation,
  type AttestationProof,
  attestationEntry,
  SIGSTORE_ATTESTER,
  type UnidentifiedAttestation,
} from "./attestation.ts";
import { type CalendarDate, isCalendarDate } from "./calendar-date.ts";

/** Entries of one list that are read; a file of 256 KiB has room for fewer than 1,000 good ones. */
export const MAX_ENTRIES = 10_000;
/** Characters of a bundle's JSON; bundles of the public Sigstore instance have 4,000 to 15,000. */
export const MAX_BUNDLE_LENGTH = 65_536;
const MAX_DEPTH = 32;
const MAX_SIGNATURE_LENGTH = 1_024;
const MAX_ATTESTER_LENGTH = 1_024;
const MAX_NOTE_LENGTH = 4_096;

export type MalformedCode =
  | "not_an_object"
  | "too_deep"
  | "missing_field"
  | "bad_type"
  | "bad_origin"
  | "bad_skill"
  | "bad_tool_sha256"
  | "bad_attester"
  | "bad_date"
  | "bad_signature"
  | "bad_note"
  | "bundle_too_large"
  | "too_many_entries";

/** An entry that counts for nothing. */
export interface MalformedEntry {
  /** From 0, in the list as given. */
  readonly index: number;
  readonly code: MalformedCode;
  /** One English sentence that names the field and the limit. */
  readonly message: string;
}

export interface ReadAttestations {
  /** In the order given; an entry that was there before is not there again. */
  readonly attestations: readonly Attestation[];
  readonly malformed: readonly MalformedEntry[];
}

/**
 * Reads the entries of an `attestations.json`, which anybody may have written: each is judged alone, a bad one harms no
 * other, and unknown fields are ignored. Of a list past {@link MAX_ENTRIES} the rest is left out, as one `too_many_entries`.
 */
export async function readAttestations(entries: readonly Json[]): Promise<ReadAttestations> {
  const attestations = new Map<Sha256Hex, Attestation>();
  const malformed: MalformedEntry[] = [];
  for (const [index, entry] of entries.slice(0, MAX_ENTRIES).entries()) {
    try {
      const read = readEntry(entry);
      const attestation = await identified(read);
      if (!attestations.has(attestation.proofId)) attestations.set(attestation.proofId, attestation);
    } catch (error) {
      if (!(error instanceof Malformed)) throw error;
      malformed.push({ index, code: error.code, message: error.message });
    }
  }
  if (entries.length > MAX_ENTRIES) {
    const message = `The list has ${entries.length} entries; those after the first ${MAX_ENTRIES} are not read.`;
    malformed.push({ index: MAX_ENTRIES, code: "too_many_entries", message });
  }
  return { attestations: [...attestations.values()], malformed };
}

/** Gives an attestation its ids. Nothing of the note enters. */
export async function identified(attestation: UnidentifiedAttestation): Promise<Attestation> {
  const entry = attestationEntry({ ...attestation, note: null });
  const { sigstore_bundle: bundle, ...words } = entry;
  const proofId = await hashOf(entry);
  return { id: bundle === undefined ? proofId : await hashOf(words), proofId, ...attestation };
}

function hashOf(json: JsonObject): Promise<Sha256Hex> {
  return sha256Hex(new TextEncoder().encode(canonicalJson(json)));
}

class Malformed extends Error {
  readonly code: MalformedCode;

  constructor(code: MalformedCode, message: string) {
    super(message);
    this.code = code;
  }
}

function readEntry(entry: Json): UnidentifiedAttestation {
  if (!isJsonObject(entry)) throw new Malformed("not_an_object", "The entry is not a JSON object.");
  if (!isWithinDepth(entry, MAX_DEPTH)) {
    throw new Malformed("too_deep", `The entry is nested more than ${MAX_DEPTH} deep.`);
  }
  const attester = readAttester(entry);
  return {
    origin: readOrigin(entry),
    skill: readSkill(entry),
    toolSha256: readHash(entry),
    attester,
    signedOn: readDate(entry, "signed_on"),
    validUntil: readDate(entry, "valid_until"),
    note: readNote(entry),
    proof: attester.startsWith(SIGSTORE_ATTESTER) ? readBundle(entry) : readSignature(entry),
  };
}

function readString(entry: JsonObject, field: string): string {
  const value = readField(entry, field);
  if (typeof value !== "string") throw new Malformed("bad_type", `The field \`${field}\` must be a string.`);
  return value;
}

function readField(entry: JsonObject, field: string): Json {
  const value = Object.hasOwn(entry, field) ? entry[field] : undefined;
  if (value === undefined) throw new Malformed("missing_field", `The field \`${field}\` is missing.`);
  return value;
}

/** Which origins a gateway serves is decided elsewhere: here any that can be written counts. */
function readOrigin(entry: JsonObject): CanonicalOrigin {
  try {
    return parseOrigin(readString(entry, "origin"), { allowLoopbackHttp: true, ownHosts: [] });
  } catch (error) {
    if (!(error instanceof OriginError)) throw error;
    throw new Malformed("bad_origin", `The field \`origin\` is not an origin: ${error.message}`);
  }
}

function readSkill(entry: JsonObject): string {
  const skill = readString(entry, "skill");
  if (/^[A-Za-z0-9_.-]{1,128}$/.test(skill)) return skill;
  throw new Malformed("bad_skill", "The field `skill` must be 1 to 128 of the characters A-Z a-z 0-9 _ . -.");
}

function readHash(entry: JsonObject): Sha256Hex {
  const hash = readString(entry, "tool_sha256");
  if (isSha256Hex(hash)) return hash;
  throw new Malformed("bad_tool_sha256", "The field `tool_sha256` must be 64 lower-case hexadecimal digits.");
}

function readAttester(entry: JsonObject): string {
  const attester = readString(entry, "attester");
  if (isAttester(attester)) return attester;
  throw new Malformed(
    "bad_attester",
    `The field \`attester\` must be type:name, a lower-case type and a name of visible ASCII characters, at most ${MAX_ATTESTER_LENGTH} in all.`,
  );
}

/** True for `type:name` (Skill Attestations v0.4 §2). ASCII alone, so that no attester looks like another. */
export function isAttester(text: string): boolean {
  return text.length <= MAX_ATTESTER_LENGTH && /^[a-z][a-z0-9+.-]*:[!-~]+$/.test(text);
}

function readDate(entry: JsonObject, field: string): CalendarDate {
  const date = readString(entry, field);
  if (isCalendarDate(date)) return date;
  throw new Malformed("bad_date", `The field \`${field}\` must be a day of the calendar, written YYYY-MM-DD.`);
}

function readNote(entry: JsonObject): string | null {
  if (!Object.hasOwn(entry, "note") || entry.note === null) return null;
  const note = readString(entry, "note");
  if (note.length <= MAX_NOTE_LENGTH) return note;
  throw new Malformed("bad_note", `The field \`note\` is longer than ${MAX_NOTE_LENGTH} characters.`);
}

/** What is no base64 stays: it is a signature that fails, and a registered reviewer's failing signature must be seen. */
function readSignature(entry: JsonObject): AttestationProof {
  const signature = readString(entry, "signature");
  if (signature.length <= MAX_SIGNATURE_LENGTH) return { kind: "ed25519", signature };
  throw new Malformed("bad_signature", `The field \`signature\` is longer than ${MAX_SIGNATURE_LENGTH} characters.`);
}

function readBundle(entry: JsonObject): AttestationProof {
  const bundle = readField(entry, "sigstore_bundle");
  if (!isJsonObject(bundle)) throw new Malformed("bad_type", "The field `sigstore_bundle` must be an object.");
  if (JSON.stringify(bundle).length <= MAX_BUNDLE_LENGTH) return { kind: "sigstore", bundle };
  throw new Malformed(
    "bundle_too_large",
    `The field \`sigstore_bundle\` is longer than ${MAX_BUNDLE_LENGTH} characters of JSON.`,
  );
}
