import { Command } from "commander";
import { calendarDateOf } from "../../core/attestation/calendar-date.ts";
import { readAttestations } from "../../core/attestation/read.ts";
import type { Standing } from "../../core/attestation/verdict.ts";
import { ATTESTATIONS_PATH } from "../../core/discovery/attestations.ts";
import { Downloads } from "../../core/discovery/downloads.ts";
import { readJson } from "../../core/discovery/well-known.ts";
import type { Json } from "../../core/json.ts";
import { DEFAULT_DISCOVERY_LIMITS } from "../../core/limits.ts";
import type { CanonicalOrigin } from "../../core/origin.ts";
import { CommandError } from "../command-error.ts";
import { readAttestationsFile } from "../files.ts";
import { connectTo, readOrigin } from "../origin-connection.ts";
import { repeatable } from "../repeated-options.ts";
import { REVIEWER_HELP, type ReviewerFlags, readTrustedReviewers } from "../reviewer-options.ts";
import { type Terminal, table } from "../terminal.ts";
import { type TrustedReviewers, verdictsUnder } from "../verdicts.ts";

interface VerifyFlags extends ReviewerFlags {
  readonly json?: true;
}

/** What became of one entry. Plain JSON. */
export interface VerifiedEntry {
  readonly skill: string;
  readonly origin: string;
  readonly toolSha256: string;
  readonly attester: string;
  readonly signedOn: string;
  readonly validUntil: string;
  readonly standing: Standing | "other_origin";
  /** Why an invalid one is; `null` for the others. */
  readonly why: string | null;
}

/** `skillgate attest verify <file|origin>` */
export function verifyCommand(terminal: Terminal): Command {
  return new Command("verify")
    .description("Check every entry of an attestations.json: whose it is, whether it holds today.")
    .argument("<file|origin>", "an attestations.json, or the site that publishes one")
    .addOption(repeatable("--reviewer <attester=key>", REVIEWER_HELP))
    .option("--reviewers <file>", "a JSON file of reviewers: {attester: {public_key, registered_at}}")
    .option("--json", "print the entries as JSON")
    .addHelpText("after", "\nExit codes: 0 every entry holds, 1 one does not, 2 the command line is wrong.")
    .action(async (subject: string, flags: VerifyFlags) => {
      const trusted = await readTrustedReviewers(flags, terminal);
      if (trusted === null) throw new CommandError("usage", "Say whom to trust: --reviewer attester=key.");
      const site = /^https?:\/\//i.test(subject) ? readOrigin(subject) : null;
      const entries = site === null ? await readAttestationsFile(subject, terminal) : await fetchArray(site);
      const { attestations, malformed } = await readAttestations(entries);
      for (const { index, code, message } of malformed) terminal.report(`Entry ${index}: ${code}: ${message}`);

      const verified = await verifyEntries(attestations, site, trusted, terminal.now());
      terminal.print(flags.json ? JSON.stringify(verified, null, 2) : entriesText(verified));
      const good = verified.filter(({ standing }) => standing === "attested");
      if (good.length === 0 || good.length < verified.length || malformed.length > 0) terminal.fail();
    });
}

async function verifyEntries(
  attestations: Awaited<ReturnType<typeof readAttestations>>["attestations"],
  site: CanonicalOrigin | null,
  trusted: TrustedReviewers,
  now: number,
): Promise<readonly VerifiedEntry[]> {
  const today = calendarDateOf(now);
  return Promise.all(
    attestations.map(async (attestation): Promise<VerifiedEntry> => {
      const { origin, skill, toolSha256, attester, signedOn, validUntil } = attestation;
      const subject = { origin, skills: [{ name: skill, toolSha256 }] };
      const [judgement] = await verdictsUnder(subject, [attestation], trusted, today);
      const reason = judgement?.because[0];
      const standing = site !== null && origin !== site ? "other_origin" : (reason?.standing ?? "unverified");
      const why = reason?.failure?.message ?? null;
      return { skill, origin, toolSha256, attester, signedOn, validUntil, standing, why };
    }),
  );
}

async function fetchArray(origin: CanonicalOrigin): Promise<readonly Json[]> {
  const limits = DEFAULT_DISCOVERY_LIMITS;
  await using connection = connectTo(origin);
  const downloads = new Downloads({ ...connection, origin, limits, signal: AbortSignal.timeout(limits.deadlineMs) });
  const url = new URL(`${origin}${ATTESTATIONS_PATH}`);
  const file = await downloads.plain(url, limits.attestationsBytes, "attestations.json");
  const document = file.ok ? readJson(file, "attestations.json") : file;
  if (document !== null && !document.ok) throw new CommandError("discovery_failed", document.message);
  if (document !== null && Array.isArray(document.value)) return document.value as readonly Json[];
  throw new CommandError("discovery_failed", "The file attestations.json is not a JSON array.");
}

function entriesText(entries: readonly VerifiedEntry[]): string {
  const rows = entries.map(({ skill, toolSha256, attester, signedOn, validUntil, standing, why }) => [
    skill,
    toolSha256.slice(0, 12),
    attester,
    signedOn,
    validUntil,
    standing.replaceAll("_", " "),
    why ?? "",
  ]);
  return table(["skill", "tool_sha256", "attester", "signed", "until", "standing", "why"], rows);
}
