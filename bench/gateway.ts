import { randomBytes } from "node:crypto";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { AdminClient } from "../src/dev/stack/admin-client.ts";
import { type BuiltWorker, buildWorker } from "../src/dev/stack/bundle.ts";
import { V8_FLAGS } from "../src/dev/stack/gateway.ts";
import { applyMigrations, type MigratableDatabase } from "../src/dev/stack/migrations.ts";
import { onboardOrigin } from "../src/dev/stack/onboarding.ts";
import { ROOT } from "../src/dev/stack/paths.ts";
import type { LoadRequest } from "./load/job.ts";
import type { BenchPublisher, SkillName } from "./publisher.ts";
import { OBJECTS_FOLDER } from "./workerd/config.ts";
import { type Prepared, prepareWorkerd, urlOf, type Workerd } from "./workerd/process.ts";
import type { Statement } from "./workers/d1/worker.ts";

/** The highest rate limit there is, beyond what one core serves: the limiter counts every call and refuses none. */
const HIGH_RPM = 1_000_000;
/** Requests that share an address share its fate when an address is limited: each client of the benchmark has its own. */
const ADDRESSES = { unlimited: "192.0.2.1", limited: "192.0.2.2", attacker: "198.51.100.66" } as const;

export type ClientName = keyof typeof ADDRESSES;

/** The gateway, its database filled, ready to be started as often as a measurement needs. */
export interface BenchGateway {
  readonly prepared: Prepared;
  /** The same with the V8 flags of `npm start`, which bound the memory of a process. */
  readonly bounded: Prepared;
  readonly tokens: Readonly<Record<ClientName, string>>;
}

/** Builds a Worker as a deployment would: minified. */
export function buildForProduction(name: "gateway" | "hello" | "sandbox" | "search" | "d1"): Promise<BuiltWorker> {
  const gateway = { config: "wrangler.toml", sources: ["src/core", "src/gateway"] };
  const folder = `bench/workers/${name}`;
  const source =
    name === "gateway"
      ? gateway
      : {
          config: `${folder}/wrangler.toml`,
          sources: name === "sandbox" || name === "search" ? [folder, "src/core"] : [folder],
        };
  return buildWorker({ name: `bench-${name}`, ...source, minify: true });
}

/**
 * Migrates the database, registers the origins and three clients through the admin API, and then forgets what the hubs discovered, so that
 * every origin is active, approved and cold.
 */
export async function prepareGateway(
  folder: string,
  publisher: BenchPublisher,
  origins: readonly string[],
  v8Flags: readonly string[],
): Promise<BenchGateway> {
  const [worker, d1] = [await buildForProduction("gateway"), await buildForProduction("d1")];
  const adminToken = `adm_${randomBytes(24).toString("base64url")}`;
  const stateDir = join(folder, "state");
  const vars = { ALLOW_LOOPBACK_ORIGINS: "true", ADMIN_TOKEN: adminToken };
  const setUp = await prepareWorkerd(folder, "setup", { worker, vars, stateDir, side: d1 });
  const workerd = await setUp.start();
  const tokens: Partial<Record<ClientName, string>> = {};
  try {
    await applyMigrations(databaseBehind(workerd.sidePort), join(ROOT, "migrations"));
    const admin = new AdminClient(urlOf(workerd.port), adminToken);
    for (const origin of origins) await onboardOrigin(admin, publisher.origin(origin));
    for (const name of Object.keys(ADDRESSES) as ClientName[]) {
      const id = await admin.createClient(name, name === "limited" ? HIGH_RPM : null);
      tokens[name] = await admin.createToken(id);
    }
  } finally {
    await workerd.stop();
  }
  await rm(join(stateDir, OBJECTS_FOLDER, "main-OriginHub"), { recursive: true });
  const prepared = await prepareWorkerd(folder, "gateway", { worker, vars, stateDir, v8Flags });
  const bounded = await prepareWorkerd(folder, "bounded", { worker, vars, stateDir, v8Flags: V8_FLAGS.split(" ") });
  return { prepared, bounded, tokens: tokens as Record<ClientName, string> };
}

export interface McpCall {
  readonly client: ClientName;
  /** In place of the client's own. */
  readonly token?: string;
  /** Full origin. */
  readonly origin: string;
  readonly message: object;
  readonly expect: LoadRequest["expect"];
}

/** One POST to the MCP endpoint, as a current client sends it. */
export function mcpRequest({ tokens }: BenchGateway, { client, token, origin, message, expect }: McpCall): LoadRequest {
  return {
    method: "POST",
    path: `/mcp/${origin.replace("http://", "")}`,
    headers: {
      Authorization: `Bearer ${token ?? tokens[client]}`,
      "Content-Type": "application/json",
      Accept: "application/json, text/event-stream",
      "MCP-Protocol-Version": "2025-11-25",
      "CF-Connecting-IP": ADDRESSES[client],
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, ...message }),
    expect,
  };
}

export function toolCall(name: SkillName, a: number, b: number): object {
  return { method: "tools/call", params: { name, arguments: { a, b } } };
}

/** One request outside any load; answers status, headers, body and milliseconds. */
export async function sendOnce(port: number, { method, path, headers, body }: LoadRequest) {
  const startedAt = performance.now();
  const answer = await fetch(`${urlOf(port)}${path}`, { method, headers, ...(body === undefined ? {} : { body }) });
  const text = await answer.text();
  return { status: answer.status, headers: answer.headers, text, ms: performance.now() - startedAt };
}

/**
 * Asks once, has the answer judged, and takes its very bytes as what every further answer must be.
 *
 * @throws when the answer is not a JSON-RPC result that `isRight` accepts.
 */
export async function learn(
  { port }: Workerd,
  request: LoadRequest,
  isRight: (result: unknown) => boolean,
): Promise<LoadRequest> {
  const { status, text } = await sendOnce(port, request);
  let result: unknown;
  try {
    result = (JSON.parse(text) as { result?: unknown }).result;
  } catch {
    result = undefined;
  }
  if (status !== 200 || !isRight(result)) {
    throw new Error(`${request.body} was answered wrongly: ${status} ${text.slice(0, 500)}`);
  }
  return { ...request, expect: { kind: "exact", body: text } };
}

/** The database of a gateway, through the Worker on its side socket. */
function databaseBehind(port: number): MigratableDatabase {
  type Bound = ReturnType<MigratableDatabase["prepare"]> & { readonly statement: Statement };
  const send = async (statements: readonly Statement[]) => {
    const answer = await fetch(urlOf(port), { method: "POST", body: JSON.stringify(statements) });
    if (!answer.ok) throw new Error(`The database refused: ${await answer.text()}`);
    return (await answer.json()) as { results: unknown[] }[];
  };
  const prepare = (sql: string, params: readonly unknown[] = []): Bound => ({
    statement: { sql, params },
    bind: (...values) => prepare(sql, values),
    run: () => send([{ sql, params }]),
    all: async <T>() => ({ results: ((await send([{ sql, params }]))[0]?.results ?? []) as T[] }),
  });
  return {
    prepare: (query) => prepare(query),
    batch: (statements) => send((statements as Bound[]).map(({ statement }) => statement)),
  };
}
