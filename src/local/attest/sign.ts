import type { UnidentifiedAttestation } from "../../core/attestation/attestation.ts";
import { readAttestations } from "../../core/attestation/read.ts";
import { publishableAttestations, signAttestation } from "../../core/attestation/sign.ts";
import { type Checked, passed } from "../../core/discovery/checked.ts";
import { checkSkillLine } from "../../core/discovery/lines.ts";
import type { Sha256Hex } from "../../core/integrity.ts";
import type { Json } from "../../core/json.ts";
import { DEFAULT_DISCOVERY_LIMITS } from "../../core/limits.ts";
import type { SkillLine } from "../../core/llmstxt/llmstxt.ts";
import type { CanonicalOrigin } from "../../core/origin.ts";
import { CommandError } from "../command-error.ts";
import type { ReviewerKeyPair } from "./key-file.ts";
import type { Period } from "./period.ts";
import type { SkillSource } from "./skill-source.ts";

/** Which lines to sign: all, or those with one of these names; of one scope only, where one is given. */
export interface Choice {
  readonly all: boolean;
  readonly names: readonly string[];
  readonly scope: string | null;
}

/** @throws {CommandError} `unknown_skill` for a name that no line has. */
export function chooseLines(lines: readonly SkillLine[], { all, names, scope }: Choice): readonly SkillLine[] {
  const inScope = scope === null ? lines : lines.filter((line) => line.scope === scope);
  const where = scope === null ? "" : ` in the scope ${scope}`;
  if (all && inScope.length > 0) return inScope;
  if (all) throw new CommandError("unknown_skill", `There is no executable skill${where}.`);
  const missing = names.find((name) => !inScope.some((line) => line.name === name));
  if (missing === undefined) return inScope.filter(({ name }) => names.includes(name));
  const known = [...new Set(inScope.map(({ name }) => name))].slice(0, 20).join(", ");
  throw new CommandError("unknown_skill", `There is no skill ${missing}${where}; there is ${known || "none"}.`);
}

export interface Signing {
  readonly origin: CanonicalOrigin;
  readonly source: SkillSource;
  readonly key: ReviewerKeyPair;
  readonly period: Period;
  readonly note: string | null;
}

export interface Signed {
  readonly attestations: readonly UnidentifiedAttestation[];
  /** Skills that cannot be signed, each with the reason. */
  readonly refused: readonly { readonly name: string; readonly code: string; readonly message: string }[];
}

/**
 * Signs lines whose script was read and has the declared hash: nobody vouches for bytes that nobody has seen. An attestation
 * says nothing of scopes, so that one serves all lines of the same name and code.
 */
export async function signLines(lines: readonly SkillLine[], signing: Signing): Promise<Signed> {
  const { origin, key, period, note } = signing;
  const attestations = new Map<string, UnidentifiedAttestation>();
  const refused: Signed["refused"][number][] = [];
  await Promise.all(
    lines.map(async (line) => {
      const tool = await readTool(line, signing);
      if (!tool.ok) {
        refused.push({ name: line.name, code: tool.code, message: tool.message });
        return;
      }
      const claim = { origin, skill: line.name, toolSha256: tool.value, ...period };
      attestations.set(`${line.name} ${claim.toolSha256}`, await signAttestation(claim, key, note));
    }),
  );
  return { attestations: [...attestations.values()], refused };
}

/** The hash that a line declares, once bytes have it. */
async function readTool(line: SkillLine, { origin, source }: Signing): Promise<Checked<Sha256Hex>> {
  const checked = checkSkillLine(line, origin, DEFAULT_DISCOVERY_LIMITS);
  if (!checked.ok) return checked;
  const { tool } = checked.value;
  const bytes = await source.readTool(tool);
  return bytes.ok ? passed(tool.sha256) : bytes;
}

/**
 * The array to publish: what was published before, less what the new attestations replace (the same attester on the same
 * code), and the new ones. Entries that cannot be read stay as they are.
 */
export async function mergePublished(
  published: readonly Json[],
  fresh: readonly UnidentifiedAttestation[],
): Promise<readonly Json[]> {
  const replaced = new Set(fresh.map(subjectOf));
  const kept: Json[] = [];
  for (const entry of published) {
    const [read] = (await readAttestations([entry])).attestations;
    if (read === undefined || !replaced.has(subjectOf(read))) kept.push(entry);
  }
  return [...kept, ...publishableAttestations(fresh)];
}

export function subjectOf({ origin, skill, toolSha256, attester }: UnidentifiedAttestation): string {
  return JSON.stringify([origin, skill, toolSha256, attester]);
}
