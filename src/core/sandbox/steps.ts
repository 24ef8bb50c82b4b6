/**
 * Work that may have to wait, written once for those who can wait and those who cannot: what it yields is awaited by
 * {@link later}, and what it yields is an error to {@link atOnce}.
 */
export type Steps<T> = Generator<Promise<unknown>, T, unknown>;

/** Waits for whatever the work waits for. */
export async function later<T>(steps: Steps<T>): Promise<T> {
  let step = steps.next();
  while (!step.done) {
    let value: unknown;
    try {
      value = await step.value;
    } catch (error) {
      step = steps.throw(error);
      continue;
    }
    step = steps.next(value);
  }
  return step.value;
}

/** Runs work that has no reason to wait. */
export function atOnce<T>(steps: Steps<T>): T {
  const step = steps.next();
  if (step.done) return step.value;
  // Nobody will look at it any more.
  step.value.catch(() => {});
  const ended = steps.throw(new Error("synchronous work came to wait for something"));
  if (ended.done) return ended.value;
  throw new Error("synchronous work waits again and again");
}

/** The value of something that may be there already. */
export function* settled<T>(value: T | Promise<T>): Steps<T> {
  return value instanceof Promise ? ((yield value) as T) : value;
}
