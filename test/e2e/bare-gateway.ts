import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildGateway, type GatewayOptions, type RunningGateway, startGateway } from "../../src/dev/stack/gateway.ts";
import { findFreeRun, HOST } from "../../src/dev/stack/ports.ts";

export const ADMIN_TOKEN = "console-admin-token-0123456789";

/** A gateway that knows nobody but whoever has {@link ADMIN_TOKEN}, on an empty database. */
export interface BareGateway {
  readonly url: string;
  readonly port: number;
  readonly database: RunningGateway["database"];
  /** Asks the admin API as a script would: bytes are sent as they are, everything else as JSON. */
  administer<T>(method: string, path: string, body?: unknown): Promise<T>;
  stop(): Promise<void>;
}

/** Settings over those of every such gateway, and what it fetches in place of the network's. */
export type BareOptions = Partial<Pick<GatewayOptions, "vars" | "documents">>;

export async function startBareGateway(options: BareOptions = {}): Promise<BareGateway> {
  const port = await findFreeRun(1);
  const stateDir = await mkdtemp(join(tmpdir(), "skillgate-bare-"));
  const gateway = await startGateway({
    ...options,
    worker: await buildGateway(),
    port,
    stateDir,
    vars: { ALLOW_LOOPBACK_ORIGINS: "true", PUBLIC_HOSTS: `${HOST}:${port}`, ADMIN_TOKEN, ...options.vars },
    onLog: () => undefined,
  });
  return {
    url: gateway.url,
    port,
    database: gateway.database,
    administer: async <T>(method: string, path: string, body?: unknown) => {
      const answer = await fetch(`${gateway.url}/admin/api/v1${path}`, {
        method,
        headers: {
          Authorization: `Bearer ${ADMIN_TOKEN}`,
          "Content-Type": body instanceof Uint8Array ? "application/octet-stream" : "application/json",
        },
        ...(body === undefined ? {} : { body: body instanceof Uint8Array ? Buffer.from(body) : JSON.stringify(body) }),
      });
      const text = await answer.text();
      if (!answer.ok) throw new Error(`${method} ${path} answered ${answer.status}: ${text}`);
      return (text === "" ? undefined : JSON.parse(text)) as T;
    },
    stop: async () => {
      await gateway.stop();
      await rm(stateDir, { recursive: true, force: true });
    },
  };
}
