import type { CanonicalOrigin } from "../../core/origin.ts";
import { withDeadline } from "../deadline.ts";
import type { Notifier } from "../durable/notifier.ts";
import { type Env, readSettings } from "../env.ts";
import { GatewayError, type GatewayErrorCode } from "../errors.ts";
import { describeFailure } from "../log.ts";
import type { Opening } from "./change-stream.ts";

const TELL_TIMEOUT_MS = 5_000;
/** The origin may have to be discovered first. */
const OPEN_TIMEOUT_MS = 20_000;

/**
 * Tells the origin's notifier that what clients see of it may have changed. Never fails: what is not told is found when it next looks.
 *
 * @param isRelease its hub has another release.
 */
export async function tellNotifier(env: Env, origin: CanonicalOrigin, isRelease: boolean): Promise<void> {
  const answer = readSettings(env);
  if (!answer.ok || !answer.settings.notifications) return;
  try {
    await withDeadline(notifierOf(env, origin).changed(origin, isRelease), TELL_TIMEOUT_MS);
  } catch (error) {
    console.warn(JSON.stringify({ event: "change_not_told", origin, error: describeFailure(error) }));
  }
}

/**
 * Opens a stream at the origin's notifier: the body of the client's answer.
 *
 * @throws {GatewayError} `notifier_unavailable`, or whatever refuses the stream.
 */
export async function openStream(env: Env, opening: Opening): Promise<ReadableStream<Uint8Array>> {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), OPEN_TIMEOUT_MS);
  let response: Response;
  try {
    response = await notifierOf(env, opening.origin).fetch("https://skillgate.invalid/", {
      method: "POST",
      body: JSON.stringify(opening),
      signal: late.signal,
    });
  } catch (cause) {
    throw new GatewayError("notifier_unavailable", { cause });
  } finally {
    clearTimeout(timer);
  }
  if (response.ok && response.body !== null) return response.body;
  const { code, message, retryAfter } = await response.json<Refusal>();
  throw new GatewayError(code, { message, ...(retryAfter === undefined ? {} : { retryAfter }) });
}

/** How the object refuses a stream. */
export interface Refusal {
  readonly code: GatewayErrorCode;
  readonly message: string;
  readonly retryAfter?: number;
}

/** The object's methods as a caller sees them. */
interface NotifierStub extends Pick<Fetcher, "fetch"> {
  changed(origin: CanonicalOrigin, isRelease: boolean): Promise<void>;
}

function notifierOf({ NOTIFIER }: Env, origin: CanonicalOrigin): NotifierStub {
  return NOTIFIER.get(NOTIFIER.idFromName(origin)) as unknown as NotifierStub & Notifier;
}
