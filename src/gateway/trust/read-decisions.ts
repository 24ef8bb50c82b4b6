import { desc, sql } from "drizzle-orm";
import { readAttestations } from "../../core/attestation/read.ts";
import { type StoredAttestation, skillKey } from "../../core/catalog.ts";
import type { Sha256Hex } from "../../core/integrity.ts";
import type { Json } from "../../core/json.ts";
import type { CanonicalOrigin } from "../../core/origin.ts";
import { selectApproved, selectRejected, toApproved } from "../registry/approved.ts";
import { MAX_STORED_LENGTH, MAX_STORED_PER_ORIGIN } from "../registry/attestations.ts";
import type { Registry } from "../registry/database.ts";
import { attestations } from "../registry/schema.ts";
import type { OriginDecisions, OriginTerms } from "./decisions.ts";

/** An approved or rejected version in memory, and an attestation besides its JSON, about. */
const ROW_BYTES = 200;

/**
 * Reads what `policy_version` stands for, in one batch. It is read after the row that names the version, so it is as new or newer; what is newer is read
 * again when the next row names its version.
 */
export async function readDecisions(
  registry: Registry,
  { originId, policyVersion, mode, pin, forwardTrace, agentSkills, agentSkillsPointer }: OriginTerms,
  origin: CanonicalOrigin,
): Promise<OriginDecisions> {
  const [approved, rejected, entries] = await registry.batch([
    selectApproved(registry, originId),
    selectRejected(registry, originId),
    selectEntries(registry, origin),
  ]);
  const approvals = toApproved(approved);
  const length = entries.reduce((sum, { entry }) => sum + entry.length, 0);
  return {
    version: policyVersion,
    mode,
    pin,
    forwardTrace,
    agentSkills,
    agentSkillsPointer,
    approved: Map.groupBy(approvals, skillKey),
    rejected: new Set(rejected.map(({ toolSha256 }) => toolSha256 as Sha256Hex)),
    stored: await readStored(entries),
    bytes: length + ROW_BYTES * (1 + approvals.length + rejected.length + entries.length),
  };
}

interface EntryRow {
  readonly id: string;
  readonly entry: string;
  readonly storedAt: number;
}

function selectEntries(registry: Registry, origin: CanonicalOrigin) {
  return registry
    .select({ id: attestations.id, entry: attestations.entry, storedAt: attestations.storedAt })
    .from(attestations)
    .where(
      sql`rowid IN (
        SELECT rowid FROM (
          SELECT rowid, SUM(LENGTH(entry)) OVER (ORDER BY stored_at DESC, id) AS length
          FROM attestations WHERE origin = ${origin} ORDER BY stored_at DESC, id LIMIT ${MAX_STORED_PER_ORIGIN}
        ) WHERE length <= ${MAX_STORED_LENGTH})`,
    )
    .orderBy(desc(attestations.storedAt), attestations.id);
}

/** Rows hold what was read before; one that today's rules refuse counts for nothing. */
async function readStored(rows: readonly EntryRow[]): Promise<readonly StoredAttestation[]> {
  const storedAt = new Map(rows.map((row) => [row.id, row.storedAt]));
  const { attestations: read } = await readAttestations(rows.flatMap(({ entry }) => parsed(entry)));
  // An id that the row does not have would be an entry that was altered in the database.
  return read.flatMap((attestation) => {
    const at = storedAt.get(attestation.id);
    return at === undefined ? [] : [{ attestation, storedAt: at }];
  });
}

/** What is no JSON was altered in the database: it costs no other entry. */
function parsed(entry: string): [Json] | [] {
  try {
    return [JSON.parse(entry) as Json];
  } catch {
    console.error(JSON.stringify({ event: "attestation_altered" }));
    return [];
  }
}
