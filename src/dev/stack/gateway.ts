import { join } from "node:path";
import { convertV4MiniflareOptions, fetch, Log, LogLevel, Miniflare, type Request, Response } from "miniflare";
import { buildDashboard, DASHBOARD_FOLDER } from "../dashboard/build.ts";
import { buildDemo } from "../demo/build.ts";
import { type BuiltWorker, buildWorker } from "./bundle.ts";
import { applyMigrations } from "./migrations.ts";
import { ROOT } from "./paths.ts";
import { HOST } from "./ports.ts";

/**
 * workerd by itself knows nothing of the 128 MB that an isolate has on Cloudflare, and V8 leaves garbage alone while it finds room: a
 * Worker that answers a constant grows by 90 MiB over 20,000 requests, and one that fetches by 240. When every collection is a full one,
 * what remains is held by somebody; these two then grow by 1 and 35 MiB. The young generation would still take 48 MiB at its leisure and
 * keep them, empty: the second flag bounds it. Whoever sets the variable has it their way.
 */
export const V8_FLAGS = "--gc-global --max-semi-space-size=4";

const NAME = "gateway";
/** The Worker that serves the console's files. Were they bound to the gateway itself, Miniflare would put a router before every request. */
const DASHBOARD = "dashboard";
const NOTHING = "export default { fetch: () => new Response(null, { status: 404 }) };";
const EVERY_MINUTE = "* * * * *";
const MINUTE_MS = 60_000;

/** One line that the gateway wrote to its log. */
export interface LogLine {
  /** Epoch milliseconds. */
  readonly at: number;
  readonly level: string;
  readonly text: string;
}

export interface GatewayOptions {
  readonly worker: BuiltWorker;
  readonly port: number;
  /** Where D1 and the Durable Objects keep their data. */
  readonly stateDir: string;
  /** Settings and secrets, over those of wrangler.toml. */
  readonly vars: Readonly<Record<string, string>>;
  readonly onLog: (line: LogLine) => void;
  /** A second isolate on this port: the same database and Durable Objects, as two data centres have. */
  readonly secondPort?: number;
  /** JSON documents that the gateway fetches, by their addresses, in place of what the network has there. */
  readonly documents?: ReadonlyMap<string, object>;
}

export interface RunningGateway {
  /** `http://127.0.0.1:<port>` */
  readonly url: string;
  /** The gateway's D1, for tests of what is written behind its back. */
  readonly database: D1Database;
  /** Runs the cron handler once, as the platform does every minute. */
  runScheduled(): Promise<void>;
  stop(): Promise<void>;
}

type D1Database = Awaited<ReturnType<Miniflare["getD1Database"]>>;

export async function buildGateway(): Promise<BuiltWorker> {
  await buildDashboard();
  await buildDemo();
  return buildWorker({ name: NAME, config: "wrangler.toml", sources: ["src/core", "src/gateway"] });
}

/** Starts the gateway in a workerd of its own, listening directly, with its database migrated and its cron running. */
export async function startGateway(options: GatewayOptions): Promise<RunningGateway> {
  const { worker, port, secondPort, stateDir, vars, onLog, documents } = options;
  process.env.MINIFLARE_WORKERD_V8_FLAGS ??= V8_FLAGS;
  const { assets: _, ...bound } = worker.options;
  const isolate = (name: string, itsPort: number) => ({
    ...bound,
    name,
    serviceBindings: { ...(bound.serviceBindings as object), ASSETS: DASHBOARD },
    modules: [...worker.modules],
    bindings: { ...(worker.options.bindings as object), ...vars },
    unsafeDirectSockets: [{ host: HOST, port: itsPort }],
    ...(documents === undefined
      ? {}
      : {
          outboundService: async (request: Request) => {
            const found = documents.get(request.url);
            return found === undefined ? fetch(request) : Response.json(found);
          },
        }),
  });
  const second = (itsPort: number) => ({
    ...isolate(`${NAME}-2`, itsPort),
    durableObjects: objectsOf(worker, NAME),
    // The first one's cron wakes the hubs that both have.
    cronTriggers: [],
  });
  const dashboard = {
    name: DASHBOARD,
    compatibilityDate: "2026-11-01",
    modules: [{ type: "ESModule" as const, path: "nothing.js", contents: NOTHING }],
    assets: { directory: DASHBOARD_FOLDER, assetConfig: { html_handling: "none" as const } },
  };
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({
      host: HOST,
      cf: false,
      telemetry: { enabled: false },
      log: new Log(LogLevel.ERROR),
      handleStructuredLogs: ({ timestamp, level, message }) => onLog({ at: timestamp, level, text: message }),
      resourcePersistencePath: join(stateDir, "v3"),
      workers: [isolate(NAME, port), ...(secondPort === undefined ? [] : [second(secondPort)]), dashboard],
    }),
  );
  let database: D1Database;
  try {
    await miniflare.ready;
    database = await miniflare.getD1Database("DB", NAME);
    await applyMigrations(database, join(ROOT, "migrations"));
  } catch (error) {
    await miniflare.dispose();
    throw error;
  }
  const runScheduled = async () => {
    await (await miniflare.getWorker(NAME)).scheduled({ cron: EVERY_MINUTE });
  };
  const cron = setInterval(() => {
    runScheduled().catch((error) => onLog({ at: Date.now(), level: "error", text: `cron: ${String(error)}` }));
  }, MINUTE_MS);
  return {
    url: `http://${HOST}:${port}`,
    database,
    runScheduled,
    stop: async () => {
      clearInterval(cron);
      await miniflare.dispose();
    },
  };
}

/** Bindings to the Durable Objects of another isolate that runs the same Worker. */
function objectsOf(worker: BuiltWorker, scriptName: string): Record<string, object> {
  const objects = worker.options.durableObjects as Readonly<Record<string, object>>;
  return Object.fromEntries(Object.entries(objects).map(([binding, object]) => [binding, { ...object, scriptName }]));
}
