import { desc, isNull, sql } from "drizzle-orm";
import { readAttestations } from "../../core/attestation/read.ts";
import type { Reviewer } from "../../core/attestation/reviewer.ts";
import { embeddedTrustRoot, type TrustRoot } from "../../core/attestation/trust-root.ts";
import { canonicalJson } from "../../core/canonical-json.ts";
import { type StoredAttestation, skillKey } from "../../core/catalog.ts";
import { type Sha256Hex, sha256Hex } from "../../core/integrity.ts";
import type { Json, JsonObject } from "../../core/json.ts";
import type { CanonicalOrigin } from "../../core/origin.ts";
import { approvedVersions } from "../registry/approved.ts";
import type { Registry } from "../registry/database.ts";
import { attestations, reviewers, revocations, trustState } from "../registry/schema.ts";
import type { GatewayTrust, OriginDecisions, OriginTerms } from "./decisions.ts";

/** Attestations and characters of their JSON that are read of the gateway's store for one origin, the newest first. */
export const MAX_STORED = 5_000;
export const MAX_STORED_LENGTH = 4 * 1_048_576;
/** An approved version in memory, and an attestation besides its JSON, about. */
const ROW_BYTES = 200;

/**
 * Reads what `policy_version` stands for. It is read after the row that names the version, so it is as new or newer; what is newer is read
 * again when the next row names its version.
 */
export async function readDecisions(
  registry: Registry,
  { originId, policyVersion, mode, pin, forwardTrace }: OriginTerms,
  origin: CanonicalOrigin,
): Promise<OriginDecisions> {
  const [approvals, entries] = await Promise.all([approvedVersions(registry, originId), readEntries(registry, origin)]);
  const length = entries.reduce((sum, { entry }) => sum + entry.length, 0);
  return {
    version: policyVersion,
    mode,
    pin,
    forwardTrace,
    approved: Map.groupBy(approvals, skillKey),
    stored: await readStored(entries),
    bytes: length + ROW_BYTES * (1 + approvals.length + entries.length),
  };
}

interface EntryRow {
  readonly id: string;
  readonly entry: string;
  readonly storedAt: number;
}

function readEntries(registry: Registry, origin: CanonicalOrigin): Promise<readonly EntryRow[]> {
  return registry
    .select({ id: attestations.id, entry: attestations.entry, storedAt: attestations.storedAt })
    .from(attestations)
    .where(
      sql`rowid IN (
        SELECT rowid FROM (
          SELECT rowid, SUM(LENGTH(entry)) OVER (ORDER BY stored_at DESC, id) AS length
          FROM attestations WHERE origin = ${origin} ORDER BY stored_at DESC, id LIMIT ${MAX_STORED}
        ) WHERE length <= ${MAX_STORED_LENGTH})`,
    )
    .orderBy(desc(attestations.storedAt), attestations.id);
}

/** Rows hold what was read before; one that today's rules refuse counts for nothing. */
async function readStored(rows: readonly EntryRow[]): Promise<readonly StoredAttestation[]> {
  const storedAt = new Map(rows.map((row) => [row.id, row.storedAt]));
  const { attestations: read } = await readAttestations(rows.map(({ entry }) => JSON.parse(entry) as Json));
  // An id that the row does not have would be an entry that was altered in the database.
  return read.flatMap((attestation) => {
    const at = storedAt.get(attestation.id);
    return at === undefined ? [] : [{ attestation, storedAt: at }];
  });
}

/** Reads everything that the version of `trust_state` stands for, at one moment. */
export async function readGatewayTrust(registry: Registry): Promise<GatewayTrust> {
  const [[state], reviewerRows, revoked] = await registry.batch([
    registry.select().from(trustState).limit(1),
    registry.select().from(reviewers),
    registry
      .select({ kind: revocations.kind, subject: revocations.subject })
      .from(revocations)
      .where(isNull(revocations.liftedAt)),
  ]);
  const trustRoot = await trustRootOf(state?.trustRoot ?? null);
  const subjects = (kind: "attestation" | "hash") =>
    new Set(revoked.filter((row) => row.kind === kind).map(({ subject }) => subject as Sha256Hex));
  return {
    version: state?.version ?? 0,
    trustRoot,
    trust: {
      reviewers: reviewerRows.map(toReviewer),
      revokedAttestations: subjects("attestation"),
      revokedHashes: subjects("hash"),
      trustRootId: trustRoot.id,
    },
  };
}

/** What is stored was read and judged before. */
async function trustRootOf(stored: string | null): Promise<TrustRoot> {
  if (stored === null) return embeddedTrustRoot();
  const json = JSON.parse(stored) as JsonObject;
  return { id: await sha256Hex(new TextEncoder().encode(canonicalJson(json))), json };
}

function toReviewer(row: typeof reviewers.$inferSelect): Reviewer {
  const { id, attester, kind, publicKey, issuer, identity, registeredAt, retiredAt, revokedAt } = row;
  return {
    id,
    attester,
    key:
      kind === "ed25519"
        ? { kind, publicKey: publicKey ?? "" }
        : { kind, issuer: issuer ?? "", identity: identity ?? "" },
    registeredAt,
    retiredAt,
    revokedAt,
  };
}
