/** A dependency that did not answer in time. */
export class DeadlineExceeded extends Error {
  override readonly name = "DeadlineExceeded";
}

/**
 * Waits for work at most `ms` milliseconds. D1 and Durable Object calls cannot be aborted, so the work itself may go on; its outcome is
 * then ignored.
 *
 * @throws {DeadlineExceeded}, or whatever the work throws.
 */
export async function withDeadline<T>(work: PromiseLike<T>, ms: number): Promise<T> {
  // A query of drizzle's is sent anew each time it is looked at.
  const once = Promise.resolve(work);
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new DeadlineExceeded(`No answer within ${ms} ms.`)), ms);
  });
  try {
    return await Promise.race([once, late]);
  } finally {
    clearTimeout(timer);
    once.catch(() => {});
  }
}
