import type { Context } from "hono";

/** Lets work go on after the answer. Without an execution context, where the host gave none, it goes on as long as the host lets it. */
export function inBackground(c: Pick<Context, "executionCtx">, work: Promise<unknown>): void {
  try {
    c.executionCtx.waitUntil(work);
  } catch {
    // The work goes on as long as the host lets it.
  }
}
