import { withDeadline } from "../deadline.ts";
import type { Grant, Unused } from "../durable/rate-limiter.ts";
import type { Allowance, RateState } from "../durable/sliding-window.ts";
import type { Env } from "../env.ts";
import { GatewayError } from "../errors.ts";
import { callLeases } from "./call-leases.ts";
import type { OriginLimits } from "./client-rules.ts";
import type { ClientPolicy } from "./policy-reader.ts";

const LIMITER_TIMEOUT_MS = 2_000;
/** A call that waits for another one's question looks this often. */
const LOOK_MS = 1;

/** Whose calls are counted, and up to where. */
type Limited = Pick<ClientPolicy, "clientId" | "rpm" | "dailyQuota">;

/** What limits count, beside all calls of a client. */
interface Scope {
  /** Names the scope's own limiter among those of the client. */
  readonly id: string;
  /** After "calls a minute" in a sentence. */
  readonly words: string;
}

const WHOLE_CLIENT: Scope = { id: "", words: "" };

/**
 * Counts one call of a client against its limits, at once where its limiter has granted it ahead ({@link CallLeases}). A client without limits costs no Durable Object call, and one with `rpm: 0` neither.
 *
 * @param report gets the state of the client's minute, for the answer's headers, refused or not; not called without a limit a minute.
 * @throws {GatewayError} `rate_limited` or `quota_exhausted` with the seconds to wait; `limiter_unavailable` when the object fails: the
 *   call is then refused, since an uncounted one could be one of too many.
 */
export function takeCall(env: Env, client: Limited, report: (rate: RateState) => void): undefined | Promise<undefined> {
  return take(env, client, report, WHOLE_CLIENT);
}

/**
 * Counts one call against what the operator allows this client on one origin: first against the limit of its tool, so that calls which that
 * refuses leave the origin's whole. Each limit is an object of its own, which may grant calls ahead as a client's does.
 *
 * @param tool public name, where the request calls one.
 * @throws {GatewayError} as {@link takeCall}, naming the limit.
 */
export function takeOriginCall(
  env: Env,
  clientId: string,
  { originId, limits }: { readonly originId: string; readonly limits: OriginLimits },
  tool: string | null,
): undefined | Promise<undefined> {
  const toolRpm = tool === null ? null : (limits.byTool.get(tool) ?? null);
  const takeFrom = (rpm: number | null, scope: Scope) =>
    // The headers speak of the client's own minute alone.
    take(env, { clientId, rpm, dailyQuota: null }, () => {}, scope);
  const ofOrigin = () => takeFrom(limits.rpm, { id: ` ${originId}`, words: " to this origin" });
  const ofTool = takeFrom(toolRpm, { id: ` ${originId} ${tool}`, words: ` of the tool ${tool}` });
  return ofTool === undefined ? ofOrigin() : ofTool.then(ofOrigin);
}

function take(
  env: Env,
  client: Limited,
  report: (rate: RateState) => void,
  scope: Scope,
): undefined | Promise<undefined> {
  const { clientId, rpm, dailyQuota } = client;
  if (rpm === null && dailyQuota === null) return undefined;
  if (rpm !== null && rpm <= 0) {
    report({ limit: 0, remaining: 0, resetAt: Date.now() + 60_000 });
    throw new GatewayError("rate_limited", { message: `This client is limited to 0 calls a minute${scope.words}.` });
  }
  // Calls granted under other limits are not good for these.
  const key = `${clientId}${scope.id} ${rpm} ${dailyQuota}`;
  const rate = callLeases(env.RATE_LIMITER).use(key, Date.now());
  if (rate === undefined) return askForCall(env, client, { key, scope, report });
  if (rate !== null) report(rate);
  return undefined;
}

interface Asking {
  /** Of the leases. */
  readonly key: string;
  readonly scope: Scope;
  readonly report: (rate: RateState) => void;
}

async function askForCall(
  env: Env,
  { clientId, rpm, dailyQuota }: Limited,
  { key, scope, report }: Asking,
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
  const asking = askLimiter(env, `${clientId}${scope.id}`, { rpm, dailyQuota }, wanted, unused);
  const grant = await asking.finally(() => leases.answered(key, askedAt));
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
        message: `The client's limit of ${rpm} calls a minute${scope.words} is reached.`,
        retryAfter: verdict.retryAfterMs / 1000,
      });
}

/** The object's method as a caller sees it. */
interface Limiter {
  lease(allowance: Allowance, wanted: number, unused: readonly Unused[]): Promise<Grant>;
}

async function askLimiter(
  env: Env,
  name: string,
  allowance: Allowance,
  wanted: number,
  unused: readonly Unused[],
): Promise<Grant> {
  try {
    const stub = env.RATE_LIMITER.get(env.RATE_LIMITER.idFromName(name)) as unknown as Limiter;
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
