import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** A skill that a test publishes. */
export interface TestSkill {
  readonly name: string;
  readonly scope?: string;
  /** The whole `tool.js`. */
  readonly tool: string;
  /** Served in place of the tool's bytes; the declared hash stays that of {@link tool}. */
  readonly servedTool?: string;
  /** The `tool` of the line, where it is not the file that this publisher serves. */
  readonly toolUrl?: string;
  /** The text of `SKILL.md`; a skill without one has no recipe. */
  readonly recipe?: string;
}

/** Answers what is not one of the publisher's files; the body is read. Without one, every path answers 200 `{"path": …}`. */
export type Api = (request: IncomingMessage, response: ServerResponse, body: string) => void;

/** A publisher on a free loopback port. */
export interface TestPublisher {
  /** `http://127.0.0.1:<port>`, and the base path. */
  readonly origin: string;
  /** Requests that reached it, by path without the query. */
  readonly requests: ReadonlyMap<string, number>;
  /** Serves one more file, under the base. */
  put(path: string, text: string): void;
  stop(): Promise<void>;
}

/** The smallest tool: the body of a handler with `args` in scope. A body that awaits makes the handler asynchronous. */
export function toolFile(name: string, body: string): string {
  const kind = /\bawait\b/.test(body) ? "async " : "";
  return `registerTool({ name: ${JSON.stringify(name)}, ${kind}handler(args) { ${body}\n} });\n`;
}

/** A skill of the smallest tool. */
export function skill(name: string, body: string, more: Partial<TestSkill> = {}): TestSkill {
  return { name, tool: toolFile(name, body), ...more };
}

export interface TestPublisherOptions {
  readonly skills: readonly TestSkill[];
  readonly api?: Api;
  /** What the site lives under, such as `/REPO`; the root unless said. */
  readonly base?: string;
  /** Lines of `llms.txt` after the skills. */
  readonly moreLines?: readonly string[];
  /** Paths under the base that `api` answers although a file is there. */
  readonly overrides?: readonly string[];
  /** Lets pages of other sites read its answers and send it JSON, as a publisher should. Default: no. */
  readonly isOpenToPages?: boolean;
}

/** Starts a publisher. Its files are made once: what it serves is what its `llms.txt` declares. */
export async function startTestPublisher(options: TestPublisherOptions): Promise<TestPublisher> {
  const { skills, api = echoPath, base = "", moreLines = [], overrides = [], isOpenToPages = false } = options;
  const files = new Map<string, string>([[`${base}/llms.txt`, llmsTxt(skills, moreLines)]]);
  for (const skill of skills) {
    files.set(base + toolPath(skill), skill.servedTool ?? skill.tool);
    if (skill.recipe !== undefined) files.set(base + recipePath(skill), skill.recipe);
  }
  for (const path of overrides) files.delete(base + path);
  const requests = new Map<string, number>();
  const server = createServer((request, response) => {
    const path = (request.url ?? "/").split("?")[0] ?? "/";
    requests.set(path, (requests.get(path) ?? 0) + 1);
    if (isOpenToPages) response.setHeader("Access-Control-Allow-Origin", "*");
    if (isOpenToPages && request.method === "OPTIONS") {
      response.writeHead(204, { "Access-Control-Allow-Headers": "*", "Access-Control-Allow-Methods": "*" }).end();
      return;
    }
    const file = files.get(path);
    if (file !== undefined) response.setHeader("Content-Type", "text/plain; charset=utf-8").end(file);
    else if (path.startsWith(`${base}/.well-known/`)) response.writeHead(404).end();
    else void readBody(request).then((body) => api(request, response, body));
  });
  // workerd keeps connections open; so must the publisher, longer than a test pauses.
  server.keepAliveTimeout = 120_000;
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}${base}`,
    requests,
    put: (path, text) => void files.set(base + path, text),
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function llmsTxt(skills: readonly TestSkill[], moreLines: readonly string[]): string {
  const lines = skills.map((skill) => {
    const metadata = {
      version: "1.0.0",
      ...(skill.scope === undefined ? {} : { scope: skill.scope }),
      ...(skill.recipe === undefined ? {} : { sha256: sha256(skill.recipe) }),
      tool: skill.toolUrl ?? toolPath(skill),
      tool_sha256: sha256(skill.tool),
    };
    const link = skill.recipe === undefined ? "" : recipePath(skill);
    return `- [${skill.name}](${link}): A test. <!-- skill: ${JSON.stringify(metadata)} -->`;
  });
  return `# A test publisher\n\n## Skills\n\n${[...lines, ...moreLines].join("\n")}\n`;
}

const folder = ({ scope, name }: TestSkill) => (scope === undefined ? name : `${scope}/${name}`);
const toolPath = (skill: TestSkill) => `/tools/${folder(skill)}.js`;
const recipePath = (skill: TestSkill) => `/skills/${folder(skill)}/SKILL.md`;
const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

function echoPath(request: IncomingMessage, response: ServerResponse): void {
  response.setHeader("Content-Type", "application/json").end(JSON.stringify({ path: request.url }));
}
