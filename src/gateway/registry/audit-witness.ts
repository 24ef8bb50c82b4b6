import { withDeadline } from "../deadline.ts";
import type { AuditHead, NotedRows } from "../durable/audit-head.ts";
import type { Env } from "../env.ts";
import type { ChainHead } from "./audit.ts";

/** A mutation waits this long for its row to be noted; it stands either way. */
const NOTE_TIMEOUT_MS = 2_000;
const READ_TIMEOUT_MS = 10_000;

/** The witness's methods as a caller sees them. */
type Witness = Pick<AuditHead, "note" | "noted">;

/** Notes a row that was written, and the one `before` it where nothing was noted yet. Where the witness does not answer, the row goes without a note, which the log says and `verify` counts. */
export async function noteRow(env: Env, head: ChainHead, before: ChainHead | null): Promise<void> {
  try {
    await withDeadline(witnessOf(env).note(head, before), NOTE_TIMEOUT_MS);
  } catch (error) {
    console.error(JSON.stringify({ event: "audit_row_not_noted", seq: head.seq, error: String(error) }));
  }
}

/** What the witness noted of the rows after `after`, up to `to`. @throws where it does not answer. */
export function readNoted(env: Env, after: number, to: number): Promise<NotedRows> {
  return withDeadline(witnessOf(env).noted(after, to), READ_TIMEOUT_MS);
}

function witnessOf(env: Env): Witness {
  return env.AUDIT_HEAD.get(env.AUDIT_HEAD.idFromName("audit")) as unknown as Witness;
}
