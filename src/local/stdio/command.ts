import { type Command, InvalidArgumentError } from "commander";
import type { RequiredAttestations, RuntimeOrigin } from "../../core/runtime/origin-runtime.ts";
import { Runtime } from "../../core/runtime/runtime.ts";
import { describeUnavailable } from "../../core/runtime/unavailable.ts";
import { CommandError } from "../command-error.ts";
import type { PinFile } from "../lock/pin-file.ts";
import { createNodeSandboxLater } from "../node-sandbox.ts";
import { connectTo, type OriginConnection, readOrigin } from "../origin-connection.ts";
import { repeatable } from "../repeated-options.ts";
import { readPort } from "../serve/port-option.ts";
import type { Terminal } from "../terminal.ts";
import { Narration } from "./narration.ts";
import { keepRefreshing } from "./refreshing.ts";
import { serveStdio } from "./serve-stdio.ts";

export interface ServeFlags {
  readonly serve?: string;
  readonly port?: number;
  readonly refresh?: number;
  readonly lock?: string;
  readonly lockUpdate?: true;
  readonly frozen?: true;
  readonly requireAttestation?: readonly string[];
  readonly jsonLogs?: true;
  readonly verbose?: true;
}

const LEAST_REFRESH_S = 5;
const MOST_REFRESH_S = 86_400;

/** What `skillgate <origin>` takes besides the origins. */
export function addServeOptions(program: Command): Command {
  return program
    .option(
      "--serve <dir>",
      "serve a folder on this machine, in place of an origin, and look at it again when a file changes",
    )
    .option("--port <n>", "with --serve: the port; any that is free unless said", readPort)
    .option("--refresh <seconds>", "look at the origins again every so often; SIGHUP does it at once", readSeconds)
    .option("--lock <file>", "pin every skill at first use: refuse it when it changes")
    .option("--lock-update", "with --lock: pin what has changed anew")
    .option("--frozen", "with --lock: use only what is pinned, and never write the file")
    .addOption(
      repeatable(
        "--require-attestation <who>",
        "serve only what this reviewer attests: attester=key, or issuer|identity for Sigstore",
      ),
    )
    .option("--json-logs", "write progress and complaints as one JSON object a line")
    .option("--verbose", "tell of every fetch and every hash")
    .addHelpText(
      "after",
      "\nWith origins or a folder, serves their skills over MCP on stdin and stdout until stdin ends; progress goes to stderr.\n" +
        "Exit codes: 0 it ended as asked, 1 something failed, 2 the command line or the lock file is wrong.",
    );
}

/** What there is to serve, and how it is reached. */
export interface ServedOrigin extends Omit<RuntimeOrigin, "fetch"> {
  readonly connection: OriginConnection;
}

/** `skillgate <origin> [more…]` @throws {CommandError} */
export async function serveCommand(given: readonly string[], flags: ServeFlags, terminal: Terminal): Promise<void> {
  const origins = given.map(readOrigin);
  const twice = origins.find((origin, index) => origins.indexOf(origin) !== index);
  if (twice !== undefined) throw new CommandError("usage", `The origin ${twice} is given twice.`);
  const served = origins.map((origin) => ({ origin, connection: connectTo(origin) }));
  try {
    await serveOrigins(served, flags, terminal);
  } finally {
    for (const { connection } of served) await connection[Symbol.asyncDispose]();
  }
}

/**
 * Serves origins over MCP on the terminal's streams until the client goes.
 *
 * @param onRuntime told of the runtime before it is started, for whoever has reasons of their own to refresh it.
 * @throws {CommandError}
 */
export async function serveOrigins(
  served: readonly ServedOrigin[],
  flags: ServeFlags,
  terminal: Terminal,
  onRuntime: (runtime: Runtime) => void = () => {},
): Promise<void> {
  const { input, output, now } = terminal;
  const narration = narrationOf(flags, terminal);
  const pins = await openPins(flags, terminal, narration);
  const attestations = await requiredAttestations(flags);
  if (input === undefined || output === undefined) throw new Error("This terminal has no streams to serve on.");
  let onListChanged = () => {};
  const runtime = await Runtime.create({
    origins: served.map(({ connection, ...origin }) => ({ ...origin, fetch: connection.fetch })),
    sandbox: createNodeSandboxLater(),
    attestations,
    ...(pins === null ? {} : { checkPins: pins.check }),
    now,
    onEvent: (event) => {
      narration.hear(event);
      if (event.kind === "list_changed") onListChanged();
    },
  });
  for (const [origin, prefix] of runtime.prefixes) {
    narration.tell("info", "prefix", `tools of ${origin} are called ${prefix}__…`, { origin, prefix });
  }
  onRuntime(runtime);
  const server = serveStdio({
    input,
    output,
    ending: terminal.ending ?? new AbortController().signal,
    serverInfo: runtime.serverInfo,
    provide: () => runtime.provide(),
    describeError: (error) => {
      const failure = describeUnavailable(error);
      if (failure === null) narration.tell("error", "internal", error instanceof Error ? error.message : String(error));
      return failure;
    },
  });
  onListChanged = server.listChanged;
  using refreshing = keepRefreshing(runtime, flags.refresh === undefined ? null : flags.refresh * 1_000);
  terminal.onHangup?.(() => refreshing.now());
  await server.ended;
  runtime.close();
}

export function narrationOf(flags: ServeFlags, { report, isColored, now }: Terminal): Narration {
  return new Narration({
    report,
    isJson: flags.jsonLogs ?? false,
    isColored: isColored ?? false,
    isVerbose: flags.verbose ?? false,
    now,
  });
}

async function openPins(flags: ServeFlags, { cwd, now }: Terminal, narration: Narration): Promise<PinFile | null> {
  const { lock: file, lockUpdate = false, frozen = false } = flags;
  if (file === undefined) {
    if (lockUpdate || frozen) {
      throw new CommandError("usage", `The option ${frozen ? "--frozen" : "--lock-update"} needs --lock.`);
    }
    return null;
  }
  if (lockUpdate && frozen) {
    throw new CommandError("usage", "The options --lock-update and --frozen exclude each other.");
  }
  const onPinned = (message: string) => narration.tell("info", "pinned", message);
  const { PinFile } = await import("../lock/pin-file.ts");
  return PinFile.open({ file, cwd, isUpdate: lockUpdate, isFrozen: frozen, now, onPinned });
}

async function requiredAttestations({ requireAttestation = [] }: ServeFlags): Promise<RequiredAttestations | null> {
  if (requireAttestation.length === 0) return null;
  // Loaded where it is asked for: it takes as long as all the rest.
  const { readReviewer } = await import("../reviewer-options.ts");
  const { embeddedTrustRoot } = await import("../../core/attestation/trust-root.ts");
  return { reviewers: requireAttestation.map(readReviewer), trustRoot: embeddedTrustRoot() };
}

function readSeconds(text: string): number {
  const seconds = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (seconds >= LEAST_REFRESH_S && seconds <= MOST_REFRESH_S) return seconds;
  throw new InvalidArgumentError(`It must be whole seconds, ${LEAST_REFRESH_S} to ${MOST_REFRESH_S}.`);
}
