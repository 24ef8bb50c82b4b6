import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { convertV4MiniflareOptions, Log, LogLevel, Miniflare } from "miniflare";
import { AdminClient } from "../../src/dev/stack/admin-client.ts";
import { buildGateway, type LogLine } from "../../src/dev/stack/gateway.ts";
import { applyMigrations } from "../../src/dev/stack/migrations.ts";
import { ROOT } from "../../src/dev/stack/paths.ts";
import { findFreeRun, HOST } from "../../src/dev/stack/ports.ts";
import { Caller } from "./caller.ts";

const ADMIN_TOKEN = "two-gateways-admin-token";

/** Two isolates of the gateway with one database and the same Durable Objects, as two data centres have. */
export interface TwoGateways {
  readonly callers: readonly [Caller, Caller];
  readonly admins: readonly [AdminClient, AdminClient];
  /** The client of the callers. */
  readonly clientId: string;
  /** Asks the admin API of the first; answers the parsed body, `undefined` where there is none. */
  administer(method: string, path: string, body?: object): Promise<unknown>;
  /** A caller of the second with another token. */
  secondCaller(clientToken: string): Caller;
  readonly log: readonly LogLine[];
  /** Registers an origin that is active at once, as if it had been probed and approved. */
  addOrigin(origin: string): Promise<string>;
  stop(): Promise<void>;
}

/** Starts both in one workerd. The second has no Durable Objects of its own: its bindings name the first one's. */
export async function startTwoGateways(vars: Readonly<Record<string, string>> = {}): Promise<TwoGateways> {
  const { options, modules } = await buildGateway();
  const first = await findFreeRun(2);
  const ports = [first, first + 1] as const;
  const stateDir = await mkdtemp(join(tmpdir(), "skillgate-two-"));
  const log: LogLine[] = [];
  const bindings = {
    ...(options.bindings as object),
    ALLOW_LOOPBACK_ORIGINS: "true",
    PUBLIC_HOSTS: ports.map((port) => `${HOST}:${port}`).join(","),
    ADMIN_TOKEN,
    ...vars,
  };
  const worker = (name: string, port: number) => ({
    ...options,
    name,
    modules: [...modules],
    bindings,
    unsafeDirectSockets: [{ host: HOST, port }],
  });
  const objects = { RATE_LIMITER: "RateLimiter", ORIGIN_HUB: "OriginHub" };
  const shared = Object.entries(objects).map(([binding, className]) => [
    binding,
    { className, scriptName: "first", useSQLite: true },
  ]);
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({
      host: HOST,
      cf: false,
      telemetry: { enabled: false },
      log: new Log(LogLevel.ERROR),
      handleStructuredLogs: ({ timestamp, level, message }) => log.push({ at: timestamp, level, text: message }),
      resourcePersistencePath: join(stateDir, "v3"),
      workers: [
        worker("first", ports[0]),
        { ...worker("second", ports[1]), durableObjects: Object.fromEntries(shared) },
      ],
    }),
  );
  const stop = async () => {
    await miniflare.dispose();
    await rm(stateDir, { recursive: true, force: true });
  };
  try {
    await miniflare.ready;
    const database = await miniflare.getD1Database("DB", "first");
    await applyMigrations(database, join(ROOT, "migrations"));
    const admin = (port: number) => new AdminClient(`http://${HOST}:${port}`, ADMIN_TOKEN);
    const admins = [admin(ports[0]), admin(ports[1])] as const;
    const clientId = await admins[0].createClient("two");
    const clientToken = await admins[0].createToken(clientId);
    const caller = (port: number) => new Caller({ port, clientToken });
    const callers = [caller(ports[0]), caller(ports[1])] as const;
    return {
      callers,
      admins,
      clientId,
      administer: async (method, path, body) => {
        const answer = await fetch(`http://${HOST}:${ports[0]}/admin/api/v1${path}`, {
          method,
          headers: { Authorization: `Bearer ${ADMIN_TOKEN}`, "Content-Type": "application/json" },
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        });
        const text = await answer.text();
        if (!answer.ok) throw new Error(`${method} ${path} answered ${answer.status}: ${text}`);
        return text === "" ? undefined : JSON.parse(text);
      },
      secondCaller: (token) => new Caller({ port: ports[1], clientToken: token }),
      log,
      addOrigin: async (origin) => {
        const id = await admins[0].ensureOrigin(origin);
        await database.prepare("UPDATE origins SET status = 'active' WHERE id = ?").bind(id).run();
        return id;
      },
      stop: async () => {
        for (const each of callers) each.close();
        await stop();
      },
    };
  } catch (error) {
    await stop();
    throw error;
  }
}
