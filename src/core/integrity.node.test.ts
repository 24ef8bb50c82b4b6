import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { IntegrityError, readBounded, readTruncated } from "./integrity.ts";

const BODY = Buffer.from("0123456789");

/** Each misbehaves in its own way, over a real connection. */
const ROUTES: Readonly<Record<string, RequestListener>> = {
  "/plain": (_request, response) => response.end(BODY),
  "/gzip": (_request, response) => {
    const packed = gzipSync(Buffer.alloc(1000));
    response.writeHead(200, { "content-encoding": "gzip", "content-length": packed.length }).end(packed);
  },
  "/short": (_request, response) => {
    response.writeHead(200, { "content-length": 20 });
    response.write(BODY, () => response.destroy());
  },
  "/reset": (_request, response) => {
    response.writeHead(200);
    response.write(BODY, () => response.destroy());
  },
  "/stalled": (_request, response) => {
    response.writeHead(200);
    response.write(BODY);
  },
  "/endless": (_request, response) => {
    response.writeHead(200);
    const more = () => {
      while (!response.destroyed && response.write(Buffer.alloc(65_536)));
    };
    response.on("drain", more);
    more();
  },
};

let server: Server;
let address: string;

beforeAll(async () => {
  server = createServer((request, response) => ROUTES[request.url ?? ""]?.(request, response));
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterAll(() => {
  server.closeAllConnections();
  server.close();
});

async function codeOf(read: Promise<unknown>): Promise<string> {
  try {
    await read;
    return "none";
  } catch (error) {
    if (error instanceof IntegrityError) return error.code;
    throw error;
  }
}

describe("bodies over a real connection", () => {
  it("pass at the cap, and are refused above it", async () => {
    expect(Buffer.from(await readBounded(await fetch(`${address}/plain`), 10))).toEqual(BODY);
    expect(await codeOf(readBounded(await fetch(`${address}/plain`), 9))).toBe("too_large");
    expect(await codeOf(readBounded(await fetch(`${address}/endless`), 1_000_000))).toBe("too_large");
  });

  it("are capped after decoding, and the length of the encoded form is no mismatch", async () => {
    expect(await readBounded(await fetch(`${address}/gzip`), 1000)).toHaveLength(1000);
    expect(await codeOf(readBounded(await fetch(`${address}/gzip`), 999))).toBe("too_large");
  });

  it("that end early are refused", async () => {
    expect(await codeOf(readBounded(await fetch(`${address}/short`), 100))).toBe("read_failed");
    expect(await codeOf(readBounded(await fetch(`${address}/reset`), 100))).toBe("read_failed");
  });

  it("[10.2-stalled-body] that stall end with the signal", async () => {
    for (const read of [readBounded, readTruncated]) {
      const controller = new AbortController();
      const pending = codeOf(read(await fetch(`${address}/stalled`), 100, controller.signal));
      controller.abort();
      expect(await pending).toBe("aborted");
    }
  });

  it("are cut when only their beginning is wanted", async () => {
    const { bytes, truncated } = await readTruncated(await fetch(`${address}/endless`), 1000);
    expect([bytes.length, truncated]).toEqual([1000, true]);
    expect(await readTruncated(await fetch(`${address}/plain`), 10)).toMatchObject({ truncated: false });
  });
});
