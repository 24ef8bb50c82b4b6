import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import {
  type StreamableHTTPClientTransportOptions as ModernOptions,
  Client as SdkV2Client,
  StreamableHTTPClientTransport as SdkV2Http,
} from "@modelcontextprotocol/client";
import { Client as SdkV1Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport as SdkV1Http } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport as SdkV1Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { ROOT } from "../../src/dev/stack/paths.ts";
import type { ToolAnswer } from "./caller.ts";

/** What every client of the ecosystem can do, in the same words. */
export interface ConnectedClient {
  /** The revision that it settled on; `null` where it does not say. */
  readonly protocolVersion: string | null;
  /** Names, in the order of the listing. */
  listTools(): Promise<readonly string[]>;
  callTool(name: string, args: Readonly<Record<string, unknown>>): Promise<ToolAnswer>;
  /** URIs, in the order of the listing. */
  listResources(): Promise<readonly string[]>;
  /** The text of a resource. */
  readResource(uri: string): Promise<string>;
  close(): Promise<void>;
}

export interface Target {
  readonly url: string;
  readonly token: string;
  /** Where a client may leave files. */
  readonly home: string;
}

export type Connect = (target: Target) => Promise<ConnectedClient>;

const INFO = { name: "skillgate-tests", version: "1.0.0" };
const run = promisify(execFile);
const script = (path: string) => join(ROOT, "node_modules", path);

export interface EcosystemClient {
  readonly name: string;
  /** The revision that it must settle on; `null` where it does not say. */
  readonly version: string | null;
  /** How often it begins a process of its own, at a second or so each. */
  readonly processes: "none" | "a session" | "a request";
  readonly connect: Connect;
}

export const CLIENTS: readonly EcosystemClient[] = [
  { name: "SDK v1", version: "2025-11-25", processes: "none", connect: sdkV1 },
  { name: "SDK v2, legacy", version: "2025-11-25", processes: "none", connect: sdkV2("legacy") },
  { name: "SDK v2, auto", version: "2026-07-28", processes: "none", connect: sdkV2("auto") },
  {
    name: "SDK v2, pinned to 2026-07-28",
    version: "2026-07-28",
    processes: "none",
    connect: sdkV2({ pin: "2026-07-28" }),
  },
  { name: "mcp-inspector, legacy", version: null, processes: "a request", connect: inspector("legacy") },
  { name: "mcp-inspector, modern", version: null, processes: "a request", connect: inspector("modern") },
  { name: "mcp-remote bridging to the SDK v1", version: "2025-11-25", processes: "a session", connect: mcpRemote },
];

const bearer = (token: string) => ({ requestInit: { headers: { Authorization: `Bearer ${token}` } } });

/** The part of both SDKs' clients that the tests use. */
type SdkClient = Pick<SdkV1Client, "listTools" | "callTool" | "listResources" | "readResource" | "close">;

function wrap(client: SdkClient, protocolVersion: string | null): ConnectedClient {
  return {
    protocolVersion,
    listTools: async () => (await client.listTools()).tools.map(({ name }) => name),
    callTool: async (name, args) => (await client.callTool({ name, arguments: { ...args } })) as ToolAnswer,
    listResources: async () => (await client.listResources()).resources.map(({ uri }) => uri),
    readResource: async (uri) => {
      const [first] = (await client.readResource({ uri })).contents;
      return first !== undefined && "text" in first ? first.text : "";
    },
    close: () => client.close(),
  };
}

async function sdkV1({ url, token }: Target): Promise<ConnectedClient> {
  const transport = new SdkV1Http(new URL(url), bearer(token));
  const client = new SdkV1Client(INFO);
  // The SDK's own types of transport and client disagree under exactOptionalPropertyTypes.
  await client.connect(transport as SdkV1Transport);
  return wrap(client, transport.protocolVersion ?? null);
}

function sdkV2(mode: "legacy" | "auto" | { pin: string }): Connect {
  return async ({ url, token }) => {
    const client = new SdkV2Client(INFO, { versionNegotiation: { mode } });
    await client.connect(new SdkV2Http(new URL(url), bearer(token) as ModernOptions));
    return wrap(client as unknown as SdkClient, client.getNegotiatedProtocolVersion() ?? null);
  };
}

/** The bridge speaks stdio to the client and HTTP to the gateway. */
async function mcpRemote({ url, token, home }: Target): Promise<ConnectedClient> {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [
      script("mcp-remote/dist/proxy.js"),
      url,
      ...["--header", `Authorization: Bearer ${token}`],
      ...["--transport", "http-only"],
      "--allow-http",
    ],
    env: { PATH: process.env.PATH ?? "", HOME: home, MCP_REMOTE_CONFIG_DIR: home },
    stderr: "ignore",
  });
  const client = new SdkV1Client(INFO);
  await client.connect(transport);
  return wrap(client, "2025-11-25");
}

/** The inspector's command line is one process a request. */
function inspector(era: "legacy" | "modern"): Connect {
  return async ({ url, token, home }) => {
    const ask = async <T>(...args: string[]): Promise<T> => {
      const { stdout } = await run(
        process.execPath,
        [
          script(".bin/mcp-inspector"),
          ...["--cli", url, "--transport", "http", "--protocol-era", era, "--format", "json"],
          ...["--header", `Authorization: Bearer ${token}`],
          ...args,
        ],
        { env: { PATH: process.env.PATH ?? "", HOME: home } },
      );
      return (JSON.parse(stdout) as { result: T }).result;
    };
    return {
      protocolVersion: null,
      listTools: async () =>
        (await ask<{ tools: { name: string }[] }>("--method", "tools/list", "--strict")).tools.map(({ name }) => name),
      callTool: (name, args) =>
        ask("--method", "tools/call", "--tool-name", name, "--tool-args-json", JSON.stringify(args)),
      listResources: async () =>
        (await ask<{ resources: { uri: string }[] }>("--method", "resources/list")).resources.map(({ uri }) => uri),
      readResource: async (uri) =>
        (await ask<{ contents: { text: string }[] }>("--method", "resources/read", "--uri", uri)).contents[0]?.text ??
        "",
      close: async () => undefined,
    };
  };
}
