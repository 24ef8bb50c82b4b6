import { type DiscoverOptions, discover } from "../../core/discovery/discover.ts";
import { DiscoveryError } from "../../core/discovery/discovery-error.ts";
import type { Release } from "../../core/discovery/release.ts";
import { type CanonicalOrigin, OriginError, parseOrigin } from "../../core/origin.ts";
import { type Env, readSettings } from "../env.ts";
import { settledRules } from "../mcp-origin.ts";
import { isAtRest } from "../publishing/site-fetch.ts";
import { ReleaseTooLarge } from "../releases/packed-release.ts";
import { publisherFetch } from "../releases/publisher-fetch.ts";
import { sandboxFor } from "../sandbox.ts";
import type { HubFailure } from "./hub-answer.ts";

const SERVES_NOTHING = "The origin's site serves nothing.";

/** How a hub fails of which the operator took down the site. */
export const TAKEN_DOWN: HubFailure = { code: "no_skills", message: SERVES_NOTHING, rejected: [] };

/** What only the hub of an origin knows. */
type OfHub = Pick<
  DiscoverOptions,
  "cache" | "held" | "revoked" | "mayLackTools" | "readAgentSkills" | "last" | "signal" | "onProgress"
>;

/**
 * Discovers an origin as the gateway does: by its settings, its sandbox and its ways to publishers. Whoever called, an address that must not
 * be fetched is not fetched.
 *
 * @throws {DiscoveryError}, or {OriginError} for such an address.
 */
export async function discoverNow(env: Env, origin: CanonicalOrigin, own: OfHub): Promise<Release> {
  const answer = readSettings(env);
  if (!answer.ok) throw new Error(answer.problems[0].message);
  const { settings } = answer;
  // What an operator took down is not an origin that fails: nothing of it is a last known good.
  if (await isAtRest(env, origin)) throw new DiscoveryError("no_skills", "no_executable_lines", SERVES_NOTHING);
  return discover({
    origin: parseOrigin(origin, settledRules(settings)),
    fetch: publisherFetch(env),
    sandbox: sandboxFor(settings),
    limits: settings.discovery,
    unverifiedRecipes: settings.unverifiedRecipes,
    loadGas: settings.sandbox.loadGas,
    now: Date.now,
    ...own,
  });
}

/** What callers are told of a discovery that failed. */
export function toFailure(error: unknown): HubFailure {
  if (error instanceof DiscoveryError) return { code: error.code, message: error.message, rejected: error.rejected };
  if (error instanceof OriginError || error instanceof ReleaseTooLarge)
    return { code: "discovery_failed", message: error.message, rejected: [] };
  console.error(JSON.stringify({ event: "discovery_crashed", error: String(error) }));
  return { code: "discovery_failed", message: "The origin's skills could not be read.", rejected: [] };
}
