import { z } from "@hono/zod-openapi";
import type { Attestation } from "../../core/attestation/attestation.ts";
import { MAX_ENTRIES, readAttestations } from "../../core/attestation/read.ts";
import type { Judgement } from "../../core/attestation/verdict.ts";
import type { Sha256Hex } from "../../core/integrity.ts";
import type { Json } from "../../core/json.ts";
import { storeAttestations } from "../registry/attestations.ts";
import type { Acting, Registry } from "../registry/database.ts";
import { readTrust } from "../registry/trust.ts";
import { judge, skillOf } from "./judging.ts";
import { Problem } from "./problem.ts";

const Index = z.int().min(0).openapi({ description: "From 0, in the list as given." });

/** What became of one entry. */
export const AttestationResult = z
  .discriminatedUnion("status", [
    z.object({
      index: Index,
      status: z.literal("accepted"),
      id: z.string(),
      isNew: z.boolean().openapi({
        description:
          "false: it was stored before, or stands in the list before. Of one attester's bundles about the same five values one is stored.",
      }),
      verdict: z.enum(["attested", "expired", "invalid", "unattested"]).openapi({
        description: "Of its skill, if there were no other attestation.",
      }),
      standing: z.string().openapi({ example: "unknown_attester" }),
    }),
    z.object({ index: Index, status: z.literal("refused"), code: z.string(), message: z.string() }),
  ])
  .openapi("AttestationResult");

type Result = z.infer<typeof AttestationResult>;
type Refused = Extract<Result, { status: "refused" }>;

/**
 * Judges entries one by one and stores the accepted ones, all in one batch.
 *
 * @returns in the order of `entries`.
 * @throws Problem `bad_request` for more than 10,000 entries; RegistryError `too_many_attestations`.
 */
export async function recordAttestations(
  registry: Registry,
  acting: Acting,
  entries: readonly Json[],
): Promise<readonly Result[]> {
  if (entries.length > MAX_ENTRIES) {
    throw new Problem("bad_request", {
      detail: `The list has ${entries.length} entries; the limit is ${MAX_ENTRIES}.`,
    });
  }
  const read = await Promise.all(entries.map((entry, index) => readOne(entry, index)));
  const attestations = new Map<Sha256Hex, Attestation>();
  for (const one of read) if ("id" in one) attestations.set(one.proofId, one);
  const trust = await readTrust(registry);
  const judgements = new Map<Sha256Hex, Judgement>();
  for (const attestation of attestations.values()) {
    const evidence = [{ attestation, storedAt: acting.now }];
    const [judgement] = await judge([skillOf(attestation)], evidence, trust, acting.now);
    if (judgement !== undefined) judgements.set(attestation.proofId, judgement);
  }
  const refusals = new Map<Sha256Hex, Omit<Refused, "index">>();
  for (const [proofId, judgement] of judgements) {
    const refusal = refusalOf(judgement);
    if (refusal !== null) refusals.set(proofId, refusal);
  }
  const accepted = new Map<Sha256Hex, Attestation>();
  for (const one of attestations.values()) {
    if (!refusals.has(one.proofId) && !accepted.has(one.id)) accepted.set(one.id, one);
  }
  const fresh = new Set(await storeAttestations(registry, acting, [...accepted.values()]));
  return read.map((one, index): Result => {
    if (!("id" in one)) return one;
    const refusal = refusals.get(one.proofId);
    if (refusal !== undefined) return { index, ...refusal };
    const { verdict, because } = judgements.get(one.proofId) ?? { verdict: "unattested", because: [] };
    const standing = because[0]?.standing ?? "unverified";
    // The first of equal entries is the new one.
    return { index, status: "accepted", id: one.id, isNew: fresh.delete(one.id), verdict, standing };
  });
}

async function readOne(entry: Json, index: number): Promise<Attestation | Refused> {
  const { attestations, malformed } = await readAttestations([entry]);
  const [attestation] = attestations;
  if (attestation !== undefined) return attestation;
  const { code, message } = malformed[0] ?? { code: "not_an_object", message: "The entry is not a JSON object." };
  return { index, status: "refused", code, message };
}

/** What would only do harm in the store: a failing proof makes its skill invalid, a revoked attestation counts for nothing. */
function refusalOf({ because: [reason] }: Judgement): Omit<Refused, "index"> | null {
  if (reason?.standing === "invalid") {
    const { code, message } = reason.failure ?? { code: "invalid", message: "The proof does not hold." };
    return { status: "refused", code, message };
  }
  if (reason?.standing === "revoked_attestation") {
    return { status: "refused", code: "revoked_attestation", message: "The attestation is revoked; lift that first." };
  }
  return null;
}
