import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import type { CanonicalOrigin } from "../../core/origin.ts";
import { CommandError } from "../command-error.ts";
import { connectTo, type OriginConnection, readOrigin } from "../origin-connection.ts";
import type { Terminal } from "../terminal.ts";
import { openSite } from "./site-files.ts";
import { serveSite } from "./site-server.ts";

/** An origin that a command reaches, until it is disposed of. */
export interface OpenedOrigin extends OriginConnection {
  readonly origin: CanonicalOrigin;
}

/**
 * Opens the origin that a command line names: a published one, or a folder, which is served on a free port for as long.
 *
 * @throws {CommandError} `bad_origin`, `bad_file`.
 */
export async function openOrigin(text: string, { cwd }: Pick<Terminal, "cwd">): Promise<OpenedOrigin> {
  const isAddress = text.includes("://");
  const isFolder = !isAddress && (await stat(resolve(cwd, text)).catch(() => null))?.isDirectory() === true;
  if (!isAddress && !isFolder) {
    throw new CommandError("bad_origin", `There is no folder ${text}, and an origin is written as https://host.`);
  }
  if (!isFolder) {
    const origin = readOrigin(text);
    return { origin, ...connectTo(origin) };
  }
  const server = await serveSite({ site: await openSite(text, { cwd }), port: 0 });
  const connection = connectTo(server.origin);
  return {
    origin: server.origin,
    fetch: connection.fetch,
    [Symbol.asyncDispose]: async () => {
      await connection[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}
