import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AdminClient } from "../../src/dev/stack/admin-client.ts";
import { buildGateway, type LogLine, type RunningGateway, startGateway } from "../../src/dev/stack/gateway.ts";
import { findFreeRun, HOST } from "../../src/dev/stack/ports.ts";
import { Caller } from "./caller.ts";

const ADMIN_TOKEN = "two-gateways-admin-token";

/** Two isolates of the gateway with one database and the same Durable Objects, as two data centres have. */
export interface TwoGateways {
  readonly callers: readonly [Caller, Caller];
  readonly database: RunningGateway["database"];
  readonly urls: readonly [string, string];
  /** The address of the first, and the token of its admin API. */
  readonly url: string;
  readonly adminToken: string;
  readonly admins: readonly [AdminClient, AdminClient];
  /** The client of the callers. */
  readonly clientId: string;
  /** Asks the admin API of the first; answers the parsed body, `undefined` where there is none. */
  administer(method: string, path: string, body?: object): Promise<unknown>;
  /** A caller of the second with another token. */
  secondCaller(clientToken: string): Caller;
  readonly log: readonly LogLine[];
  /** Registers an origin that is active at once and whose code needs no approval. */
  addOrigin(origin: string): Promise<string>;
  /** Changes the database behind the gateways' backs, as nobody should. */
  execute(sql: string, ...values: readonly unknown[]): Promise<void>;
  stop(): Promise<void>;
}

/** Starts both in one workerd, as `npm start` starts one. */
export async function startTwoGateways(vars: Readonly<Record<string, string>> = {}): Promise<TwoGateways> {
  const first = await findFreeRun(2);
  const ports = [first, first + 1] as const;
  const stateDir = await mkdtemp(join(tmpdir(), "skillgate-two-"));
  const log: LogLine[] = [];
  const gateway = await startGateway({
    worker: await buildGateway(),
    port: ports[0],
    secondPort: ports[1],
    stateDir,
    vars: {
      ALLOW_LOOPBACK_ORIGINS: "true",
      PUBLIC_HOSTS: ports.map((port) => `${HOST}:${port}`).join(","),
      ...vars,
      ADMIN_TOKEN,
    },
    onLog: (line) => log.push(line),
  });
  const { database } = gateway;
  const stop = async () => {
    await gateway.stop();
    await rm(stateDir, { recursive: true, force: true });
  };
  try {
    const admin = (port: number) => new AdminClient(`http://${HOST}:${port}`, ADMIN_TOKEN);
    const admins = [admin(ports[0]), admin(ports[1])] as const;
    const clientId = await admins[0].createClient("two");
    const clientToken = await admins[0].createToken(clientId);
    const caller = (port: number) => new Caller({ port, clientToken });
    const callers = [caller(ports[0]), caller(ports[1])] as const;
    return {
      callers,
      database,
      urls: [gateway.url, `http://${HOST}:${ports[1]}`],
      url: gateway.url,
      adminToken: ADMIN_TOKEN,
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
      execute: async (sql, ...values) => {
        await database
          .prepare(sql)
          .bind(...values)
          .run();
      },
      addOrigin: async (origin) => {
        const id = await admins[0].ensureOrigin(origin);
        await database.prepare("UPDATE origins SET status = 'active', pin = 'off' WHERE id = ?").bind(id).run();
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
