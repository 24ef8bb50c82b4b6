import type { UnidentifiedAttestation } from "../../core/attestation/attestation.ts";
import { readAttestations } from "../../core/attestation/read.ts";
import { ATTESTATIONS_PATH } from "../../core/discovery/attestations.ts";
import type { Json } from "../../core/json.ts";
import { subjectOf } from "../attest/sign.ts";
import type { SiteDraft } from "./site-draft.ts";

const PATH = ATTESTATIONS_PATH.slice(1);

/** What `attestations.json` has; `null` where there is no such file, or none that can be read. */
export async function readAttestationsFile(draft: SiteDraft): Promise<readonly Json[] | null> {
  const text = await draft.readText(PATH);
  if (text === null) return null;
  try {
    const value: unknown = JSON.parse(text.replace(/^\uFEFF/, ""));
    if (Array.isArray(value)) return value as readonly Json[];
    draft.fail(PATH, "bad_shape", "The file attestations.json is not an array.");
  } catch {
    draft.fail(PATH, "bad_json", "The file attestations.json is not valid JSON.");
  }
  return null;
}

/**
 * Adds attestations that reviewers sent. One takes the place of the same reviewer's earlier one about the same code, which is
 * noted; nothing else goes, neither what is about older code nor what cannot be read.
 */
export async function mergeAttestations(draft: SiteDraft, added: readonly Json[]): Promise<void> {
  const present = (await readAttestationsFile(draft)) ?? [];
  if (added.length === 0 || draft.failures.some(({ file }) => file === PATH)) return;
  const entries = [...present];
  const reasons: string[] = [];
  for (const entry of added) {
    const read = await readOne(entry);
    if (read === undefined) {
      const [problem] = (await readAttestations([entry])).malformed;
      draft.fail(PATH, problem?.code ?? "bad_shape", `An attestation to be added: ${problem?.message}`);
      continue;
    }
    if (entries.some((other) => JSON.stringify(other) === JSON.stringify(entry))) continue;
    const position = await findSubject(entries, read);
    const shown = `${read.skill} by ${read.attester} until ${read.validUntil}`;
    if (position === -1) entries.push(entry);
    else {
      const before = await readOne(entries[position] as Json);
      draft.notes.push(`The attestation of ${shown} takes the place of the one until ${before?.validUntil}.`);
      entries[position] = entry;
    }
    reasons.push(`the attestation of ${shown} is missing`);
  }
  if (reasons.length > 0) await draft.write(PATH, `${JSON.stringify(entries, null, 2)}\n`, reasons);
}

async function readOne(entry: Json): Promise<UnidentifiedAttestation | undefined> {
  return (await readAttestations([entry])).attestations[0];
}

async function findSubject(entries: readonly Json[], read: UnidentifiedAttestation): Promise<number> {
  for (const [position, entry] of entries.entries()) {
    const other = await readOne(entry);
    if (other !== undefined && subjectOf(other) === subjectOf(read)) return position;
  }
  return -1;
}
