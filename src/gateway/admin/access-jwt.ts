import type { createRemoteJWKSet, FetchImplementation } from "jose";
import { readBounded } from "../../core/integrity.ts";
import type { Settings } from "../env.ts";
import { GatewayError } from "../errors.ts";

/** A team has two keys at a time. */
const MAX_KEYS_BYTES = 65_536;
const MAX_JWT_CHARS = 16_384;
const FETCH_TIMEOUT_MS = 5_000;
const KEYS_FRESH_MS = 600_000;
/** Between two fetches for a key that is not known. */
const COOLDOWN_MS = 30_000;
/** What of jose's codes says that the team's keys could not be had, rather than that the JWT is none of theirs. */
const UNAVAILABLE: ReadonlySet<string> = new Set(["ERR_JWKS_TIMEOUT", "ERR_JWKS_INVALID", "ERR_JOSE_GENERIC"]);

/** Loaded with the first JWT: an isolate without Access does without it. */
type Jose = typeof import("jose");

type FetchOptions = Parameters<FetchImplementation>[1];

/** Whom a valid JWT of Cloudflare Access names. */
export interface AccessIdentity {
  /** Lower case. */
  readonly email: string;
  /** Epoch milliseconds. */
  readonly expiresAt: number;
}

/** @throws GatewayError `policy_unavailable` where the team's keys cannot be had. */
export type AccessVerifier = (jwt: string, access: NonNullable<Settings["access"]>) => Promise<AccessIdentity | null>;

/**
 * Verifies what Cloudflare Access puts into `Cf-Access-Jwt-Assertion`: signed (RS256, nothing else) with a key that the team publishes at
 * `/cdn-cgi/access/certs`, issued by the team for this application, not expired, and naming a person. The keys are kept for 10 minutes.
 *
 * @param fetchKeys how the team's keys are fetched.
 * @returns `null` for any other text.
 */
export function accessVerifier(fetchKeys: FetchImplementation = fetch): AccessVerifier {
  const teams = new Map<string, ReturnType<typeof createRemoteJWKSet>>();
  const keysOf = (teamDomain: string, { createRemoteJWKSet, customFetch }: Jose) => {
    let keys = teams.get(teamDomain);
    if (keys === undefined) {
      keys = createRemoteJWKSet(new URL(`https://${teamDomain}/cdn-cgi/access/certs`), {
        timeoutDuration: FETCH_TIMEOUT_MS,
        cacheMaxAge: KEYS_FRESH_MS,
        cooldownDuration: COOLDOWN_MS,
        [customFetch]: async (url: string, options: FetchOptions) => {
          const { status, ...response } = await boundedFetch(fetchKeys, url, options);
          return new Response(response.body, { status });
        },
      });
      teams.set(teamDomain, keys);
    }
    return keys;
  };
  return async (jwt, { teamDomain, audience }) => {
    if (jwt.length > MAX_JWT_CHARS) return null;
    const jose = await import("jose");
    try {
      const { payload } = await jose.jwtVerify(jwt, keysOf(teamDomain, jose), {
        algorithms: ["RS256"],
        issuer: `https://${teamDomain}`,
        audience,
        requiredClaims: ["exp", "email"],
      });
      const { email, exp } = payload;
      return typeof email === "string" && exp !== undefined
        ? { email: email.toLowerCase(), expiresAt: exp * 1000 }
        : null;
    } catch (cause) {
      if (cause instanceof jose.errors.JOSEError && !UNAVAILABLE.has(cause.code)) return null;
      throw new GatewayError("policy_unavailable", { message: "The keys of Cloudflare Access cannot be read.", cause });
    }
  };
}

async function boundedFetch(fetchKeys: FetchImplementation, url: string, options: FetchOptions) {
  const response = await fetchKeys(url, options);
  return { status: response.status, body: await readBounded(response, MAX_KEYS_BYTES) };
}
