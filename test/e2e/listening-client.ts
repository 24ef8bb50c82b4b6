import {
  type StreamableHTTPClientTransportOptions as ModernOptions,
  Client as SdkV2Client,
  StreamableHTTPClientTransport as SdkV2Http,
} from "@modelcontextprotocol/client";
import { Client as SdkV1Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as SdkV1Http } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport as SdkV1Transport } from "@modelcontextprotocol/sdk/shared/transport.js";

/** The official clients that open a stream by themselves, and ask for their tools anew when they are told that these changed. */
export const LISTENING = ["SDK v1", "SDK v2, legacy", "SDK v2, auto"] as const;

export interface ListeningClient {
  /** Names of the tools that it saw when it was first told. */
  readonly told: Promise<readonly string[]>;
  stop(): Promise<void>;
}

/** Connects one to an MCP server. */
export async function startListening(
  kind: (typeof LISTENING)[number],
  url: string,
  token: string,
): Promise<ListeningClient> {
  let tell: (error: unknown, tools: readonly { readonly name: string }[] | null) => void = () => {};
  const told = new Promise<readonly string[]>((resolve, reject) => {
    tell = (error, tools) => (tools === null ? reject(error) : resolve(tools.map(({ name }) => name)));
  });
  const options = { listChanged: { tools: { onChanged: (...change: Parameters<typeof tell>) => tell(...change) } } };
  const info = { name: "skillgate-tests", version: "1.0.0" };
  const bearer = { requestInit: { headers: { Authorization: `Bearer ${token}` } } };
  if (kind === "SDK v1") {
    const client = new SdkV1Client(info, options);
    // The SDK's own types of transport and client disagree under exactOptionalPropertyTypes.
    await client.connect(new SdkV1Http(new URL(url), bearer) as SdkV1Transport);
    return { told, stop: () => client.close() };
  }
  const mode = kind === "SDK v2, legacy" ? "legacy" : "auto";
  const client = new SdkV2Client(info, { ...options, versionNegotiation: { mode } });
  await client.connect(new SdkV2Http(new URL(url), bearer as ModernOptions));
  return { told, stop: () => client.close() };
}
