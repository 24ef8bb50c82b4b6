import type { Context } from "hono";
import { GatewayError } from "../errors.ts";
import { LruCache } from "../lru.ts";
import { type GatewayContext, moment } from "../request-context.ts";
import type { Step } from "../steps.ts";
import { clientAddress, junkFailures, unknownFailures } from "./failures.ts";
import { type PolicyCache, type PolicyMoment, policyOf } from "./policy.ts";
import type { ClientPolicy } from "./policy-reader.ts";
import { delayRefusal } from "./refusal-delay.ts";
import { isWellFormedToken, parseBearer, parseForeignBearer, tokenSha256 } from "./token.ts";

/** A guess that waits for others of its address to be judged looks this often. */
const LOOK_MS = 5;
/** Then it is judged all the same: those before it may wait for a silent database. */
const LONGEST_WAIT_MS = 1_000;

/**
 * Finds the client of the bearer token. Missing, malformed, unknown, expired and revoked tokens get one and the same answer. Junk is
 * refused by its checksum, or by not being among the imported tokens; beyond the address's limit of failures nothing that is not already known reaches
 * the database, and its answers are late.
 */
export const authenticate: Step = (c) => {
  const header = c.req.header("Authorization");
  if (header === undefined) throw new GatewayError("unauthorized");
  const used = usedHeaders.get(header);
  const atHand = used === undefined ? undefined : policyOf(c.env.DB).clientAtHand(used, Date.now());
  if (used === undefined || atHand === undefined) return identify(c, header);
  c.set("tokenSha256", used);
  return admitClient(c, known(atHand));
};

async function identify(c: Context<GatewayContext>, header: string): Promise<undefined> {
  return admitClient(c, await findClient(c, header));
}

function admitClient(c: Context<GatewayContext>, client: ClientPolicy): undefined {
  c.set("client", client);
  c.set("authenticatedAt", Date.now());
  c.get("log").client = client.clientId;
  c.get("answerHeaders").push(["X-Gw-Client", client.clientId]);
}

async function findClient(c: Context<GatewayContext>, header: string): Promise<ClientPolicy> {
  const now = Date.now();
  const policy = policyOf(c.env.DB);
  const used = usedHeaders.get(header);
  if (used !== undefined && policy.knows(used, now)) {
    c.set("tokenSha256", used);
    return known(await policy.client(used, moment(c)));
  }
  const address = clientAddress(c.req.raw.headers);
  const limit = c.get("settings").authFailuresPerMinute;
  const token = parseBearer(header);
  const isOurs = token !== null && isWellFormedToken(token);
  const sha256 = isOurs ? await tokenSha256(token) : await importedToken(header, policy, moment(c));
  if (sha256 === null) {
    const wait = junkFailures.retryAfter(address, limit, now);
    if (wait > 0) return refuseFlood(c, address, wait);
    junkFailures.record(address, now);
    if (junkFailures.isGuessing(address, now)) await delayRefusal();
    throw new GatewayError("unauthorized");
  }
  c.set("tokenSha256", sha256);
  if (policy.knows(sha256, now)) {
    const client = known(await policy.client(sha256, moment(c)));
    usedHeaders.set(header, sha256);
    return client;
  }
  for (;;) {
    const wait = unknownFailures.retryAfter(address, limit, Date.now(), sha256);
    if (wait > 0) return refuseFlood(c, address, wait);
    const hasWaited = Math.abs(Date.now() - now) >= LONGEST_WAIT_MS;
    if (hasWaited || !unknownFailures.mustWait(address, Date.now(), sha256)) break;
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
  unknownFailures.begin(address, sha256, Date.now());
  try {
    const found = await policy.client(sha256, moment(c));
    if (found !== null) return found;
    unknownFailures.record(address, Date.now());
  } finally {
    unknownFailures.settle(address, sha256);
  }
  if (unknownFailures.isGuessing(address, Date.now())) await delayRefusal();
  throw new GatewayError("unauthorized");
}

/** The hash of a token that another gateway issued and whose hash was moved in, or `null`. Where there are none, nothing is hashed. */
async function importedToken(header: string, { imported }: PolicyCache, moment: PolicyMoment): Promise<string | null> {
  const hashes = imported.now(moment) ?? (await imported.load(moment));
  const token = hashes.size === 0 ? null : parseForeignBearer(header);
  if (token === null) return null;
  const sha256 = await tokenSha256(token);
  return hashes.has(sha256) ? sha256 : null;
}

/** Asks the policy once more for the client of a request that has waited: its token may have been revoked meanwhile. */
export async function confirmClient(c: Context<GatewayContext>): Promise<void> {
  c.set("client", known(await policyOf(c.env.DB).client(c.get("tokenSha256"), moment(c))));
}

/**
 * The hash of the token in a header, for tokens that counted: reading, checking and hashing one costs a tenth of a request. Whether it
 * still counts is asked of the policy every time. The headers themselves stay in the isolate's memory while they are used, as they do
 * during every request; they are never written anywhere.
 */
const usedHeaders = new LruCache<string, string>(1_000);

function known(client: ClientPolicy | null): ClientPolicy {
  if (client === null) throw new GatewayError("unauthorized");
  return client;
}

/** @throws {GatewayError} `rate_limited`, late, of an address that has failed as often as it may. */
async function refuseFlood(c: Context<GatewayContext>, address: string, retryAfter: number): Promise<never> {
  c.get("log").floodOf = address;
  await delayRefusal();
  const { authFailuresPerMinute } = c.get("settings");
  throw new GatewayError("rate_limited", {
    message: `More than ${authFailuresPerMinute} failed authentications a minute came from this address.`,
    retryAfter,
  });
}
