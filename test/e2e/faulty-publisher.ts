import { createHash } from "node:crypto";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** Answers one file in a way of its own; `undefined` from a table of them means: as it should be. */
export type Fault = (response: ServerResponse, bytes: Buffer) => void;

export interface FaultyPublisher {
  readonly origin: string;
  /** Requests by path. */
  readonly requests: ReadonlyMap<string, number>;
  /** What each path is answered with from now on. */
  readonly faults: Map<string, Fault>;
  /** Bytes of bodies that were handed to the network. */
  readonly sent: () => number;
  /** Puts a new version of all files in place. */
  deploy(version: number): void;
  stop(): Promise<void>;
}

const source = (name: string, version: number) =>
  `registerTool({ name: "${name}", handler: () => ({ name: "${name}", version: ${version} }) });\n`;

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");

/** A publisher with the skills `good` and `other`, over real sockets, so that it can break what HTTP promises. */
export async function startFaultyPublisher(faults: Readonly<Record<string, Fault>> = {}): Promise<FaultyPublisher> {
  const files = new Map<string, Buffer>();
  const deploy = (version: number) => {
    const lines = ["good", "other"].map((name) => {
      const metadata = { tool: `/${name}.js`, tool_sha256: sha256(source(name, version)) };
      files.set(`/${name}.js`, Buffer.from(source(name, version)));
      return `- [${name}](): A test. <!-- skill: ${JSON.stringify(metadata)} -->`;
    });
    files.set("/llms.txt", Buffer.from(`# Faulty\n\n## Skills\n\n${lines.join("\n")}\n`));
  };
  deploy(1);
  const requests = new Map<string, number>();
  const table = new Map(Object.entries(faults));
  let sent = 0;
  const server = createServer((request, response) => {
    const path = (request.url ?? "/").split("?")[0] ?? "/";
    requests.set(path, (requests.get(path) ?? 0) + 1);
    const { socket } = response;
    response.on("close", () => {
      sent += socket?.bytesWritten ?? 0;
    });
    const bytes = files.get(path);
    if (bytes === undefined) response.writeHead(404).end();
    else (table.get(path) ?? asItShould)(response, bytes);
  });
  server.keepAliveTimeout = 120_000;
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    faults: table,
    sent: () => sent,
    deploy,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

const asItShould: Fault = (response, bytes) => void response.end(bytes);

const HUNDRED_MB = 100_000_000;

/** Writes zeros as fast as they are taken, until all are written or the reader has gone. */
function pour(response: ServerResponse, left = HUNDRED_MB): void {
  const chunk = Buffer.alloc(65_536, "x");
  const more = () => {
    while (left > 0 && !response.destroyed) {
      left -= chunk.length;
      if (!response.write(chunk)) return void response.once("drain", more);
    }
    response.end();
  };
  more();
}

/** What a publisher can do to a file. */
export const FAULTS = {
  "answers 500": (response) => void response.writeHead(500).end("the database password is hunter2"),
  "never answers": () => {},
  "stalls in the middle": (response, bytes) => {
    response.writeHead(200, { "Content-Length": bytes.length }).write(bytes.subarray(0, 10));
  },
  "resets the connection": (response) => void response.socket?.resetAndDestroy(),
  "resets in the middle": (response, bytes) => {
    response.writeHead(200, { "Content-Length": bytes.length }).write(bytes.subarray(0, 10), () => {
      response.socket?.resetAndDestroy();
    });
  },
  "truncates without a length": (response, bytes) => {
    response.writeHead(200, { "Transfer-Encoding": "chunked" }).write(bytes.subarray(0, 10), () => {
      response.socket?.destroy();
    });
  },
  "declares a larger length": (response, bytes) => {
    response.writeHead(200, { "Content-Length": bytes.length + 10, Connection: "close" }).write(bytes, () => {
      response.socket?.end();
    });
  },
  "declares 100 MB": (response, bytes) => {
    response.writeHead(200, { "Content-Length": HUNDRED_MB }).write(bytes);
  },
  "sends 100 MB": (response) => {
    response.writeHead(200, { "Content-Length": HUNDRED_MB });
    pour(response);
  },
  "sends 100 MB without a length": (response) => {
    response.writeHead(200, { "Transfer-Encoding": "chunked" });
    pour(response);
  },
  "redirects away": (response) =>
    void response.writeHead(302, { Location: "https://elsewhere.example/llms.txt" }).end(),
  "redirects to a metadata address": (response) => {
    response.writeHead(302, { Location: "http://169.254.169.254/latest" }).end();
  },
  "answers with HTML": (response) => {
    response.writeHead(200, { "Content-Type": "text/html" }).end("<!doctype html><title>Welcome</title>");
  },
} satisfies Record<string, Fault>;
