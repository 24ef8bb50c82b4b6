import type { Context } from "hono";
import { admit, mayUse, type Policy } from "../core/catalog.ts";
import type { Message } from "../core/mcp/framing.ts";
import { traceParent } from "../core/mcp/trace-context.ts";
import type { CallReport } from "../core/serve.ts";
import { createProvider } from "../core/serve.ts";
import { VERSION } from "../core/version.ts";
import { attestationsHeader, whyNone } from "./admitted.ts";
import { confirmClient } from "./auth/authenticate.ts";
import { rateHeaders, takeCall, takeOriginCall } from "./auth/limit.ts";
import { policyOf } from "./auth/policy.ts";
import { GatewayError } from "./errors.ts";
import { clientGas } from "./fair-shares/client-gas.ts";
import type { RequestLog } from "./log.ts";
import { checkMcpHeaders, readJsonText } from "./mcp-body.ts";
import { answerJsonRpc, loggedMethod, readJsonRpc } from "./mcp-message.ts";
import { originOfRequest } from "./mcp-origin.ts";
import { memoryIndexes } from "./memory-indexes.ts";
import { isCallDue, noteCall } from "./releases/last-called.ts";
import { publisherFetch } from "./releases/publisher-fetch.ts";
import { releases } from "./releases/release-cache.ts";
import { type GatewayContext, moment } from "./request-context.ts";
import { sandboxFor } from "./sandbox.ts";
import type { Step } from "./steps.ts";
import { policyFor, underRules } from "./trust/served-policy.ts";

const SERVER_INFO = { name: "skillgate", title: "Skillgate", version: VERSION };

/** Counts the call against the client's limits. Every authenticated POST counts, whatever becomes of it. */
export const limitCalls: Step = (c) => {
  const report = (rate: Parameters<typeof rateHeaders>[0]) => {
    c.get("answerHeaders").push(...rateHeaders(rate, Date.now()));
  };
  return c.get("log").time("limiter", () => takeCall(c.env, c.get("client"), report));
};

/** Reads the body and, in it, the message. From here on refusals carry the message's id. */
export const readMessage: Step = async (c) => {
  checkMcpHeaders(c.req.raw.headers);
  const text = await c.get("log").time("body", () => readJsonText(c.req.raw, c.get("settings").maxBodyBytes));
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
export const requireGrant: Step = async (c) => {
  await c.get("log").time("policy", () => findGrant(c));
  const { originId } = c.get("originPolicy");
  const now = Date.now();
  if (isCallDue(originId, now)) c.executionCtx.waitUntil(noteCall(c.env.DB, originId, now));
  return undefined;
};

async function findGrant(c: Context<GatewayContext>): Promise<void> {
  const found = await policyOf(c.env.DB).grant(c.get("client"), c.get("origin"), moment(c));
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

function calledTool(message: Message): string | null {
  if (message.kind !== "request" || message.method !== "tools/call") return null;
  const { name } = message.params;
  return typeof name === "string" ? name : null;
}

/** Gets the origin's release: from memory, or from its hub. What was decided while it waited for others counts. */
export const fetchRelease: Step = async (c) => {
  const log = c.get("log");
  log.discovery = "miss";
  const waitUntil = (work: Promise<unknown>) => c.executionCtx.waitUntil(work);
  const askedAt = Date.now();
  try {
    const { version } = c.get("originPolicy").decisions;
    const { state, release } = await log.time("release", () =>
      releases.get(c.env, c.get("origin"), waitUntil, version),
    );
    log.discovery = state;
    c.set("release", release);
  } finally {
    c.get("answerHeaders").push(["X-Gw-Discovery", log.discovery]);
  }
  // The clock stands still while all is in memory. A discovery may take longer than policy may be old.
  if (Date.now() !== askedAt) {
    await confirmClient(c);
    await findGrant(c);
  }
  return undefined;
};

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
  // An operator who hides all tools from a client does not want it to believe that the origin is broken.
  if (catalog.skills.length === 0 && catalog.hidden === 0) throw new GatewayError("no_skills", whyNone(catalog));
  c.set("catalog", catalog);
}

/** Answers the client's message with what was admitted. */
export const serveMcp: Step = (c) => {
  const log = c.get("log");
  const settings = c.get("settings");
  const { clientId } = c.get("client");
  const provider = createProvider(c.get("catalog"), {
    sandbox: sandboxFor(settings),
    fetch: publisherFetch(c.env),
    limits: settings.sandbox,
    memories: memoryIndexes,
    serverInfo: SERVER_INFO,
    client: clientId,
    forwardTrace: c.get("originPolicy").decisions.forwardTrace,
    unverifiedRecipes: settings.unverifiedRecipes,
    onCall: (report) => {
      noteOutcome(log, report);
      clientGas.charge(clientId, report.gasUsed, Date.now());
    },
  });
  return log.time("serve", () => answerJsonRpc(c, provider));
};

function noteOutcome(log: RequestLog, { tool, toolSha256, code, gasUsed, durationMs }: CallReport): void {
  log.tool = tool;
  log.toolSha256 = toolSha256;
  log.outcome = code;
  log.gasUsed = gasUsed;
  log.took("sandbox", durationMs);
}
