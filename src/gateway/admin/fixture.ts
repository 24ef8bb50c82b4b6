import { applyD1Migrations, type D1Migration, reset, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { Hono } from "hono";
import { NO_INDEX } from "../../core/discovery/skills-index.ts";
import { type Sha256Hex, sha256Hex } from "../../core/integrity.ts";
import type { PublicName } from "../../core/skill.ts";
import { addHeaders } from "../answer-headers.ts";
import { adminFailures } from "../auth/failures.ts";
import type { Env } from "../env.ts";
import { openRegistry } from "../registry/database.ts";
import type { ProbeResult } from "../releases/hub-client.ts";
import { type GatewayContext, requireSettings, trackRequest } from "../request-context.ts";
import { type AdminOptions, createAdminApp } from "./app.ts";
import { openApiDocument } from "./document.ts";
import type { Prober } from "./probe.ts";
import { answerProblem } from "./problem.ts";

// Shared by the tests of this folder and of the registry: real D1, the real chain of middleware, and publishers as plain facts.

export const ADMIN_TOKEN = "test-admin-token-0123456789";

interface TestEnv extends Env {
  readonly TEST_MIGRATIONS: D1Migration[];
  /** A service that answers 500 to everything that D1's client asks. */
  readonly BROKEN_D1: Fetcher;
  /** Objects that fail whatever they are asked. */
  readonly BROKEN_OBJECT: DurableObjectNamespace;
}

export const testEnv = { ...(env as unknown as TestEnv), ADMIN_TOKEN, ALLOW_LOOPBACK_ORIGINS: "true" };
export const registry = openRegistry(testEnv.DB);

/** Children before parents. */
const TABLES = [
  ...["audit_log", "client_tools", "client_limits", "client_origins", "client_tokens", "clients", "skills", "verdicts"],
  ...["published_memories", "publications", "site_hosts", "site_versions", "site_blobs", "sites"],
  ...["origins", "operator_sessions", "operator_tokens", "operators", "console_state", "idempotency_keys"],
  ...["usage_hourly", "usage_errors", "usage_flushes"],
  ...["artifacts", "attestations", "reviewers", "revocations", "trust_state"],
];

/**
 * An empty database, as after `wrangler d1 migrations apply`. Emptying the tables takes a tenth of the time that making them does; where
 * one is missing they are made.
 */
export async function freshDatabase(): Promise<void> {
  adminFailures.clear();
  await forgetNotedRows();
  try {
    await testEnv.DB.batch(TABLES.map((table) => testEnv.DB.prepare(`DELETE FROM ${table}`)));
  } catch {
    await reset();
    await applyD1Migrations(testEnv.DB, testEnv.TEST_MIGRATIONS);
  }
}

/** A database that begins anew is another one to the witness of its audit chain. */
export async function forgetNotedRows(): Promise<void> {
  const { AUDIT_HEAD } = testEnv;
  await runInDurableObject(AUDIT_HEAD.get(AUDIT_HEAD.idFromName("audit")), (_, state) => {
    state.storage.sql.exec("DELETE FROM noted");
  });
}

/** Whether all of the audit chain is as it was written. */
export async function verifiedChain() {
  const { status, verifiedTo, broken, unnoted, nextCursor } = (await call("GET", "/audit/verify")).body;
  return { status, verifiedTo, broken, unnoted, nextCursor };
}

/** What the next probe finds, by origin; a test changes it as a publisher changes its files. */
export const publishers = new Map<string, ProbeResult>();

const prober: Prober = async (_env, origin) =>
  publishers.get(origin) ?? {
    ok: false,
    code: "discovery_failed",
    message: "The origin does not answer.",
    rejected: [],
  };

/** The admin API as the gateway mounts it, with publishers from {@link publishers}. */
export function adminGateway(options: AdminOptions = { prober }) {
  const app = new Hono<GatewayContext>().onError(answerProblem).use(trackRequest).use(addHeaders).use(requireSettings);
  return app.route("/admin/api/v1", createAdminApp(options));
}

const gateway = adminGateway();

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: tests read whatever the answer holds.
  readonly body: any;
}

export interface AdminRequest {
  readonly token?: string | null;
  readonly headers?: Record<string, string>;
  /** Sent as it is, instead of a JSON body. */
  readonly raw?: BodyInit;
  readonly bindings?: Record<string, unknown>;
  /** Where the gateway is. */
  readonly base?: string;
}

/** One request to the admin API, signed in unless told otherwise. */
export async function call(method: string, path: string, body?: unknown, request: AdminRequest = {}): Promise<Answer> {
  const headers = new Headers(request.headers);
  const token = request.token === undefined ? ADMIN_TOKEN : request.token;
  if (token !== null) headers.set("Authorization", `Bearer ${token}`);
  const init: RequestInit = { method, headers };
  if (request.raw !== undefined) init.body = request.raw;
  else if (body !== undefined) {
    init.body = JSON.stringify(body);
    if (!headers.has("Content-Type")) headers.set("Content-Type", "application/json");
  }
  const url = `${request.base ?? "https://gate.example"}/admin/api/v1${path}`;
  const response = await gateway.request(url, init, request.bindings ?? testEnv);
  const text = await readToEnd(response);
  requireDocumentedTag(method, path, response);
  const isJson = /^application\/(?:problem\+)?json/.test(response.headers.get("Content-Type") ?? "");
  const said = text === "" ? null : isJson ? JSON.parse(text) : text;
  return { status: response.status, headers: response.headers, body: said };
}

interface Operation {
  readonly responses: Readonly<Record<string, { readonly headers?: object }>>;
}

const operations = Object.entries(openApiDocument(createAdminApp()).paths ?? {}).map(([pattern, of]) => ({
  pattern: new RegExp(`^${pattern.replace(/\{\w+\}/g, "[^/]+")}$`),
  // Fixed segments before parameters, as the routes are registered.
  parameters: pattern.split("{").length,
  of: of as Readonly<Record<string, Operation | undefined>>,
}));

/** Every success has an `ETag` exactly where the OpenAPI document says so. */
function requireDocumentedTag(method: string, path: string, response: Response): void {
  if (!response.ok) return;
  const [pathname = ""] = path.split("?");
  const matching = operations.filter(({ pattern }) => pattern.test(pathname));
  const [found] = matching.toSorted((a, b) => a.parameters - b.parameters);
  const documented = found?.of[method.toLowerCase()]?.responses[response.status]?.headers;
  const isDocumented = documented !== undefined && "ETag" in documented;
  if (isDocumented === response.headers.has("ETag")) return;
  throw new Error(`${method} ${path}: the OpenAPI document and the answer differ in whether there is an ETag.`);
}

/** A stream that has no end of its own is closed unread. */
async function readToEnd(response: Response): Promise<string> {
  if (response.headers.get("Content-Type") !== "text/event-stream") return response.text();
  await response.body?.cancel();
  return "";
}

/** A successful probe's facts: one skill for each name, with a hash made of its letter. */
export function found(...skills: readonly (readonly [name: string, letter: string])[]): ProbeResult {
  return {
    ok: true,
    fetchedAt: Date.now(),
    skills: skills.map(([name, letter]) => ({
      scope: null,
      name,
      publicName: name as PublicName,
      description: `Does ${name}.`,
      version: null,
      toolSha256: letter.repeat(64) as Sha256Hex,
      definition: { name, inputSchema: { type: "object" } },
      source: new TextEncoder().encode(`registerTool({ name: ${JSON.stringify(name)} }); // ${letter}\n`),
      recipe: null,
    })),
    prose: [],
    memories: [],
    attestations: [],
    facts: [],
    index: NO_INDEX,
    rejected: [
      { scope: "x", name: "broken", subject: "skill", code: "hash_mismatch", message: "tool_sha256 does not match." },
    ],
  };
}

/** A successful probe's facts about skills of the form of {@link found}, with these sources and their own hashes. */
export async function foundSources(sources: Readonly<Record<string, string | Uint8Array>>): Promise<ProbeResult> {
  const facts = found();
  if (!facts.ok) return facts;
  const skills = Object.entries(sources).map(async ([name, text]) => {
    const source = typeof text === "string" ? new TextEncoder().encode(text) : text;
    const about = { scope: null, name, publicName: name as PublicName, description: `Does ${name}.`, version: null };
    const definition = { name, inputSchema: { type: "object" } };
    return { ...about, toolSha256: await sha256Hex(source), definition, source, recipe: null };
  });
  return { ...facts, skills: await Promise.all(skills) };
}

/** Registers an origin and returns its id. */
export async function register(origin: string): Promise<string> {
  return (await call("POST", "/origins", { origin })).body.id;
}

/** Creates a client and returns its id. */
export async function newClient(name = "client"): Promise<string> {
  return (await call("POST", "/clients", { name, rpm: null, grants: "all" })).body.id;
}

/** An operator of this role, with a token. */
export async function newOperator(role: string): Promise<{ id: string; token: string; tokenId: string }> {
  const { id } = (await call("POST", "/operators", { name: `A ${role}`, role })).body;
  const { token, id: tokenId } = (await call("POST", `/operators/${id}/tokens`)).body;
  return { id, token, tokenId };
}

export interface AccessRequest {
  /** The JWT that Cloudflare Access adds. */
  readonly assertion: string;
  readonly headers?: Record<string, string>;
  readonly body?: unknown;
}

/** The admin API behind Cloudflare Access, of a team whose keys are fetched so. */
export function accessGateway(fetchAccessKeys: NonNullable<AdminOptions["fetchAccessKeys"]>, bindings: object) {
  const app = adminGateway({ prober, fetchAccessKeys });
  return async (method: string, path: string, { assertion, headers = {}, body }: AccessRequest): Promise<Response> => {
    const sent = { "Cf-Access-Jwt-Assertion": assertion, "Content-Type": "application/json", ...headers };
    const init = { method, headers: sent, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
    return app.request(`https://gate.example/admin/api/v1${path}`, init, bindings);
  };
}
