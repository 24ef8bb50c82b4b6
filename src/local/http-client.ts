import type { Agent, ClientRequest, IncomingMessage, RequestOptions } from "node:http";
import type { LookupFunction } from "node:net";
import type { Readable } from "node:stream";
import type { OriginFetcher, OriginResponse } from "../core/fetch/origin-fetch.ts";

/** Sends requests over connections of its own, which it keeps. */
export interface HttpClient {
  readonly fetch: OriginFetcher;
  /** Breaks off what is under way. */
  close(): void;
}

/** What `node:http` and `node:https` have in common. */
interface Http {
  request(url: string, options: RequestOptions): ClientRequest;
  readonly Agent: new (options: { keepAlive: boolean; lookup?: LookupFunction }) => Agent;
}

/** Statuses whose answers have no body (Fetch standard, null body status). */
const BODILESS = new Set([204, 205, 304]);

/**
 * The part of `fetch` that reaching a publisher needs, over HTTP/1.1 by Node's own client: its `fetch` takes as long to load as all the rest of
 * the command, and a client waits for that. Redirects are never followed.
 *
 * @param lookup finds the address that is connected to.
 */
export function httpClient(protocol: "http:" | "https:", lookup?: LookupFunction): HttpClient {
  let opened: { readonly http: Http; readonly agent: Agent } | null = null;
  const open = () => {
    // Importing the first would read all of its names, and one of them is as slow to load as `fetch`.
    const http: Http = process.getBuiltinModule(protocol === "http:" ? "node:http" : "node:https");
    opened ??= { http, agent: new http.Agent({ keepAlive: true, ...(lookup === undefined ? {} : { lookup }) }) };
    return opened;
  };
  return {
    fetch: (url, init) => {
      const { http, agent } = open();
      return ask(http, agent, url, init);
    },
    close: () => opened?.agent.destroy(),
  };
}

function ask(http: Http, agent: Agent, url: string, init: RequestInit): Promise<OriginResponse> {
  const { method = "GET", body, cache, signal } = init;
  return new Promise((resolve, reject) => {
    const request = http.request(url, {
      agent,
      method,
      headers: {
        accept: "*/*",
        "accept-encoding": "gzip, br",
        ...(cache === "no-store" ? { "cache-control": "no-cache", pragma: "no-cache" } : {}),
        ...(init.headers as Record<string, string> | undefined),
      },
      ...(signal ? { signal } : {}),
    });
    request.on("response", (response) => resolve(answerOf(response)));
    request.on("error", (error: NodeJS.ErrnoException) => {
      // The publisher had closed a connection that was kept: nothing was answered, and another one will do.
      if (request.reusedSocket && error.code === "ECONNRESET" && method === "GET") {
        resolve(ask(http, agent, url, init));
      } else reject(error);
    });
    request.end(body as string | undefined);
  });
}

function answerOf(response: IncomingMessage): OriginResponse {
  const { statusCode: status = 0, headers } = response;
  // Whoever reads the body hears of what goes wrong with it; where nobody does, nobody has to.
  response.on("error", () => {});
  const fieldOf = (name: string) => headers[name.toLowerCase()];
  const isBodiless = BODILESS.has(status);
  if (isBodiless) response.resume();
  return {
    status,
    headers: { get: (name) => fieldOf(name)?.toString() ?? null, has: (name) => fieldOf(name) !== undefined },
    body: isBodiless ? null : streams.from(decoded(response)),
  };
}

/** What the types of Workers lack. */
const streams = ReadableStream as unknown as { from(chunks: AsyncIterable<Uint8Array>): ReadableStream<Uint8Array> };

/** Undoes the content codings that were asked for, and those that are sent unasked; of any other the bytes stay as they are. */
function decoded(response: IncomingMessage): Readable {
  const declared = response.headers["content-encoding"];
  let stream: Readable = response;
  if (declared === undefined) return stream;
  const codings = declared.split(",").map((coding) => coding.trim().toLowerCase());
  for (const coding of codings.reverse()) {
    const decoder = decoderOf(coding);
    if (decoder === null) break;
    stream.on("error", (error) => decoder.destroy(error));
    decoder.on("close", () => response.destroy());
    stream = stream.pipe(decoder);
  }
  return stream;
}

function decoderOf(coding: string) {
  // Seldom needed, so loaded when it is.
  const zlib = process.getBuiltinModule("node:zlib");
  switch (coding) {
    case "gzip":
    case "x-gzip":
      return zlib.createGunzip();
    case "deflate":
      return zlib.createInflate();
    case "br":
      return zlib.createBrotliDecompress();
    default:
      return null;
  }
}
