import { withAgentSkills } from "../../core/agent-skills/skills-provider.ts";
import { admit } from "../../core/catalog.ts";
import type { Release } from "../../core/discovery/release.ts";
import { type Sha256Hex, sha256Hex } from "../../core/integrity.ts";
import type { Provider } from "../../core/mcp/provider.ts";
import type { ListKind } from "../../core/mcp/subscriptions.ts";
import type { CanonicalOrigin } from "../../core/origin.ts";
import { createProvider } from "../../core/serve.ts";
import { servedRecipes } from "../../core/serve-recipes.ts";
import { skillsOf } from "../agent-skills.ts";
import { type OriginPolicy, type PolicyMoment, policyOf } from "../auth/policy.ts";
import { type Env, readSettings } from "../env.ts";
import { GatewayError } from "../errors.ts";
import { memoryIndexes } from "../memory-indexes.ts";
import { publisherFetch } from "../releases/publisher-fetch.ts";
import { releases } from "../releases/release-cache.ts";
import { sandboxFor } from "../sandbox.ts";
import { SERVER_INFO } from "../server-info.ts";
import { policyFor, underRules } from "../trust/served-policy.ts";

/** What a client sees of an origin, each list by its SHA-256; that of resources covers what they say. */
export type ListsSeen = Readonly<Record<ListKind, Sha256Hex>>;

/** Which token of which client, at which origin. */
export interface Listener {
  readonly origin: CanonicalOrigin;
  readonly tokenSha256: string;
}

/** The client that may listen, or `null` where it may not, or no more. @throws {GatewayError} `policy_unavailable`. */
export async function clientOf(env: Env, { origin, tokenSha256 }: Listener, moment: PolicyMoment) {
  const policy = policyOf(env.DB);
  const client = await policy.client(tokenSha256, moment);
  if (client === null) return null;
  const granted = await policy.grant(client, origin, moment);
  return granted === null ? null : { client, granted };
}

/**
 * What the client would be answered if it asked for its lists now.
 *
 * @returns `null`: it may see nothing any more.
 * @throws {GatewayError} as the request would be refused, but an origin that offers nothing has empty lists.
 */
export async function listsSeen(env: Env, listener: Listener, moment: PolicyMoment): Promise<ListsSeen | null> {
  const access = await clientOf(env, listener, moment);
  if (access === null) return null;
  const offered = await offeredTo(env, listener.origin, access.granted, moment);
  if (offered === null) return { tools: await hashOf([]), resources: await hashOf([[], [], []]) };
  const { recipes, provider } = offered;
  const { tools, resources, skills } = provider;
  return { tools: await hashOf(tools), resources: await hashOf([resources, recipes, skills?.entries ?? []]) };
}

interface Offered {
  readonly provider: Provider;
  /** Of each recipe. */
  readonly recipes: readonly Sha256Hex[];
}

/** `null`: the origin offers nothing. */
async function offeredTo(
  env: Env,
  origin: CanonicalOrigin,
  originPolicy: OriginPolicy,
  { waitUntil }: PolicyMoment,
): Promise<Offered | null> {
  const answer = readSettings(env);
  if (!answer.ok) throw new GatewayError("bad_setting");
  const { settings } = answer;
  let release: Release;
  try {
    ({ release } = await releases.get(env, origin, waitUntil, originPolicy.decisions.version));
  } catch (error) {
    if (error instanceof GatewayError && error.code === "no_skills") return null;
    throw error;
  }
  const policy = await policyFor(release, originPolicy, settings.attestationMode);
  const rules = originPolicy.rules?.tools ?? null;
  const catalog = admit(release, rules === null ? policy : underRules(release, policy, rules), Date.now());
  const provider = createProvider(catalog, {
    serverInfo: SERVER_INFO,
    memories: memoryIndexes,
    sandbox: sandboxFor(settings),
    fetch: publisherFetch(env),
    limits: settings.sandbox,
    unverifiedRecipes: settings.unverifiedRecipes,
  });
  const requestId = crypto.randomUUID();
  // No file is read here.
  const hold = async () => null;
  const skills = await skillsOf(env, { settings, origin, originPolicy, release, catalog, requestId, hold, waitUntil });
  const recipes = servedRecipes(catalog, settings.unverifiedRecipes).map(({ sha256 }) => sha256);
  return { provider: skills === null ? provider : withAgentSkills(provider, skills), recipes };
}

function hashOf(list: readonly unknown[]): Promise<Sha256Hex> {
  return sha256Hex(new TextEncoder().encode(JSON.stringify(list)));
}
