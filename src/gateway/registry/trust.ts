import { eq, isNull } from "drizzle-orm";
import type { Reviewer } from "../../core/attestation/reviewer.ts";
import { embeddedTrustRoot, type TrustRoot } from "../../core/attestation/trust-root.ts";
import type { Trust } from "../../core/attestation/verdict.ts";
import { canonicalJson } from "../../core/canonical-json.ts";
import { type Sha256Hex, sha256Hex } from "../../core/integrity.ts";
import type { JsonObject } from "../../core/json.ts";
import { mutate } from "./audit.ts";
import type { Acting, Registry } from "./database.ts";
import { toReviewer } from "./reviewers.ts";
import { reviewers, revocations, trustState } from "./schema.ts";
import { nextTrustVersion, ONLY_ROW } from "./trust-version.ts";

/** Whom the operator trusts, for all origins. */
export interface TrustInForce {
  /** Goes up with every change; while it stays, so does the rest. */
  readonly version: number;
  readonly trust: Trust;
  readonly trustRoot: TrustRoot;
}

/** All of it, as of one moment: one batch of reads. */
export async function readTrust(registry: Registry): Promise<TrustInForce> {
  const [[state], reviewerRows, inForce] = await registry.batch([
    registry.select().from(trustState).where(eq(trustState.id, ONLY_ROW)),
    registry.select().from(reviewers),
    registry
      .select({ kind: revocations.kind, subject: revocations.subject })
      .from(revocations)
      .where(isNull(revocations.liftedAt)),
  ]);
  const subjects = (kind: (typeof inForce)[number]["kind"]) =>
    new Set(inForce.filter((row) => row.kind === kind).map((row) => row.subject as Sha256Hex));
  const trustRoot = await toTrustRoot(state?.trustRoot ?? null);
  return {
    version: state?.version ?? 0,
    trust: {
      reviewers: reviewerRows.map((row): Reviewer => toReviewer(row)),
      revokedAttestations: subjects("attestation"),
      revokedHashes: subjects("hash"),
      trustRootId: trustRoot.id,
    },
    trustRoot,
  };
}

/** What verifies Sigstore bundles. */
export interface TrustRootInForce {
  readonly trustRoot: TrustRoot;
  /** When an operator set it, epoch milliseconds; `null`: it is the one this version was built with. */
  readonly setAt: number | null;
}

export async function readTrustRootInForce(registry: Registry): Promise<TrustRootInForce> {
  const [state] = await registry.select().from(trustState).where(eq(trustState.id, ONLY_ROW));
  return { trustRoot: await toTrustRoot(state?.trustRoot ?? null), setAt: state?.trustRootAt ?? null };
}

/**
 * Replaces the trust root, or goes back to the embedded one. The root in force already: nothing is written.
 *
 * @param trustRoot as `readTrustRoot` gave it; `null`: the embedded one.
 */
export function setTrustRoot(
  registry: Registry,
  acting: Acting,
  trustRoot: TrustRoot | null,
): Promise<TrustRootInForce> {
  return mutate(registry, acting, async () => {
    const before = await readTrustRootInForce(registry);
    const isSame =
      trustRoot === null ? before.setAt === null : before.setAt !== null && before.trustRoot.id === trustRoot.id;
    if (isSame) return { result: before };
    const id = trustRoot?.id ?? embeddedTrustRoot().id;
    const change = {
      trustRoot: trustRoot === null ? null : JSON.stringify(trustRoot.json),
      trustRootAt: trustRoot === null ? null : acting.now,
    };
    return {
      result: { trustRoot: trustRoot ?? embeddedTrustRoot(), setAt: change.trustRootAt },
      writes: [nextTrustVersion(registry), registry.update(trustState).set(change)],
      audit: {
        action: trustRoot === null ? "trust_root.reset" : "trust_root.replace",
        subject: "trust-root",
        detail: { from: before.trustRoot.id, to: id },
      },
    };
  });
}

async function toTrustRoot(stored: string | null): Promise<TrustRoot> {
  if (stored === null) return embeddedTrustRoot();
  const json = JSON.parse(stored) as JsonObject;
  return { id: await sha256Hex(new TextEncoder().encode(canonicalJson(json))), json };
}
