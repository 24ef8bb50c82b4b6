import { gzipSync } from "node:zlib";
import type { Api } from "../e2e/test-publisher.ts";

/** What the site of the matrix answers beside its files; everything else tells what was asked. */
export const SITE_PATHS = {
  text: "/api/text",
  missing: "/api/missing",
  empty: "/api/empty",
  long: "/api/long",
  bytes: "/api/bytes",
  gzip: "/api/gzip",
  redirect: "/api/redirect",
  away: "/api/away",
  loop: "/api/loop",
} as const;

/** Longer than the 65,536 bytes that a tool gets, whose last would cut a character. */
const LONG = "€".repeat(30_000);

export const answerOfSite: Api = (request, response, body) => {
  const send = (status: number, content: string | Buffer, headers: Readonly<Record<string, string>> = {}) => {
    const bytes = Buffer.from(content);
    response.writeHead(status, { "Content-Type": "text/plain", "Content-Length": bytes.length, ...headers }).end(bytes);
  };
  const { url = "", method, headers } = request;
  switch (url) {
    case SITE_PATHS.text:
      return send(200, "grüße");
    case SITE_PATHS.missing:
      return send(404, "nothing");
    case SITE_PATHS.empty:
      response.writeHead(204).end();
      return;
    case SITE_PATHS.long:
      return send(200, LONG);
    case SITE_PATHS.bytes:
      return send(200, Buffer.from([0x61, 0xff, 0xfe, 0x62, 0]));
    case SITE_PATHS.gzip:
      return send(200, gzipSync("packed"), { "Content-Encoding": "gzip" });
    case SITE_PATHS.redirect:
      return send(302, "", { Location: SITE_PATHS.text });
    case SITE_PATHS.away:
      // The same server under its other name is another origin.
      return send(302, "", { Location: `http://localhost:${request.socket.localPort}${SITE_PATHS.text}` });
    case SITE_PATHS.loop:
      return send(302, "", { Location: SITE_PATHS.loop });
    default:
      return send(200, JSON.stringify({ method, path: url, type: headers["content-type"], body }));
  }
};
