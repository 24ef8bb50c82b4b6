import { withDeadline } from "../deadline.ts";
import type { Grant, Unused } from "../durable/rate-limiter.ts";
import type { Allowance, RateState } from "../durable/sliding-window.ts";
import type { Env } from "../env.ts";
import { GatewayError } from "../errors.ts";
import { callLeases } from "./call-leases.ts";
import type { ClientPolicy } from "./policy.ts";

const LIMITER_TIMEOUT_MS = 2_000;
/** A call that waits for another one's question looks this often. */
const LOOK_MS = 1;

/**
 * Counts one call of a client against its limits, at once where its limiter has granted it ahead ({@link CallLeases}). A client without limits costs no Durable Object call, and one with `rpm: 0` neither.
 *
 * @param report gets the state of the client's minute, for the answer's headers, refused or not; not called without a limit a minute.
 * @throws {GatewayError} `rate_limited` or `quota_exhausted` with the seconds to wait; `limiter_unavailable` when the object fails: the
 *   call is then refused, since an uncounted one could be one of too many.
 */
export function takeCall(
  env: Env,
  client: ClientPolicy,
  report: (rate: RateState) => void,
): undefined | Promise<undefined> {
  const { clientId, rpm, dailyQuota } = client;
  if (rpm === null && dailyQuota === null) return undefined;
  if (rpm !== null && rpm <= 0) {
    report({ limit: 0, remaining: 0, resetAt: Date.now() + 60_000 });
    throw new GatewayError("rate_limited", { message: "This client is limited to 0 calls a minute." });
  }
  // Calls granted under other limits are not good for these.
  const key = `${clientId} ${rpm} ${dailyQuota}`;
  const rate = callLeases(env.RATE_LIMITER).use(key, Date.now());
  if (rate === undefined) return askForCall(env, client, key, report);
  if (rate !== null) report(rate);
  return undefined;
}

async function askForCall(
  env: Env,
  { clientId, rpm, dailyQuota }: ClientPolicy,
  key: string,
  report: (rate: RateState) => void,
): Promise<undefined> {
  const leases = callLeases(env.RATE_LIMITER);
  // Of many calls at once one asks for all. The others look at their own timers: the platform cancels who awaits another request's promise.
  while (leases.isAsking(key, Date.now())) {
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    const rate = leases.use(key, Date.now());
    if (rate === undefined) continue;
    if (rate !== null) report(rate);
    return undefined;
  }
  const askedAt = Date.now();
  const { wanted, unused } = leases.ask(key, askedAt);
  const grant = await askLimiter(env, clientId, { rpm, dailyQuota }, wanted, unused);
  const { verdict } = grant;
  if (verdict.allowed) leases.keep(key, grant, askedAt);
  if (verdict.rate !== null) report({ ...verdict.rate, remaining: verdict.rate.remaining + grant.extra });
  if (verdict.allowed) return undefined;
  throw verdict.reason === "quota"
    ? new GatewayError("quota_exhausted", {
        message: `The client's quota of ${dailyQuota} calls a UTC day is used up.`,
        retryAfter: verdict.retryAfterMs / 1000,
      })
    : new GatewayError("rate_limited", {
        message: `The client's limit of ${rpm} calls a minute is reached.`,
        retryAfter: verdict.retryAfterMs / 1000,
      });
}

/** The object's method as a caller sees it. */
interface Limiter {
  lease(allowance: Allowance, wanted: number, unused: readonly Unused[]): Promise<Grant>;
}

async function askLimiter(
  env: Env,
  clientId: string,
  allowance: Allowance,
  wanted: number,
  unused: readonly Unused[],
): Promise<Grant> {
  try {
    const stub = env.RATE_LIMITER.get(env.RATE_LIMITER.idFromName(clientId)) as unknown as Limiter;
    return await withDeadline(stub.lease(allowance, wanted, unused), LIMITER_TIMEOUT_MS);
  } catch (cause) {
    throw new GatewayError("limiter_unavailable", { cause });
  }
}

/**
 * The headers that tell a client where it stands: `X-Gw-RateLimit-*`, and `RateLimit` with `RateLimit-Policy` as structured fields
 * (draft-ietf-httpapi-ratelimit-headers-10).
 */
export function rateHeaders(rate: RateState, now: number): [string, string][] {
  const seconds = Math.max(0, Math.ceil((rate.resetAt - now) / 1000));
  return [
    ["X-Gw-RateLimit-Limit", String(rate.limit)],
    ["X-Gw-RateLimit-Remaining", String(rate.remaining)],
    ["X-Gw-RateLimit-Reset", String(Math.ceil(rate.resetAt / 1000))],
    ["RateLimit-Policy", `"minute";q=${rate.limit};w=60`],
    ["RateLimit", `"minute";r=${rate.remaining};t=${seconds}`],
  ];
}
