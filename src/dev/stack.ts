import { createWriteStream } from "node:fs";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AdminClient, type ProbeResult } from "./stack/admin-client.ts";
import { buildGateway, type LogLine, startGateway } from "./stack/gateway.ts";
import { readCredentials, writePrivateJson } from "./stack/kept-files.ts";
import { ensureClientToken, onboardOrigin } from "./stack/onboarding.ts";
import { DEV_FOLDER } from "./stack/paths.ts";
import { findFreeRun, HOST, requireFree } from "./stack/ports.ts";
import {
  buildPublishers,
  PUBLISHERS,
  type PublisherName,
  publisherPorts,
  startPublishers,
} from "./stack/publishers.ts";

export interface StackOptions {
  /** The gateway's port; the publishers get the four after it. 0: five free ones in a row. */
  readonly port: number;
  /** Where databases and tokens are kept; `.dev/state/<port>` unless said, and with port 0 a temporary folder that `stop` removes. */
  readonly stateDir?: string;
  /** Settings of the gateway, over those of wrangler.toml and of a local run. */
  readonly vars?: Readonly<Record<string, string>>;
  /** The publishers that the gateway gets to know; all of them unless said. The others run, unknown to it. */
  readonly onboard?: readonly PublisherName[];
  /** Says what is happening; silent unless given. */
  readonly onProgress?: (sentence: string) => void;
  /** Hears every line of the gateway's log, which goes to `gateway.log` in the state folder in any case. */
  readonly onLog?: (line: LogLine) => void;
  /** Ends a start between two of its steps, with everything that runs by then. */
  readonly signal?: AbortSignal;
}

/** A running gateway with its reference publishers, onboarded, and a client that may call them all without limit. */
export interface Stack {
  /** `http://127.0.0.1:<port>` */
  readonly url: string;
  readonly port: number;
  readonly adminToken: string;
  readonly clientToken: string;
  /** The publishers' origins, and the ids and probes that those onboarded have at the gateway. */
  readonly origins: Readonly<Record<PublisherName, string>>;
  readonly originIds: Readonly<Record<PublisherName, string>>;
  readonly probes: Readonly<Record<PublisherName, ProbeResult>>;
  readonly stateDir: string;
  readonly logFile: string;
  /** Runs the gateway's cron handler once. */
  runScheduled(): Promise<void>;
  /** Ends every process of the stack. A second call waits for the first. */
  stop(): Promise<void>;
}

/**
 * Builds and starts everything. A stack that was started on the same state folder and port finds its data, its tokens included.
 *
 * @throws PortBusy when another program holds one of the five ports, and the signal's reason once it is aborted.
 */
export async function startStack(options: StackOptions): Promise<Stack> {
  const say = (sentence: string) => {
    options.signal?.throwIfAborted();
    options.onProgress?.(sentence);
  };
  const port = options.port === 0 ? await findFreeRun(5) : options.port;
  const ports = publisherPorts(port + 1);
  await requireFree([port, ...Object.values(ports)]);

  const temporary = options.port === 0 && options.stateDir === undefined;
  const stateDir = temporary
    ? await mkdtemp(join(tmpdir(), "skillgate-"))
    : (options.stateDir ?? join(DEV_FOLDER, "state", String(port)));
  await mkdir(stateDir, { recursive: true });
  const credentialsFile = join(stateDir, "credentials.json");
  const credentials = await readCredentials(credentialsFile);
  const logFile = join(stateDir, "gateway.log");
  const log = createWriteStream(logFile, { flags: "a", mode: 0o600 });
  const endings: (() => Promise<unknown>)[] = [
    async () => {
      if (temporary) await rm(stateDir, { recursive: true, force: true });
    },
    () => new Promise((resolve) => log.end(resolve)),
  ];
  let stopped: Promise<void> | undefined;
  const stop = () => {
    stopped ??= (async () => {
      for (const end of endings.reverse()) await end();
    })();
    return stopped;
  };

  try {
    say("Building the gateway and the publishers…");
    const gatewayWorker = await buildGateway();
    options.signal?.throwIfAborted();
    const workers = await buildPublishers();

    say("Starting the gateway and the publishers…");
    const publishers = await startPublishers({
      workers,
      ports,
      stateDir: join(stateDir, "publishers"),
    });
    endings.push(() => publishers.stop());
    const gateway = await startGateway({
      worker: gatewayWorker,
      port,
      stateDir: join(stateDir, "gateway"),
      vars: {
        ALLOW_LOOPBACK_ORIGINS: "true",
        PUBLIC_HOSTS: `${HOST}:${port},localhost:${port}`,
        ...options.vars,
        ADMIN_TOKEN: credentials.adminToken,
      },
      onLog: (line) => {
        if (!log.writableEnded) log.write(`${line.text}\n`);
        options.onLog?.(line);
      },
    });
    endings.push(() => gateway.stop());

    say("Onboarding the publishers…");
    const admin = new AdminClient(gateway.url, credentials.adminToken);
    const originIds: Partial<Record<PublisherName, string>> = {};
    const probes: Partial<Record<PublisherName, ProbeResult>> = {};
    for (const name of options.onboard ?? PUBLISHERS) {
      options.signal?.throwIfAborted();
      const { id, probe } = await onboardOrigin(admin, publishers.origins[name]);
      originIds[name] = id;
      probes[name] = probe;
    }
    const { demo: anOrigin } = publishers.origins;
    const clientToken = await ensureClientToken(admin, gateway.url, anOrigin, credentials.clientToken);
    await writePrivateJson(credentialsFile, { adminToken: credentials.adminToken, clientToken });

    return {
      url: gateway.url,
      port,
      adminToken: credentials.adminToken,
      clientToken,
      origins: publishers.origins,
      originIds: originIds as Record<PublisherName, string>,
      probes: probes as Record<PublisherName, ProbeResult>,
      stateDir,
      logFile,
      runScheduled: gateway.runScheduled,
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}
