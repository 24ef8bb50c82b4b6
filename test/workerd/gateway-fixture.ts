import { applyD1Migrations, createExecutionContext, type D1Migration, waitOnExecutionContext } from "cloudflare:test";
import { env as testEnv } from "cloudflare:workers";
import { drizzle } from "drizzle-orm/d1";
import type { CanonicalOrigin } from "../../src/core/origin.ts";
import { junkFailures, unknownFailures } from "../../src/gateway/auth/failures.ts";
import { forgetPolicy } from "../../src/gateway/auth/policy.ts";
import { createToken, tokenSha256 } from "../../src/gateway/auth/token.ts";
import type { Env } from "../../src/gateway/env.ts";
import { clientOrigins, clients, clientTokens, origins } from "../../src/gateway/registry/schema.ts";
import { hubStatus } from "../../src/gateway/releases/hub-client.ts";
import worker from "../../src/gateway/worker.ts";

/** The bindings of wrangler.toml and those that only the tests have (vitest.config.ts). */
export interface TestEnv extends Env {
  readonly TEST_MIGRATIONS: D1Migration[];
  /** A D1 database without tables: every read fails. */
  readonly EMPTY_DB: D1Database;
  /** Durable Objects whose every method throws. */
  readonly BROKEN_OBJECT: DurableObjectNamespace;
}

export const env = testEnv as unknown as TestEnv;

let made = 0;

/** Makes the tables, and forgets what other files left in the isolate; call it once a file, before all tests. */
export async function migrate(): Promise<void> {
  junkFailures.clear();
  unknownFailures.clear();
  forgetPolicy();
  await applyD1Migrations(env.DB, env.TEST_MIGRATIONS);
}

type Status = "pending" | "active" | "suspended" | "revoked";

/**
 * An origin row whose code needs no approval, unless `row` says otherwise. The host's first word tells the publisher Worker what to be
 * (publishers.mjs).
 */
export async function addOrigin(
  kind = "good",
  status: Status = "active",
  row: Partial<typeof origins.$inferInsert> = {},
): Promise<{ id: string; origin: string; host: string }> {
  made += 1;
  const id = `org_${made}`;
  const host = `${kind}-${made}-${crypto.randomUUID().slice(0, 8)}.example`;
  const origin = `https://${host}`;
  await drizzle(env.DB)
    .insert(origins)
    .values({ id: `${id}_${host}`, origin, status, pin: "off", createdAt: 0, updatedAt: 0, ...row });
  return { id: `${id}_${host}`, origin, host };
}

interface ClientOptions {
  readonly rpm?: number | null;
  readonly dailyQuota?: number | null;
  readonly status?: "active" | "suspended";
  readonly grants?: "all" | readonly string[];
  readonly expiresAt?: number;
  readonly revokedAt?: number;
}

/** A client with one token. */
export async function addClient(options: ClientOptions = {}): Promise<{ id: string; token: string }> {
  made += 1;
  const { rpm = null, dailyQuota = null, status = "active", grants = "all" } = options;
  const id = `cli_${made}_${crypto.randomUUID().slice(0, 8)}`;
  const token = createToken();
  const db = drizzle(env.DB);
  await db
    .insert(clients)
    .values({ id, name: "test", status, rpm, dailyQuota, grantAll: grants === "all", createdAt: 0, updatedAt: 0 });
  await db.insert(clientTokens).values({
    id: `tok_${id}`,
    clientId: id,
    tokenSha256: await tokenSha256(token),
    createdAt: 0,
    expiresAt: options.expiresAt ?? null,
    revokedAt: options.revokedAt ?? null,
  });
  if (grants !== "all") {
    for (const originId of grants) await db.insert(clientOrigins).values({ clientId: id, originId });
  }
  forgetPolicy();
  return { id, token };
}

/** Sends one request through the whole Worker and waits for its background work. */
export async function send(
  path: string,
  init: RequestInit = {},
  bindings: Partial<Record<string, unknown>> = {},
): Promise<Response> {
  const url = path.startsWith("http") ? path : `https://gate.example${path}`;
  const ctx = createExecutionContext();
  const merged = Object.keys(bindings).length === 0 ? env : ({ ...env, ...bindings } as Env);
  const request = new Request(url, init) as Request<unknown, IncomingRequestCfProperties>;
  const response = await worker.fetch(request, merged, ctx);
  await waitOnExecutionContext(ctx);
  return response;
}

export interface RpcAnswer {
  readonly jsonrpc: "2.0";
  readonly id: string | number | null;
  readonly result?: Record<string, unknown>;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: { readonly code?: string } };
}

interface CallOptions {
  readonly token?: string;
  readonly headers?: Record<string, string>;
  readonly params?: unknown;
  readonly bindings?: Partial<Record<string, unknown>>;
  readonly signal?: AbortSignal;
}

/** A legacy-era JSON-RPC request with id 1. */
export function rpc(
  path: string,
  method: string,
  { token, headers, params, bindings, signal }: CallOptions = {},
): Promise<Response> {
  return send(
    path,
    {
      method: "POST",
      headers: {
        "Content-Type": "application/json",
        Accept: "application/json, text/event-stream",
        ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }),
        ...headers,
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, ...(params === undefined ? {} : { params }) }),
      ...(signal === undefined ? {} : { signal }),
    },
    bindings,
  );
}

/** A legacy-era `tools/call`. */
export function callTool(path: string, token: string, name: string, args: unknown = {}): Promise<Response> {
  return rpc(path, "tools/call", { token, params: { name, arguments: args } });
}

/** The result of an answer that must have one. */
export async function result(response: Response): Promise<Record<string, unknown>> {
  const body = (await response.json()) as RpcAnswer;
  if (body.result === undefined) throw new Error(JSON.stringify(body));
  return body.result;
}

export const mcp = (origin: string): string => `/mcp?origin=${encodeURIComponent(origin)}`;

/** How often the publisher was asked for a path. */
export async function seen(host: string, path: string): Promise<number> {
  const counts = (await (await fetch(`https://${host}/__seen`)).json()) as Record<string, number>;
  return counts[path] ?? 0;
}

/** A hub writes to its storage after it answered: from here on that is done. */
export async function hubHasWritten(origin: string): Promise<void> {
  await hubStatus(env, origin as CanonicalOrigin);
}

/** Makes a publisher another kind of publisher. */
export async function become(host: string, kind: string): Promise<void> {
  await fetch(`https://${host}/__mode`, { method: "PUT", body: kind });
}
