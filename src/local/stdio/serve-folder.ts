import { resolve } from "node:path";
import type { Runtime } from "../../core/runtime/runtime.ts";
import { CommandError } from "../command-error.ts";
import { connectTo } from "../origin-connection.ts";
import { openSite } from "../serve/site-files.ts";
import { serveSite } from "../serve/site-server.ts";
import { watchSite } from "../serve/watch.ts";
import { shellCommand } from "../shell-command.ts";
import type { Terminal } from "../terminal.ts";
import { narrationOf, type ServeFlags, serveOrigins } from "./command.ts";

/**
 * `skillgate --serve <dir>`: the folder as a site on this machine, and that site over MCP. Whenever a file changes the site
 * is looked at again, and a client that listens is told where its lists changed.
 *
 * @throws {CommandError}
 */
export async function serveFolder(folder: string, flags: ServeFlags, terminal: Terminal): Promise<void> {
  const { port = 0 } = flags;
  if (flags.lock !== undefined && port === 0) {
    const why = "skills are pinned by their origin, which would be another one each time";
    throw new CommandError("usage", `With --serve, --lock needs a --port: ${why}.`);
  }
  const site = await openSite(folder, terminal);
  await using server = await serveSite({ site, port });
  await using connection = connectTo(server.origin);
  const narration = narrationOf(flags, terminal);
  const own = ["npx", "-y", "skillgate", "--serve", resolve(terminal.cwd, folder)];
  const adding = shellCommand("claude", "mcp", "add", "my-skills", "--", ...own);
  narration.tell("info", "serving", `serving ${folder} at ${server.origin}`, { origin: server.origin });
  narration.tell("info", "adding", `to add it to a client: ${adding}`);
  const served: Runtime[] = [];
  await using _watch = await watchSite(site.folder, async () => {
    for (const runtime of served) await runtime.refresh();
  });
  await serveOrigins([{ origin: server.origin, connection, isEdited: true }], flags, terminal, (runtime) =>
    served.push(runtime),
  );
}
