/** Milliseconds by which the answer to a flood is late. */
const DELAY_MS = 100;
/** Requests that wait hold memory: beyond so many at a time the answer is not late. */
const MOST_DELAYED = 128;

/** When the answers that wait now are due, oldest first. By time alone, since a request that its caller gives up ends without a trace. */
const due: number[] = [];

/**
 * Makes a refusal late, so that whoever sends its next guess when it has the answer to the last one sends ten a second on a connection and
 * not thousands. Nothing is computed meanwhile.
 */
export async function delayRefusal(): Promise<void> {
  const now = Date.now();
  // A clock that was set back would leave them waiting.
  while (due[0] !== undefined && (due[0] <= now || due[0] > now + DELAY_MS)) due.shift();
  if (due.length >= MOST_DELAYED) return;
  due.push(now + DELAY_MS);
  await new Promise((resolve) => setTimeout(resolve, DELAY_MS));
}
