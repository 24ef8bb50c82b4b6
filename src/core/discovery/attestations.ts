import type { Attestation } from "../attestation/attestation.ts";
import { type MalformedEntry, readAttestations } from "../attestation/read.ts";
import type { Json } from "../json.ts";
import type { DiscoveryLimits } from "../limits.ts";
import { type Checked, passed, type Refused, refused, rejection, WHOLE_ORIGIN } from "./checked.ts";
import { type Download, failedFetch, releaseFull } from "./downloads.ts";
import type { ReleaseLedger } from "./ledger.ts";
import type { Rejection } from "./release.ts";
import { readJson } from "./well-known.ts";

export const ATTESTATIONS_PATH = "/.well-known/agent-skills/attestations.json";

/** Malformed entries that a release reports one by one: a file can hold tens of thousands. */
const MAX_MALFORMED = 100;

/** What arrived of `attestations.json`. */
export interface AttestationsFile {
  /** `null`: the origin has no such file. */
  readonly list: Checked<readonly Json[]> | null;
  /** Bytes. */
  readonly size: number;
}

/** @param url of the file, for what is reported of it. */
export function readAttestationsFile(file: Download, url: URL): AttestationsFile {
  const list = readList(file);
  const size = file.ok ? file.value.length : 0;
  // What came is not what was wanted.
  return list?.ok === false && file.ok ? { list: { ...list, fetch: failedFetch(url, 200) }, size } : { list, size };
}

/**
 * Whether what was reported of `attestations.json` says nothing of what the origin attests. Only a list takes something back, and the word
 * that there is none (404, 410): anything else may be a fault of a host, or the page of a firewall.
 */
export function isUnread({ code, fetch }: Pick<Rejection, "code" | "fetch">): boolean {
  return code === "release_too_large" || (fetch !== undefined && fetch.status !== 410);
}

/**
 * The well-formed entries of `attestations.json`, a JSON array (Skill Attestations v0.4 §3). Whatever is odd is reported and
 * changes nothing else. Whether their signatures hold is judged elsewhere.
 *
 * @param last the entries that the origin served before: they stay while it does not say what it serves now, see {@link isUnread}.
 */
export async function keepAttestations(
  { list, size }: AttestationsFile,
  last: readonly Attestation[],
  { ledger, limits, rejected }: { ledger: ReleaseLedger; limits: DiscoveryLimits; rejected: Rejection[] },
): Promise<readonly Attestation[]> {
  const report = (problem: Refused) => rejected.push(rejection("attestations", WHOLE_ORIGIN, problem));
  if (list === null) return [];
  if (!list.ok) {
    report(list);
    const length = isUnread(list) ? JSON.stringify(last).length : 0;
    return length > 0 && ledger.take(ATTESTATIONS_PATH, length) ? last : [];
  }
  if (!ledger.take(ATTESTATIONS_PATH, size)) {
    report(releaseFull("attestations.json", limits));
    return [];
  }
  const { attestations, malformed } = await readAttestations(list.value);
  for (const problem of reported(malformed)) report(problem);
  return attestations;
}

function readList(file: Download): Checked<readonly Json[]> | null {
  const document = readJson(file, "attestations.json");
  if (document === null || !document.ok) return document;
  const { value } = document;
  return Array.isArray(value)
    ? passed(value as Json[])
    : refused("bad_shape", "The file attestations.json is not a JSON array.");
}

function reported(malformed: readonly MalformedEntry[]): Refused[] {
  const shown = malformed.slice(0, MAX_MALFORMED);
  const problems = shown.map(({ index, code, message }) =>
    refused(code, `Entry ${index} of attestations.json: ${message}`),
  );
  const more = malformed.length - shown.length;
  if (more > 0) problems.push(refused("bad_shape", `In attestations.json, ${more} more entries are malformed.`));
  return problems;
}
