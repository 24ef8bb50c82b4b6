import { desc } from "drizzle-orm";
import { canonicalJson } from "../../core/canonical-json.ts";
import { sha256Hex } from "../../core/integrity.ts";
import type { JsonObject } from "../../core/json.ts";
import type { Acting, Registry, Statement } from "./database.ts";
import { BatchFailed, isStatementAtFault } from "./database-failure.ts";
import { RegistryError } from "./errors.ts";
import { auditLog } from "./schema.ts";

/** `prev_hash` of the first row. */
export const GENESIS_HASH = "0".repeat(64);

/**
 * Lost races before a mutation gives up. Measured: of 50 mutations at once none needed more than 20 attempts where a round trip
 * to the database takes 40 ms, and none more than 2 with a local database.
 */
const MAX_ATTEMPTS = 40;
const MAX_BACKOFF_MS = 250;

/**
 * By action: whether it may change what a client sees of an origin, or end its access. A site's own actions do not count here: what they change
 * is told to the origin that the site is published under, and to no other.
 *
 * Each name is a word or several with dots between; none is the beginning of another up to a dot.
 */
const CONCERNS_CLIENTS = {
  "origin.create": false,
  "origin.update": true,
  "origin.probe": false,
  "origin.activate": true,
  "origin.suspend": true,
  "origin.revoke": true,
  "skill.approve": true,
  "skill.reject": true,
  "skill.forget": true,
  "reviewer.create": true,
  "reviewer.retire": true,
  "reviewer.revoke": true,
  "attestation.create": true,
  "attestation.omit": true,
  "revocation.create": true,
  "revocation.lift": true,
  "trust_root.replace": true,
  "trust_root.reset": true,
  import: true,
  "client.create": false,
  "client.update": true,
  "client.tools": true,
  "client.limits": false,
  "client.suspend": true,
  "client.resume": true,
  "client.token.create": false,
  "client.token.inspect": false,
  "client.token.revoke": true,
  "operator.create": false,
  // An inspection token ends with its operator.
  "operator.update": true,
  "operator.token.create": false,
  "operator.token.revoke": true,
  "session.create": false,
  "session.end": true,
  "bootstrap.retire": true,
  "site.create": false,
  "site.update": false,
  "site.publish": false,
  "site.rollback": false,
  "site.delete": false,
  "agent_skill.digest_mismatch": false,
  "agent_skill.quarantine": true,
  "agent_skill.repair": true,
} as const satisfies Record<string, boolean>;

export type AuditAction = keyof typeof CONCERNS_CLIENTS;
export const AUDIT_ACTIONS = Object.keys(CONCERNS_CLIENTS) as readonly AuditAction[];

/** Whether an action may change what a client sees of an origin, or end its access. One that is not known may. */
export function concernsClients(action: string): boolean {
  return !Object.hasOwn(CONCERNS_CLIENTS, action) || CONCERNS_CLIENTS[action as AuditAction];
}

/** What a mutation writes about itself. `detail` never holds a token, a secret or an argument value. */
export interface AuditEntry {
  readonly action: AuditAction;
  /** The id of the row it is about. */
  readonly subject: string;
  readonly detail: JsonObject;
}

/** A row of the chain, by its number and hash. */
export type ChainHead = Pick<AuditRow, "seq" | "hash">;

/** What a mutation decided to do, given the state it read. */
export type Decision<T> =
  | { readonly result: T; readonly writes: readonly Statement[]; readonly audit: AuditEntry }
  /** The state already is as wished: nothing is written, and no audit row either. */
  | { readonly result: T; readonly writes?: undefined };

export type AuditRow = typeof auditLog.$inferSelect;

/**
 * Runs a mutation and writes its audit row in the same atomic batch.
 *
 * The chain's head is read first, then `decide` reads the state and says what to write. The audit row claims the head as
 * its `prev_hash`, which is unique: if any other mutation committed in between, the whole batch fails and everything starts
 * again from the new state. So mutations behave as if they ran one after another, and each is applied once with its row or
 * not at all. Reads inside `decide` must go to the primary (no D1 session), as they do by default.
 *
 * @throws RegistryError `busy` after 40 lost races; whatever `decide` throws; BatchFailed for D1's own errors, after which a batch
 * may or may not have been applied and is not repeated.
 */
export async function mutate<T>(registry: Registry, acting: Acting, decide: () => Promise<Decision<T>>): Promise<T> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    if (attempt > 0) await backOff(attempt);
    const head = await auditHead(registry);
    await acting.require?.();
    const decision = await decide();
    if (decision.writes === undefined) return decision.result;
    const row = await chainRow(head, acting, decision.audit);
    const alongside = acting.alongside?.(decision.result) ?? [];
    try {
      await registry.batch([registry.insert(auditLog).values(row), ...decision.writes, ...alongside]);
    } catch (error) {
      if (lostTheRace(error)) continue;
      throw isStatementAtFault(error) ? error : new BatchFailed(error);
    }
    const before = head === undefined ? null : { seq: head.seq, hash: head.hash };
    await acting.noteRow?.(row, before);
    return decision.result;
  }
  throw new RegistryError("busy", `Other changes came first ${MAX_ATTEMPTS} times; nothing was changed, please retry.`);
}

async function auditHead(registry: Registry): Promise<AuditRow | undefined> {
  const [head] = await registry.select().from(auditLog).orderBy(desc(auditLog.seq)).limit(1);
  return head;
}

async function chainRow(head: AuditRow | undefined, acting: Acting, entry: AuditEntry): Promise<AuditRow> {
  const unhashed = {
    seq: (head?.seq ?? 0) + 1,
    at: acting.now,
    actor: acting.actor,
    action: entry.action,
    subject: entry.subject,
    detail: canonicalJson(entry.detail),
    requestId: acting.requestId,
    prevHash: head?.hash ?? GENESIS_HASH,
  };
  return { ...unhashed, hash: await auditHash(unhashed) };
}

/** SHA-256, lower-case hex, of `prevHash` followed by the canonical JSON of the row's other columns (`detail` as the stored text). */
export async function auditHash(row: Omit<AuditRow, "hash">): Promise<string> {
  const { prevHash, seq, at, actor, action, subject, detail, requestId } = row;
  const text = prevHash + canonicalJson({ seq, at, actor, action, subject, detail, requestId });
  return sha256Hex(new TextEncoder().encode(text));
}

/** The row number and the claimed hash are both unique: either may be the one that a concurrent winner has taken. */
function lostTheRace(error: unknown): boolean {
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    if (/UNIQUE constraint failed: audit_log\.(prev_hash|seq)/.test(cause.message)) return true;
  }
  return false;
}

/** Full jitter, so that losers do not meet again. */
function backOff(attempt: number): Promise<void> {
  const ceiling = Math.min(MAX_BACKOFF_MS, 4 * 2 ** attempt);
  return new Promise((resolve) => setTimeout(resolve, Math.random() * ceiling));
}
