import { asc, gt } from "drizzle-orm";
import type { NotedRows, SignedHead } from "../durable/audit-head.ts";
import { type AuditRow, auditHash, type ChainHead, GENESIS_HASH } from "./audit.ts";
import type { Registry } from "./database.ts";
import { auditLog } from "./schema.ts";

/** Rows that one step verifies. */
export const VERIFY_ROWS = 500;

/** Before the first row. */
export const CHAIN_START: ChainHead = { seq: 0, hash: GENESIS_HASH };

/** The first row that is not as it was written. */
export interface BrokenRow {
  readonly seq: number;
  readonly reason: /** There is no such row, though later ones are, or the witness noted one. */
    | "missing_row"
    /** It stands before the first row. */
    | "unexpected_row"
    /** It does not hold the hash of the row before it. */
    | "broken_link"
    /** Its hash is not that of its content. */
    | "changed_row"
    /** The chain holds, but the witness noted another row here when it was written. */
    | "other_than_noted";
}

export interface ChainStep {
  /** The last row found to be as it was written; where the next step begins. */
  readonly verified: ChainHead;
  readonly broken: BrokenRow | null;
  /** `null`: the witness never noted a row. */
  readonly head: SignedHead | null;
  /** Rows of this step that fit, but were not noted: written just before a crash, or while the witness was out of reach, or by others. */
  readonly unnoted: readonly number[];
  /** Whether rows remain. */
  readonly isLast: boolean;
}

/**
 * Verifies up to 500 rows of the chain: each by its own hash, the one before it, and what the witness noted when it was written. On the
 * last step the chain must reach the witness's head. No row of the database is taken on trust.
 *
 * @param from the row that an earlier step ended with, or {@link CHAIN_START}.
 * @param noted what the witness noted of rows after one, up to another. It is asked before the rows are read, so that a row written
 * meanwhile is not missed.
 */
export async function verifyChain(
  registry: Registry,
  from: ChainHead,
  noted: (after: number, to: number) => Promise<NotedRows>,
): Promise<ChainStep> {
  const { head, hashes } = await noted(from.seq, from.seq + VERIFY_ROWS);
  const rows = await registry
    .select()
    .from(auditLog)
    // A row may have been put before the first.
    .where(gt(auditLog.seq, from.seq === 0 ? Number.MIN_SAFE_INTEGER : from.seq))
    .orderBy(asc(auditLog.seq))
    .limit(VERIFY_ROWS);
  let verified = from;
  const unnoted: number[] = [];
  const step = (broken: BrokenRow | null, isLast: boolean): ChainStep => ({ verified, broken, head, unnoted, isLast });
  for (const row of rows) {
    const broken = await faultOf(row, verified, hashes);
    if (broken !== null) return step(broken, true);
    if (!hashes.has(row.seq)) unnoted.push(row.seq);
    verified = { seq: row.seq, hash: row.hash };
  }
  if (rows.length === VERIFY_ROWS) return step(null, false);
  const isCut = head !== null && head.seq > verified.seq;
  return step(isCut ? { seq: verified.seq + 1, reason: "missing_row" } : null, true);
}

async function faultOf(
  row: AuditRow,
  before: ChainHead,
  noted: ReadonlyMap<number, string>,
): Promise<BrokenRow | null> {
  const { seq } = row;
  if (seq <= before.seq) return { seq, reason: "unexpected_row" };
  if (seq > before.seq + 1) return { seq: before.seq + 1, reason: "missing_row" };
  if (row.prevHash !== before.hash) return { seq, reason: "broken_link" };
  if (row.hash !== (await auditHash(row))) return { seq, reason: "changed_row" };
  const known = noted.get(seq);
  return known === undefined || known === row.hash ? null : { seq, reason: "other_than_noted" };
}
