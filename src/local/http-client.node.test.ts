import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { afterEach, expect, it } from "vitest";
import { fetchInsideOrigin } from "../core/fetch/origin-fetch.ts";
import { readBounded, readTruncated } from "../core/integrity.ts";
import { parseOrigin } from "../core/origin.ts";
import { type HttpClient, httpClient } from "./http-client.ts";

const closing: (() => void)[] = [];

afterEach(() => {
  for (const close of closing.splice(0).reverse()) close();
});

interface Site {
  readonly url: string;
  readonly client: HttpClient;
  /** Connections that were made, those that are gone too. */
  readonly sockets: readonly Socket[];
}

async function site(answer: RequestListener): Promise<Site> {
  const server = createServer(answer);
  const sockets: Socket[] = [];
  server.on("connection", (socket) => sockets.push(socket));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const client = httpClient("http:");
  closing.push(
    () => server.closeAllConnections(),
    () => server.close(),
    () => client.close(),
  );
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/a`, client, sockets };
}

/** The publisher sees its only connection end, however it ends. */
async function gone({ sockets: [socket] }: Site): Promise<void> {
  if (socket?.destroyed === false) await new Promise((resolve) => socket.once("close", resolve));
}

const manual = { redirect: "manual" } as const;

/** The text of an answer, asked for and read as everything of a publisher is. */
function text({ url, client }: Site, signal?: AbortSignal): Promise<string> {
  const origin = parseOrigin(new URL(url).origin, { allowLoopbackHttp: true, ownHosts: [] });
  const request = { fetch: client.fetch, origin, url: new URL(url), redirects: 0, timeoutMs: 5_000, signal };
  return fetchInsideOrigin(request, async (response, ending) =>
    new TextDecoder().decode(await readBounded(response, 1_000, ending)),
  );
}

it.each([
  ["gzip", gzipSync],
  ["X-GZip", gzipSync],
  ["deflate", deflateSync],
  ["br", brotliCompressSync],
] as const)("undoes the content coding %s", async (coding, encode) => {
  const packed = encode("packed ".repeat(100));
  const one = await site((_, response) => {
    response.writeHead(200, { "content-encoding": coding, "content-length": packed.length }).end(packed);
  });
  expect(await text(one)).toBe("packed ".repeat(100));
});

it("undoes several codings in turn, and leaves the bytes of one that it does not know", async () => {
  const packed = gzipSync(brotliCompressSync("twice"));
  const one = await site((_, response) => response.writeHead(200, { "content-encoding": "br, gzip" }).end(packed));
  expect(await text(one)).toBe("twice");
  const other = await site((_, response) =>
    response.writeHead(200, { "content-encoding": "compress" }).end("as it is"),
  );
  expect(await text(other)).toBe("as it is");
});

it.each([
  ["is no such coding", Buffer.from("plain")],
  ["ends too early", gzipSync("cut".repeat(1_000)).subarray(0, 20)],
])("fails where what claims to be gzip %s", async (_, bytes) => {
  const one = await site((_request, response) => response.writeHead(200, { "content-encoding": "gzip" }).end(bytes));
  await expect(text(one)).rejects.toMatchObject({ code: "read_failed" });
});

it("never inflates more than is read", async () => {
  const bomb = gzipSync(Buffer.alloc(50_000_000));
  const one = await site((_, response) => response.writeHead(200, { "content-encoding": "gzip" }).end(bomb));
  await expect(text(one)).rejects.toMatchObject({ code: "too_large" });
});

it("says what was answered, and follows no redirect", async () => {
  const asked: unknown[] = [];
  const { url, client } = await site((request, response) => {
    asked.push(request.headers["cache-control"], request.headers["user-agent"]);
    response.writeHead(302, { Location: "/b", "X-Two": ["1", "2"] }).end("moved");
  });
  const init = { ...manual, cache: "no-store", headers: { "user-agent": "Skillgate" } } as const;
  const { status, headers, body } = await client.fetch(url, init);
  expect([status, headers.get("Location"), headers.get("x-two"), headers.get("etag"), headers.has("etag")]).toEqual([
    302,
    "/b",
    "1, 2",
    null,
    false,
  ]);
  await body?.cancel();
  expect(asked).toEqual(["no-cache", "Skillgate"]);
});

it("sends a body with its length", async () => {
  const { url, client } = await site(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { method, headers } = request;
    response.end(`${method} ${headers["content-length"]} ${headers["content-type"]} ${Buffer.concat(chunks)}`);
  });
  const init = { ...manual, method: "POST", body: "ü", headers: { "content-type": "text/plain" } };
  const response = await client.fetch(url, init);
  expect(new TextDecoder().decode(await readBounded(response, 100))).toBe("POST 2 text/plain ü");
});

it("has no body where there can be none, and its connection serves on", async () => {
  const one = await site((_, response) => response.writeHead(204).end());
  for (let n = 0; n < 3; n++) expect((await one.client.fetch(one.url, manual)).body).toBeNull();
  expect(one.sockets).toHaveLength(1);
});

it("keeps one connection for one request after the other", async () => {
  const one = await site((_, response) => response.end("same"));
  for (let n = 0; n < 3; n++) expect(await text(one)).toBe("same");
  expect(one.sockets).toHaveLength(1);
});

it("asks again where the connection that it kept was closed meanwhile", async () => {
  let asked = 0;
  const one = await site((request, response) => {
    asked += 1;
    if (asked === 2) request.socket.destroy();
    else response.end(`answer ${asked}`);
  });
  expect(await text(one)).toBe("answer 1");
  expect(await text(one)).toBe("answer 3");
  // On a new connection it is the publisher's doing.
  const other = await site((request) => request.socket.destroy());
  await expect(text(other)).rejects.toMatchObject({ code: "fetch_failed" });
});

it("fails where an answer breaks off", async () => {
  const one = await site((_, response) => {
    response.writeHead(200, { "content-length": 100 }).write("ten bytes.");
    setTimeout(() => response.destroy(), 10);
  });
  await expect(text(one)).rejects.toMatchObject({ code: "read_failed" });
});

it.each(["before its answer", "in the middle of its body"])("ends a request that is cancelled %s", async (when) => {
  const controller = new AbortController();
  const one = await site((_, response) => {
    if (when !== "before its answer") response.write("begun");
    setTimeout(() => controller.abort(), 10);
  });
  await expect(text(one, controller.signal)).rejects.toMatchObject({ code: "cancelled" });
  await gone(one);
});

it("frees the connection of an answer that is read in part alone", async () => {
  const one = await site((_, response) => {
    const more = () => {
      while (response.write(Buffer.alloc(16_384)));
    };
    response.on("drain", more);
    more();
  });
  const response = await one.client.fetch(one.url, manual);
  expect((await readTruncated(response, 1_000)).truncated).toBe(true);
  await gone(one);
});
