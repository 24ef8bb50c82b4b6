import { DrizzleQueryError } from "drizzle-orm";

/** D1 did not confirm a batch: it may have been applied, or not. Its message is the cause's business alone. */
export class BatchFailed extends Error {
  override readonly name = "BatchFailed";

  constructor(cause: unknown) {
    super("The database did not confirm a batch.", { cause });
  }
}

/** What SQLite or D1's client says where the statement is at fault: asking again would not help. */
const STATEMENT_AT_FAULT =
  /SQLITE_(?:ERROR|CONSTRAINT|MISMATCH|RANGE|TOOBIG|AUTH|MISUSE)|D1_TYPE_ERROR|Wrong number of parameter/;

/** Whether SQLite refused a statement, so that nothing of its batch was applied. */
export function isStatementAtFault(error: unknown): boolean {
  const innermost = innermostCause(error);
  return STATEMENT_AT_FAULT.test(innermost instanceof Error ? innermost.message : String(innermost));
}

/**
 * Whether D1 itself failed: out of reach, overloaded, reset, out of resources, or answering nonsense. A statement that SQLite refuses, such
 * as one on a table that does not exist, is a fault of ours and is not meant.
 */
export function isDatabaseDown(error: unknown): boolean {
  if (!(error instanceof DrizzleQueryError || error instanceof BatchFailed)) return false;
  const innermost = innermostCause(error);
  if (innermost === error || innermost instanceof TypeError) return false;
  return !isStatementAtFault(error);
}

function innermostCause(error: unknown): unknown {
  let innermost = error;
  while (innermost instanceof Error && innermost.cause !== undefined) innermost = innermost.cause;
  return innermost;
}
