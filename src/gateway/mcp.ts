import type { Context } from "hono";
import { withAgentSkills } from "../core/agent-skills/skills-provider.ts";
import { admit, mayUse, type Policy } from "../core/catalog.ts";
import type { UnverifiedRecipes } from "../core/discovery/release.ts";
import type { Message } from "../core/mcp/framing.ts";
import { concernsResources } from "../core/mcp/methods.ts";
import type { Provider } from "../core/mcp/provider.ts";
import { traceParent } from "../core/mcp/trace-context.ts";
import { type CallReport, createProvider, type ProviderOptions } from "../core/serve.ts";
import { attestationsHeader, whyNone } from "./admitted.ts";
import { findSkills } from "./agent-skills.ts";
import { confirmClient } from "./auth/authenticate.ts";
import { rateHeaders, takeCall, takeOriginCall } from "./auth/limit.ts";
import { type OriginPolicy, policyOf } from "./auth/policy.ts";
import type { GrantRow } from "./auth/policy-reader.ts";
import { GatewayError } from "./errors.ts";
import { clientGas } from "./fair-shares/client-gas.ts";
import type { RequestLog } from "./log.ts";
import { checkMcpHeaders, readJsonText } from "./mcp-body.ts";
import { answerJsonRpc, loggedMethod, readJsonRpc } from "./mcp-message.ts";
import { originOfRequest } from "./mcp-origin.ts";
import { memoryIndexes } from "./memory-indexes.ts";
import { isCallDue, noteCall } from "./releases/last-called.ts";
import { publisherFetch } from "./releases/publisher-fetch.ts";
import { type Found, releases } from "./releases/release-cache.ts";
import { type GatewayContext, moment } from "./request-context.ts";
import { sandboxFor } from "./sandbox.ts";
import { SERVER_INFO } from "./server-info.ts";
import type { Step } from "./steps.ts";
import { policyFor, underRules } from "./trust/served-policy.ts";

/** Counts the call against the client's limits. Every authenticated POST counts, whatever becomes of it. */
export const limitCalls: Step = (c) => {
  return takeCall(c.env, c.get("client"), (rate) => {
    c.get("answerHeaders").push(...rateHeaders(rate, Date.now()));
  });
};

/** Reads the body and, in it, the message. From here on refusals carry the message's id. */
export const readMessage: Step = async (c) => {
  checkMcpHeaders(c.req.raw.headers);
  const text = await readJsonText(c.req.raw, c.get("settings").maxBodyBytes);
  const message = readJsonRpc(c, text);
  if (message instanceof Response) return message;
  c.set("message", message);
  c.get("log").method = loggedMethod(message);
  c.get("log").traceId = message.kind === "response" ? null : (traceParent(message.params)?.traceId ?? null);
  return undefined;
};

/** Refuses tool calls of a client whose tools computed more than its share of the last minute. */
export const limitGas: Step = (c) => {
  const message = c.get("message");
  if (message.kind !== "request" || message.method !== "tools/call") return undefined;
  const { clientGasPerMinute } = c.get("settings");
  const wait = clientGas.retryAfterMs(c.get("client").clientId, clientGasPerMinute, Date.now());
  if (wait === 0) return undefined;
  throw new GatewayError("rate_limited", {
    message: `This client's tools used their ${clientGasPerMinute} units of gas a minute.`,
    retryAfter: wait / 1000,
  });
};

/** Finds out which publisher is meant. */
export const chooseOrigin: Step = (c) => {
  const origin = originOfRequest(c.req.url, c.get("settings"));
  c.set("origin", origin);
  c.get("log").origin = origin;
  return undefined;
};

/** Lets the client through to origins that are active and granted to it; to all others it is told the same thing. */
export const requireGrant: Step = (c) => {
  const found = policyOf(c.env.DB).grantAtHand(c.get("client"), c.get("origin"), Date.now());
  if (found === undefined) return findGrant(c).then(() => noteGranted(c));
  keepGrant(c, found);
  return noteGranted(c);
};

function noteGranted(c: Context<GatewayContext>): undefined {
  const { originId } = c.get("originPolicy");
  const now = Date.now();
  if (isCallDue(originId, now)) c.executionCtx.waitUntil(noteCall(c.env.DB, originId, now));
}

async function findGrant(c: Context<GatewayContext>): Promise<void> {
  const ask = (row: GrantRow) => askAhead(c, row);
  keepGrant(c, await policyOf(c.env.DB).grant(c.get("client"), c.get("origin"), moment(c), ask));
}

/**
 * Begins to look for the release while what was decided of its origin is read: it is cold in this isolate, so the two waits are one. Where
 * an operator set limits these are looked at first.
 */
function askAhead(c: Context<GatewayContext>, { policyVersion, rules }: GrantRow): void {
  if (c.get("finding") !== undefined || (rules?.limits ?? null) !== null) return;
  const found = findRelease(c, policyVersion);
  if (found instanceof Promise) found.catch(() => {});
  c.set("finding", { found, policyVersion });
}

function findRelease(c: Context<GatewayContext>, policyVersion: number): Found | Promise<Found> {
  const waitUntil = (work: Promise<unknown>) => c.executionCtx.waitUntil(work);
  return releases.get(c.env, c.get("origin"), waitUntil, policyVersion);
}

function keepGrant(c: Context<GatewayContext>, found: OriginPolicy | null): void {
  if (found === null) throw new GatewayError("origin_forbidden");
  c.set("originPolicy", found);
}

/** Counts the call against the client's limits on this origin and on the tool that it names, where an operator set any. */
export const limitOrigin: Step = (c) => {
  const { originId, rules } = c.get("originPolicy");
  const limits = rules?.limits ?? null;
  if (rules === null || limits === null) return undefined;
  const named = calledTool(c.get("message"));
  // A hidden tool is none, whatever limit it has.
  const tool =
    named !== null && limits.byTool.has(named) && (rules.tools === null || mayUse(rules.tools, named)) ? named : null;
  if (tool !== null) c.get("log").tool = tool;
  return takeOriginCall(c.env, c.get("client").clientId, { originId, limits }, tool);
};

/** @param message none where a stream is opened. */
function calledTool(message: Message | undefined): string | null {
  if (message?.kind !== "request" || message.method !== "tools/call") return null;
  const { name } = message.params;
  return typeof name === "string" ? name : null;
}

/** Gets the origin's release: from memory, or from its hub. */
export const fetchRelease: Step = (c) => {
  c.get("log").discovery = "miss";
  const { version } = c.get("originPolicy").decisions;
  const ahead = c.get("finding");
  // What was read after the row may be newer than the row.
  if (ahead !== undefined && ahead.policyVersion >= version) return awaitRelease(c, ahead.found);
  const found = findRelease(c, version);
  return found instanceof Promise ? awaitRelease(c, found) : keepRelease(c, found);
};

async function awaitRelease(c: Context<GatewayContext>, finding: Found | Promise<Found>): Promise<undefined> {
  try {
    keepRelease(c, await finding);
  } catch (error) {
    tellDiscovery(c);
    throw error;
  }
}

function keepRelease(c: Context<GatewayContext>, { state, release }: Found): undefined {
  c.get("log").discovery = state;
  c.set("release", release);
  tellDiscovery(c);
}

function tellDiscovery(c: Context<GatewayContext>): void {
  c.get("answerHeaders").push(["X-Gw-Discovery", c.get("log").discovery ?? "miss"]);
}

/**
 * What was decided while the request waited counts: a client takes as long as it likes with its body, and a discovery longer than policy may
 * be old.
 */
export const confirmAccess: Step = (c) => {
  const now = Date.now();
  if (now === c.get("authenticatedAt")) return undefined;
  const policy = policyOf(c.env.DB);
  const client = policy.clientAtHand(c.get("tokenSha256"), now);
  const granted =
    client === undefined || client === null ? undefined : policy.grantAtHand(client, c.get("origin"), now);
  if (client === undefined || client === null || granted === undefined) return askAccess(c);
  c.set("client", client);
  keepGrant(c, granted);
  return undefined;
};

async function askAccess(c: Context<GatewayContext>): Promise<undefined> {
  await confirmClient(c);
  keepGrant(c, await policyOf(c.env.DB).grant(c.get("client"), c.get("origin"), moment(c)));
}

/** Admits what this client may use of the release: from here on nothing else of it exists. */
export const admitSkills: Step = (c) => {
  const policy = policyFor(c.get("release"), c.get("originPolicy"), c.get("settings").attestationMode);
  return policy instanceof Promise ? policy.then((settled) => keepAdmitted(c, settled)) : keepAdmitted(c, policy);
};

function keepAdmitted(c: Context<GatewayContext>, policy: Policy): undefined {
  const tools = c.get("originPolicy").rules?.tools ?? null;
  const release = c.get("release");
  const catalog = admit(release, tools === null ? policy : underRules(release, policy, tools), Date.now());
  if (policy.mode !== "off") c.get("answerHeaders").push(["X-Gw-Attestations", attestationsHeader(catalog)]);
  c.set("catalog", catalog);
}

/** Answers the client's message with what was admitted. Agent Skills are read only where they make a difference to the answer. */
export const serveMcp: Step = (c) => {
  const catalog = c.get("catalog");
  const message = c.get("message");
  // An operator who hides all tools from a client does not want it to believe that the origin is broken.
  const isEmpty = catalog.skills.length === 0 && catalog.hidden === 0;
  const needsSkills = isEmpty || (message.kind === "request" && concernsResources(message.method));
  const provider = createProvider(catalog, new Serving(c));
  return needsSkills ? serveWithSkills(c, provider, isEmpty) : answerJsonRpc(c, provider);
};

async function serveWithSkills(c: Context<GatewayContext>, provider: Provider, isEmpty: boolean): Promise<Response> {
  const skills = await findSkills(c);
  if (isEmpty && (skills === null || skills.folders.length === 0)) {
    throw new GatewayError("no_skills", whyNone(c.get("catalog"), c.get("release")));
  }
  return answerJsonRpc(c, skills === null ? provider : withAgentSkills(provider, skills));
}

/**
 * What one request's provider is made with. A class, since what closures of a request compile to is lost with every collection of garbage
 * that finds none of them alive.
 */
class Serving implements ProviderOptions {
  readonly serverInfo = SERVER_INFO;
  readonly memories = memoryIndexes;
  readonly sandbox: ProviderOptions["sandbox"];
  readonly fetch: ProviderOptions["fetch"];
  readonly limits: ProviderOptions["limits"];
  readonly client: string;
  readonly forwardTrace: boolean;
  readonly unverifiedRecipes: UnverifiedRecipes;
  readonly listChanged: boolean;
  readonly #log: RequestLog;

  constructor(c: Context<GatewayContext>) {
    const settings = c.get("settings");
    this.sandbox = sandboxFor(settings);
    this.fetch = publisherFetch(c.env);
    this.limits = settings.sandbox;
    this.client = c.get("client").clientId;
    this.forwardTrace = c.get("originPolicy").decisions.forwardTrace;
    this.unverifiedRecipes = settings.unverifiedRecipes;
    this.listChanged = settings.notifications;
    this.#log = c.get("log");
  }

  onCall({ tool, toolSha256, code, gasUsed, durationMs }: CallReport): void {
    const log = this.#log;
    log.tool = tool;
    log.toolSha256 = toolSha256;
    log.outcome = code;
    log.gasUsed = gasUsed;
    log.took("sandbox", durationMs);
    clientGas.charge(this.client, gasUsed, Date.now());
  }
}
