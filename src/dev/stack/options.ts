import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { DEV_FOLDER } from "./paths.ts";

export const USAGE = `Usage: npm start [-- options]

Starts the gateway and the reference publishers on this machine.

  --port N   the gateway's port, 8787 unless said; the publishers get the four after it
  --data DIR keep databases, tokens and skillgate.json in DIR, .dev unless said
  --quiet    print neither progress nor a line for each request
  --help     print this
`;

const DEFAULT_PORT = 8787;
const MAX_PORT = 65_535 - 4;

export interface StartOptions {
  readonly port: number;
  readonly quiet: boolean;
  readonly dataDir: string;
}

/** Reads the command line; a sentence says what is wrong with it. */
export function readOptions(args: readonly string[]): StartOptions | "help" | { readonly problem: string } {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        port: { type: "string" },
        data: { type: "string" },
        quiet: { type: "boolean" },
        help: { type: "boolean", short: "h" },
      },
      strict: true,
    });
    if (values.help) return "help";
    const text = values.port ?? String(DEFAULT_PORT);
    const port = /^[1-9]\d{0,4}$/.test(text) ? Number(text) : 0;
    if (port < 1 || port > MAX_PORT) return { problem: `--port must be a number from 1 to ${MAX_PORT}.` };
    if (values.data === "") return { problem: "--data must name a folder." };
    return { port, quiet: values.quiet ?? false, dataDir: resolve(values.data ?? DEV_FOLDER) };
  } catch (error) {
    return { problem: (error as Error).message };
  }
}
