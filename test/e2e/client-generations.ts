import {
  type StreamableHTTPClientTransportOptions as ModernOptions,
  Client as SdkV2Client,
  StreamableHTTPClientTransport as SdkV2Http,
} from "@modelcontextprotocol/client";
import { Client as Sdk132Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as Sdk132Http } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { Client as Sdk121Client } from "mcp-sdk-1.21/client/index.js";
import { StreamableHTTPClientTransport as Sdk121Http } from "mcp-sdk-1.21/client/streamableHttp.js";
import { Client as Sdk122Client } from "mcp-sdk-1.22/client/index.js";
import { StreamableHTTPClientTransport as Sdk122Http } from "mcp-sdk-1.22/client/streamableHttp.js";

/** The official clients that read `initialize` each in its own way: 1.22 was the first to take objects alone under `experimental`. */
export const GENERATIONS = ["1.21", "1.22", "1.32", "2"] as const;
export type Generation = (typeof GENERATIONS)[number];

/** A client of the first SDK, of whatever version. */
interface LegacyClient<Transport> {
  connect(transport: Transport): Promise<void>;
  getServerCapabilities(): { readonly experimental?: unknown } | undefined;
  close(): Promise<void>;
}

/** Connects, and gives what the server says under `capabilities.experimental`; rejects where the client does not take its answer. */
export function experimentalOf(generation: Generation, url: string, token: string): Promise<unknown> {
  const info = { name: "skillgate-tests", version: "1.0.0" };
  const to = new URL(url);
  const bearer = { requestInit: { headers: { Authorization: `Bearer ${token}` } } };
  switch (generation) {
    case "1.21":
      return read(new Sdk121Client(info), new Sdk121Http(to, bearer));
    case "1.22":
      return read(new Sdk122Client(info), new Sdk122Http(to, bearer));
    case "1.32":
      return read(new Sdk132Client(info), new Sdk132Http(to, bearer));
    case "2":
      return read(new SdkV2Client(info), new SdkV2Http(to, bearer as ModernOptions));
  }
}

async function read<Transport>(client: LegacyClient<Transport>, transport: unknown): Promise<unknown> {
  try {
    // The SDKs' own types of transport and client disagree under exactOptionalPropertyTypes.
    await client.connect(transport as Transport);
    return client.getServerCapabilities()?.experimental;
  } finally {
    await client.close();
  }
}
