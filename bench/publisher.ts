import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { HOST } from "../src/dev/stack/ports.ts";

/** Tools that a listing shows: the five skills and `get_skill_guide`. */
export const LISTED_TOOLS = 6;

/** The five skills of every origin of the benchmark: an honest one, one that fetches, one that fails and two hostile ones. */
const HANDLERS = {
  sum_numbers: "handler({ a, b }) { return a + b; }",
  // The publisher answers after so many milliseconds.
  look_up: "handler({ a }) { return JSON.parse(host.fetchOrigin('/api/wait?ms=' + a).body).waited; }",
  fail: "handler() { throw new Error('this tool always fails'); }",
  burn_gas: "handler() { for (;;); }",
  hoard: "handler() { const all = []; for (;;) all.push(new Uint8Array(1048576)); }",
} as const;

export type SkillName = keyof typeof HANDLERS;

const SCHEMA = `{
    type: "object",
    properties: { a: { type: "number", description: "The first number." }, b: { type: "number", description: "The second number." } },
    required: ["a", "b"],
    additionalProperties: false,
  }`;

/** The script of one skill. */
export function toolScript(name: SkillName): string {
  return `registerTool({
  name: "${name}",
  title: "Benchmark tool ${name}",
  description: "A tool of the benchmark's publisher.",
  inputSchema: ${SCHEMA},
  ${HANDLERS[name]},
});
`;
}

/** What every origin serves, by path below its base. */
function siteFiles(): ReadonlyMap<string, { readonly type: string; readonly body: Buffer }> {
  const files = new Map<string, { type: string; body: Buffer }>();
  const lines: string[] = [];
  for (const name of Object.keys(HANDLERS) as SkillName[]) {
    const recipe = Buffer.from(
      `---\nname: ${name}\ndescription: A skill of the benchmark.\nmetadata:\n  version: "1.0.0"\n---\n\n# ${name}\n\nCall it with two numbers.\n`,
    );
    const tool = Buffer.from(toolScript(name));
    const [recipePath, toolPath] = [`/skills/${name}/SKILL.md`, `/tools/${name}.js`];
    files.set(recipePath, { type: "text/markdown", body: recipe });
    files.set(toolPath, { type: "text/javascript", body: tool });
    const meta = { version: "1.0.0", sha256: sha256(recipe), tool: toolPath, tool_sha256: sha256(tool) };
    lines.push(`- [${name}](${recipePath}): A skill of the benchmark. <!-- skill: ${JSON.stringify(meta)} -->`);
  }
  const llmsTxt = `# Benchmark\n\n> Five skills.\n\n## Skills\n\n${lines.join("\n")}\n`;
  files.set("/llms.txt", { type: "text/plain", body: Buffer.from(llmsTxt) });
  return files;
}

export interface BenchPublisher {
  /** Origins are told apart by base path: `http://127.0.0.1:<port>/<name>`, as many as anybody asks for, all with the same files. */
  origin(name: string): string;
  stop(): Promise<void>;
}

/** Serves the benchmark's origins from this process. */
export async function startPublisher(): Promise<BenchPublisher> {
  const files = siteFiles();
  const server = createServer((request, response) => answer(files, request, response));
  server.keepAliveTimeout = 60_000;
  await new Promise<void>((resolve) => server.listen(0, HOST, resolve));
  const { port } = server.address() as AddressInfo;
  return {
    origin: (name) => `http://${HOST}:${port}/${name}`,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function answer(files: ReturnType<typeof siteFiles>, request: IncomingMessage, response: ServerResponse): void {
  const url = new URL(request.url ?? "/", "http://publisher");
  const path = url.pathname.replace(/^\/[^/]+/, "");
  if (path === "/api/wait") {
    const waited = Number(url.searchParams.get("ms"));
    setTimeout(() => {
      response.setHeader("Content-Type", "application/json");
      response.end(JSON.stringify({ waited }));
    }, waited);
    return;
  }
  const file = files.get(path);
  response.statusCode = file === undefined ? 404 : 200;
  response.setHeader("Content-Type", file?.type ?? "text/plain");
  response.end(file?.body ?? "not found");
}

function sha256(bytes: Buffer): string {
  return createHash("sha256").update(bytes).digest("hex");
}
