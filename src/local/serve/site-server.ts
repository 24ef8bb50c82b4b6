import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { sha256Hex } from "../../core/integrity.ts";
import { type CanonicalOrigin, parseOrigin } from "../../core/origin.ts";
import { CommandError } from "../command-error.ts";
import { errorCode } from "../files.ts";
import { contentTypeOf } from "./content-type.ts";
import type { SiteFiles } from "./site-files.ts";
import { readSitePath } from "./site-path.ts";

/** Never another: what is being developed is nobody else's business. */
const HOST = "127.0.0.1";

/** Names by which this machine calls itself. A page of another name that was made to lead here (DNS rebinding) keeps its own. */
const OWN_NAMES = [HOST, "localhost"];

const LIMITS = { connections: 256, headerBytes: 16_384, headersMs: 10_000, requestMs: 15_000, idleMs: 5_000 };

/** A folder as a site on this machine. Closing it breaks off what is under way. */
export interface SiteServer extends AsyncDisposable {
  readonly origin: CanonicalOrigin;
}

export interface SiteServerOptions {
  readonly site: SiteFiles;
  /** 0: any that is free. */
  readonly port: number;
  /** Whether another port will do where that one is taken. Default: no. */
  readonly orAnother?: boolean;
}

/**
 * Serves a folder on loopback for developing it: GET and HEAD, no listings, nothing hidden, nothing outside of it, fresh on
 * every request (`no-cache` with an ETag of the bytes), readable by pages of any origin.
 *
 * @throws {CommandError} `port_taken`.
 */
export async function serveSite({ site, port, orAnother = false }: SiteServerOptions): Promise<SiteServer> {
  const server = createServer({ maxHeaderSize: LIMITS.headerBytes, keepAliveTimeout: LIMITS.idleMs });
  server.headersTimeout = LIMITS.headersMs;
  server.requestTimeout = LIMITS.requestMs;
  server.maxConnections = LIMITS.connections;
  server.on("request", (request, response) => {
    answer(site, request, response).catch(() => response.destroy());
  });
  try {
    await listen(server, port);
  } catch (error) {
    const code = errorCode(error);
    if (code !== "EADDRINUSE" && code !== "EACCES") throw error;
    if (!orAnother) {
      throw new CommandError(
        "port_taken",
        `Port ${port} cannot be had (${code}): name another, or 0 for any free one.`,
      );
    }
    await listen(server, 0);
  }
  const { port: given } = server.address() as AddressInfo;
  return {
    origin: parseOrigin(`http://${HOST}:${given}`, { allowLoopbackHttp: true, ownHosts: [] }),
    [Symbol.asyncDispose]: () =>
      new Promise((done) => {
        server.close(() => done());
        server.closeAllConnections();
      }),
  };
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((done, fail) => {
    server.once("error", fail);
    server.listen(port, HOST, () => {
      server.off("error", fail);
      done();
    });
  });
}

async function answer(site: SiteFiles, request: IncomingMessage, response: ServerResponse): Promise<void> {
  response.setHeader("Access-Control-Allow-Origin", "*");
  response.setHeader("Cache-Control", "no-cache");
  response.setHeader("X-Content-Type-Options", "nosniff");
  const refuse = (status: number, code: string, message: string, headers = {}) => {
    const body = `${JSON.stringify({ error: code, message })}\n`;
    const type = { "Content-Type": contentTypeOf(".json"), "Content-Length": Buffer.byteLength(body) };
    response.writeHead(status, { ...type, ...headers }).end(request.method === "HEAD" ? undefined : body);
  };
  const target = targetPath(request);
  if (!isOwnHost(request) || target === null) {
    return refuse(421, "wrong_host", `This server answers only as ${OWN_NAMES.join(" and ")}, with its port.`);
  }
  if (request.method !== "GET" && request.method !== "HEAD") {
    return refuse(405, "method_not_allowed", "A static site answers GET and HEAD alone.", { Allow: "GET, HEAD" });
  }
  const path = readSitePath(target);
  if ("refused" in path) {
    return path.refused === "malformed"
      ? refuse(400, "bad_path", "The path cannot be that of a file of a site.")
      : refuse(404, "not_found", "The site has no such file.");
  }
  const read = await site.read(path.segments);
  if (!read.ok) {
    if (read.code === "too_large" || read.code === "unreadable") return refuse(500, read.code, read.message);
    return refuse(404, "not_found", "The site has no such file.");
  }
  const etag = `"${await sha256Hex(read.bytes)}"`;
  response.setHeader("ETag", etag);
  if (matches(request.headers["if-none-match"], etag)) {
    response.writeHead(304).end();
    return;
  }
  const type = contentTypeOf(path.segments.at(-1) ?? "");
  response.writeHead(200, { "Content-Type": type, "Content-Length": read.bytes.length });
  response.end(request.method === "HEAD" ? undefined : read.bytes);
}

function isOwnHost({ headersDistinct, socket }: IncomingMessage): boolean {
  const hosts = headersDistinct.host ?? [];
  return hosts.length === 1 && isOwnName(hosts[0] ?? "", socket.localPort);
}

function isOwnName(host: string, port: number | undefined): boolean {
  const lower = host.toLowerCase();
  return OWN_NAMES.some((name) => lower === `${name}:${port}` || (port === 80 && lower === name));
}

/** What is asked for, where the target names a host too, as every server must take it (RFC 9112 §3.2.2); `null`: another one's. */
function targetPath({ url = "", socket }: IncomingMessage): string | null {
  const absolute = /^([a-z][a-z0-9+.-]*):\/\/([^/?#]*)(.*)$/is.exec(url);
  if (absolute === null) return url;
  const [, scheme = "", host = "", path = ""] = absolute;
  if (scheme.toLowerCase() !== "http" || !isOwnName(host, socket.localPort)) return null;
  return path.startsWith("/") ? path : `/${path}`;
}

/** If-None-Match compares weakly (RFC 9110 §13.1.2). */
function matches(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false;
  return header.trim() === "*" || header.split(",").some((tag) => tag.trim().replace(/^W\//, "") === etag);
}
