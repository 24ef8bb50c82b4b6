import { z } from "zod";
import { isCalendarDate } from "../core/attestation/calendar-date.ts";
import { readPublicKey } from "../core/attestation/ed25519.ts";
import { isAttester } from "../core/attestation/read.ts";
import { isNamedByIdentity, type Reviewer, type ReviewerKey } from "../core/attestation/reviewer.ts";
import { embeddedTrustRoot } from "../core/attestation/trust-root.ts";
import { CommandError } from "./command-error.ts";
import { readJsonFile } from "./files.ts";
import type { Terminal } from "./terminal.ts";
import type { TrustedReviewers } from "./verdicts.ts";

export const REVIEWER_HELP =
  "whom to trust: type:name and the public key in base64, or sigstore:identity=issuer|identity";

export interface ReviewerFlags {
  readonly reviewer: readonly string[];
  readonly reviewers?: string;
}

/**
 * The reviewers that a command line names; `null` where it names none.
 *
 * @throws {CommandError} `bad_reviewer`, `bad_file`.
 */
export async function readTrustedReviewers(
  { reviewer, reviewers: file }: ReviewerFlags,
  terminal: Pick<Terminal, "cwd">,
): Promise<TrustedReviewers | null> {
  const given = reviewer.map(readReviewer);
  if (file !== undefined) given.push(...(await readRegistry(file, terminal)));
  return given.length === 0 ? null : { reviewers: given, trustRoot: embeddedTrustRoot() };
}

/**
 * Reads `attester=key`, `sigstore:identity=issuer|identity`, or `issuer|identity` alone, which says as much. A public key ends in `=` itself,
 * so it is looked for at the end; a name may contain one too.
 *
 * @throws {CommandError} `bad_reviewer`.
 */
export function readReviewer(text: string): Reviewer {
  if (/^https?:\/\//i.test(text)) {
    const [issuer, identity = ""] = splitAtFirst(text, "|");
    if (identity === "") throw unreadable(text);
    return reviewerOf(`sigstore:${identity}`, { kind: "sigstore", issuer, identity }, 0);
  }
  const match = /^(.+?)=([A-Za-z0-9+/]{43}=)$/.exec(text) ?? /^([^=]+)=(.+)$/.exec(text);
  if (match === null) throw unreadable(text);
  const [, attester = "", proof = ""] = match;
  const [issuer = "", identity] = splitAtFirst(proof, "|");
  if (!attester.startsWith("sigstore:")) return reviewerOf(attester, { kind: "ed25519", publicKey: proof }, 0);
  if (identity === undefined) {
    throw new CommandError("bad_reviewer", `The reviewer ${attester} must be given as ${attester}=issuer|identity.`);
  }
  return reviewerOf(attester, { kind: "sigstore", issuer, identity }, 0);
}

const REGISTERED_AT = z.string().refine(isCalendarDate, "must be a day of the calendar, YYYY-MM-DD").optional();
const REGISTRY = z.record(
  z.string(),
  z.union([
    z.object({ public_key: z.string(), registered_at: REGISTERED_AT }),
    z.object({ issuer: z.string(), identity: z.string(), registered_at: REGISTERED_AT }),
  ]),
);

async function readRegistry(file: string, terminal: Pick<Terminal, "cwd">): Promise<Reviewer[]> {
  const read = REGISTRY.safeParse(await readJsonFile(file, terminal));
  if (!read.success) {
    const [issue] = read.error.issues;
    const where = issue?.path.join(".") || "the file";
    const message = `In ${file}, ${where} is not {attester: {public_key} or {issuer, identity}}: ${issue?.message ?? ""}`;
    throw new CommandError("bad_reviewer", message);
  }
  return Object.entries(read.data).map(([attester, entry]) => {
    const registeredAt = entry.registered_at === undefined ? 0 : Date.parse(`${entry.registered_at}T00:00:00Z`);
    const key: ReviewerKey =
      "public_key" in entry
        ? { kind: "ed25519", publicKey: entry.public_key }
        : { kind: "sigstore", issuer: entry.issuer, identity: entry.identity };
    return reviewerOf(attester, key, registeredAt);
  });
}

function unreadable(text: string): CommandError {
  const message = `The reviewer "${text}" must be given as attester=key, or as issuer|identity for Sigstore.`;
  return new CommandError("bad_reviewer", message);
}

function reviewerOf(attester: string, key: ReviewerKey, registeredAt: number): Reviewer {
  if (!isAttester(attester)) {
    throw new CommandError("bad_reviewer", `The reviewer "${attester}" is not written type:name, such as human:ada.`);
  }
  if (key.kind === "ed25519") {
    const raw = readPublicKey(key.publicKey);
    if (typeof raw === "string")
      throw new CommandError("bad_reviewer", `The reviewer ${attester} cannot be used. ${raw}`);
  }
  if (!isNamedByIdentity({ attester, key })) {
    throw new CommandError("bad_reviewer", `The reviewer ${attester} must be called sigstore: and its identity.`);
  }
  const id = key.kind === "ed25519" ? key.publicKey : `${key.issuer}|${key.identity}`;
  return { id, attester, key, registeredAt, retiredAt: null, revokedAt: null };
}

function splitAtFirst(text: string, separator: string): [string, string?] {
  const at = text.indexOf(separator);
  return at === -1 ? [text] : [text.slice(0, at), text.slice(at + separator.length)];
}
