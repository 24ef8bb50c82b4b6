import { adminFailures, clientAddress } from "../auth/failures.ts";
import { constantTimeEqual, isWellFormedToken, tokenSha256 } from "../auth/token.ts";
import type { Settings } from "../env.ts";
import { LruCache } from "../lru.ts";
import { bootstrapRetiredAt } from "../registry/bootstrap.ts";
import type { Registry } from "../registry/database.ts";
import type { Role } from "../registry/operators.ts";
import {
  type ActiveOperator,
  findAccessOperator,
  findSession,
  findTokenSignIn,
  sessionEnd,
  type TokenSignIn,
} from "../registry/sign-ins.ts";
import type { AccessVerifier } from "./access-jwt.ts";
import { sessionHashes } from "./session-cookie.ts";

/** Who makes a request of the admin API, and by what. */
export interface SignedIn {
  /** As the audit log names them: `admin-token`, or an operator's id. */
  readonly actor: string;
  readonly operator: { readonly id: string | null; readonly name: string; readonly role: Role };
  /** When the credential ends, epoch milliseconds; `null`: never. */
  readonly expiresAt: number | null;
  /** The credential, where the browser sends it along by itself, whatever page asks; `null`: a bearer token. */
  readonly ambient: string | null;
  readonly sessionId: string | null;
  /** The operator's token, and when its use was noted last. */
  readonly token: TokenSignIn | null;
}

/** What judges credentials. */
export interface Judge {
  readonly registry: Registry;
  readonly settings: Settings;
  readonly now: number;
}

export const BOOTSTRAP = {
  actor: "admin-token",
  operator: { id: null, name: "ADMIN_TOKEN", role: "admin" },
  expiresAt: null,
  ambient: null,
  sessionId: null,
  token: null,
} as const satisfies SignedIn;

/** Whose token it is: `ADMIN_TOKEN` until it is retired, or an operator's. `null`: one that lets nobody in. */
export async function judgeToken(presented: string, { registry, settings, now }: Judge): Promise<SignedIn | null> {
  const { adminToken } = settings;
  if (adminToken !== null && constantTimeEqual(presented, adminToken)) {
    return (await bootstrapRetiredAt(registry)) === null ? BOOTSTRAP : null;
  }
  if (!isWellFormedToken(presented, "sgo")) return null;
  const token = await findTokenSignIn(registry, await tokenSha256(presented), now);
  return token === null ? null : { ...ofOperator(token.operator, token.expiresAt), token };
}

/** A credential that lets nobody in any more, though it once did: a browser sends it until it is told otherwise. */
export const ENDED = "ended";

/** Whose session a cookie is; `null`: there never was one. */
export async function judgeSession(
  cookie: string,
  { registry, settings, now }: Judge,
): Promise<SignedIn | typeof ENDED | null> {
  const hashes = await sessionHashes(cookie, settings.adminToken);
  if (overSessions.get(hashes.ofOperator) === true) return ENDED;
  const session = await findSession(registry, hashes, now);
  if (session === null) {
    const end = await sessionEnd(registry, hashes, now);
    if (end === "over") overSessions.set(hashes.ofOperator, true);
    return end === null ? null : ENDED;
  }
  const { operator, expiresAt } = session;
  const who = operator === null ? { ...BOOTSTRAP, expiresAt } : ofOperator(operator, expiresAt);
  return { ...who, ambient: cookie, sessionId: session.id };
}

/** Sessions that ended for ever, by hash, so that a page left open does not ask the database at each of its requests. */
const overSessions = new LruCache<string, true>(1_000);

/** Which operator a JWT of Cloudflare Access names, or `null`. */
export async function judgeAccess(
  jwt: string,
  verify: AccessVerifier,
  { registry, settings: { access } }: Judge,
): Promise<SignedIn | null> {
  const identity = access === null ? null : await verify(jwt, access);
  if (identity === null) return null;
  const operator = await findAccessOperator(registry, identity.email);
  return operator === null ? null : { ...ofOperator(operator, identity.expiresAt), ambient: jwt };
}

function ofOperator(operator: ActiveOperator, expiresAt: number): SignedIn {
  return { actor: operator.id, operator, expiresAt, ambient: null, sessionId: null, token: null };
}

/** Too many failures: seconds until the address may try again. */
export interface Throttled {
  readonly wait: number;
}

/**
 * Judges a credential, and counts a failure against the address it comes from, but for a session that ended. An address that fails too often is not listened to, even
 * with the right credential, until its minute has passed; attempts under way count as failures until they are judged.
 */
export async function attempt(
  credential: string,
  headers: Headers,
  { authFailuresPerMinute }: Settings,
  judge: () => Promise<SignedIn | typeof ENDED | null>,
): Promise<SignedIn | Throttled | null> {
  const address = clientAddress(headers);
  const now = Date.now();
  const name = await tokenSha256(credential);
  const wait = adminFailures.retryAfter(address, authFailuresPerMinute, now, name);
  if (wait > 0) return { wait };
  adminFailures.begin(address, name, now);
  try {
    const signedIn = await judge();
    if (signedIn === null) adminFailures.record(address, now);
    return signedIn === ENDED ? null : signedIn;
  } finally {
    adminFailures.settle(address, name);
  }
}
