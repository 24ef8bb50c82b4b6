import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeUtf8, IntegrityError, isSha256Hex, readBounded, readTruncated, sha256Hex } from "./integrity.ts";

const utf8 = (text: string) => new TextEncoder().encode(text);
const decodeKeepingMark = (bytes: Uint8Array) =>
  new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
const bytesOf = (length: number) => Uint8Array.from({ length }, (_, index) => index % 251);

/** A body that arrives in the given chunks and then ends, or stalls; `state` tells what became of it. */
function chunked(chunks: readonly Uint8Array[], end: "close" | "stall" | "error" = "close") {
  const state = { pulled: 0, cancelled: false };
  const stream = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        const chunk = chunks[state.pulled];
        if (chunk !== undefined) {
          state.pulled += 1;
          controller.enqueue(chunk);
        } else if (end === "close") controller.close();
        else if (end === "error") controller.error(new Error("connection reset"));
        else return new Promise<void>(() => {});
      },
      cancel() {
        state.cancelled = true;
      },
    },
    { highWaterMark: 0 },
  );
  return { state, stream };
}

const respond = (body: BodyInit | null, headers: Record<string, string> = {}) => new Response(body, { headers });

/** The code of the refusal, or "none". */
async function codeOf(read: Promise<unknown>): Promise<string> {
  try {
    await read;
    return "none";
  } catch (error) {
    if (error instanceof IntegrityError) return error.code;
    throw error;
  }
}

describe("sha256Hex", () => {
  it("hashes exact bytes", async () => {
    expect(await sha256Hex(new Uint8Array(0))).toBe("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    expect(await sha256Hex(utf8("abc"))).toBe("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    const whole = bytesOf(1000);
    expect(await sha256Hex(whole.subarray(10, 20))).toBe(
      createHash("sha256").update(whole.slice(10, 20)).digest("hex"),
    );
  });

  it("[10.2-bom] tells bytes with a byte order mark from those without", async () => {
    const plain = utf8("registerTool()");
    const marked = new Uint8Array([0xef, 0xbb, 0xbf, ...plain]);
    const received = await readBounded(respond(marked), 100);
    expect(received).toEqual(marked);
    expect(await sha256Hex(received)).toBe(createHash("sha256").update(marked).digest("hex"));
    expect(await sha256Hex(received)).not.toBe(await sha256Hex(plain));
    expect(decodeUtf8(received)).toBe("registerTool()");
  });

  it("[10.2-invalid-utf8] hashes invalid UTF-8 as received, without replacing it", async () => {
    const invalid = new Uint8Array([0x2f, 0x2f, 0xff, 0x0a]);
    const received = await readBounded(respond(invalid), 100);
    expect(await sha256Hex(received)).toBe(createHash("sha256").update(invalid).digest("hex"));
    expect(await sha256Hex(received)).not.toBe(await sha256Hex(utf8("//\ufffd\n")));
  });

  it("[10.2-crlf] keeps CRLF", async () => {
    const received = await readBounded(respond(utf8("a\r\nb\r\n")), 100);
    expect(await sha256Hex(received)).toBe(createHash("sha256").update("a\r\nb\r\n").digest("hex"));
  });
});

it("isSha256Hex accepts 64 lower-case hexadecimal digits only", () => {
  expect(isSha256Hex("0123456789abcdef".repeat(4))).toBe(true);
  for (const text of ["", "a".repeat(63), "a".repeat(65), "A".repeat(64), "g".repeat(64), `${"a".repeat(64)}\n`]) {
    expect(isSha256Hex(text)).toBe(false);
  }
});

describe("readBounded", () => {
  it.each([0, 1, 16_383, 16_384, 16_385, 100_000])(
    "passes a body just below and at a cap of %i and refuses one above",
    async (cap) => {
      for (const length of [Math.max(0, cap - 1), cap]) {
        expect(await readBounded(respond(bytesOf(length)), cap)).toEqual(bytesOf(length));
        const { stream } = chunked([bytesOf(length)]);
        expect(await readBounded(respond(stream), cap)).toEqual(bytesOf(length));
      }
      expect(await codeOf(readBounded(respond(bytesOf(cap + 1)), cap))).toBe("too_large");
      const { stream, state } = chunked([bytesOf(cap), bytesOf(1)], "stall");
      expect(await codeOf(readBounded(respond(stream), cap))).toBe("too_large");
      expect(state.cancelled).toBe(true);
    },
  );

  it("refuses a Content-Length over the cap without reading", async () => {
    for (const length of ["101", "99999999999999999999999999"]) {
      const { stream, state } = chunked([bytesOf(10)], "stall");
      expect(await codeOf(readBounded(respond(stream, { "content-length": length }), 100))).toBe("too_large");
      expect(state).toEqual({ pulled: 0, cancelled: true });
    }
  });

  it("stops an endless body at the cap", async () => {
    const chunks = Array.from({ length: 1000 }, () => bytesOf(10));
    const { stream, state } = chunked(chunks);
    expect(await codeOf(readBounded(respond(stream), 95))).toBe("too_large");
    expect(state).toEqual({ pulled: 10, cancelled: true });
  });

  it("refuses another length than declared, in both directions", async () => {
    for (const length of ["4", "6"]) {
      const { stream } = chunked([bytesOf(5)]);
      expect(await codeOf(readBounded(respond(stream, { "content-length": length }), 100))).toBe("length_mismatch");
    }
    expect(await codeOf(readBounded(respond(null, { "content-length": "5" }), 100))).toBe("length_mismatch");
    expect(await readBounded(respond(chunked([bytesOf(5)]).stream, { "content-length": "5" }), 100)).toHaveLength(5);
  });

  it("does not compare the length of an encoded body, nor a Content-Length that is no number", async () => {
    // `encodeBody: "manual"` keeps workerd from encoding: the header stands for a body that fetch has already decoded.
    const init = { headers: { "content-length": "3", "content-encoding": "gzip" }, encodeBody: "manual" as const };
    expect(await readBounded(new Response(chunked([bytesOf(5)]).stream, init), 100)).toHaveLength(5);
    for (const length of ["5, 5", "-5", "5e0", "0x5"]) {
      const response = () => respond(chunked([bytesOf(5)]).stream, { "content-length": length });
      expect(await readBounded(response(), 100)).toHaveLength(5);
      expect(await readTruncated(response(), 100)).toMatchObject({ contentLength: null });
    }
  });

  it("refuses a length of four hundred digits, and does not pass it on", async () => {
    const response = () => respond(chunked([bytesOf(5)]).stream, { "content-length": "9".repeat(400) });
    expect(await codeOf(readBounded(response(), 100))).toBe("too_large");
    expect(await readTruncated(response(), 100)).toMatchObject({ contentLength: null });
  });

  it("reads an absent body as no bytes", async () => {
    expect(await readBounded(respond(null), 0)).toHaveLength(0);
  });

  it("[10.2-stalled-body] ends a stalled body on abort, even when nothing reacts to the signal", async () => {
    const { stream, state } = chunked([bytesOf(5)], "stall");
    const controller = new AbortController();
    const read = codeOf(readBounded(respond(stream), 100, controller.signal));
    await Promise.resolve();
    controller.abort(new Error("deadline"));
    expect(await read).toBe("aborted");
    expect(state.cancelled).toBe(true);
  });

  it("does not begin after an abort", async () => {
    const { stream, state } = chunked([bytesOf(5)], "stall");
    expect(await codeOf(readBounded(respond(stream), 100, AbortSignal.abort()))).toBe("aborted");
    expect(state).toEqual({ pulled: 0, cancelled: true });
  });

  it("reports a broken stream, a body already taken, and a stream of something else than bytes", async () => {
    const { stream } = chunked([bytesOf(5)], "error");
    expect(await codeOf(readBounded(respond(stream), 100))).toBe("read_failed");
    const taken = respond(bytesOf(5));
    await taken.arrayBuffer();
    expect(await codeOf(readBounded(taken, 100))).toBe("read_failed");
    const locked = respond(bytesOf(5));
    locked.body?.getReader();
    expect(await codeOf(readBounded(locked, 100))).toBe("read_failed");
  });

  it("reads the same bytes however they are chunked", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.uint8Array({ maxLength: 50 }), { maxLength: 20 }), async (chunks) => {
        const whole = new Uint8Array(chunks.flatMap((chunk) => [...chunk]));
        const { stream } = chunked(chunks.filter((chunk) => chunk.length > 0));
        expect(await readBounded(respond(stream), 1000)).toEqual(whole);
      }),
    );
  });
});

describe("readTruncated", () => {
  const kept = async (body: Uint8Array, max: number) => {
    const { bytes, truncated } = await readTruncated(respond(body), max);
    return [decodeKeepingMark(bytes), truncated];
  };

  it("keeps a body at the limit whole and cuts one above it", async () => {
    expect(await kept(utf8("abcd"), 5)).toEqual(["abcd", false]);
    expect(await kept(utf8("abcde"), 5)).toEqual(["abcde", false]);
    expect(await kept(utf8("abcdef"), 5)).toEqual(["abcde", true]);
    expect(await kept(utf8("a"), 0)).toEqual(["", true]);
  });

  it("cuts before a character that does not fit whole", async () => {
    expect(await kept(utf8("aéé"), 3)).toEqual(["aé", true]);
    expect(await kept(utf8("aéé"), 4)).toEqual(["aé", true]);
    expect(await kept(utf8("a€€"), 5)).toEqual(["a€", true]);
    expect(await kept(utf8("a€€"), 6)).toEqual(["a€", true]);
    for (const max of [1, 2, 3, 4]) expect(await kept(utf8("a😀b"), max)).toEqual(["a", true]);
    expect(await kept(utf8("a😀b"), 5)).toEqual(["a😀", true]);
    expect(await kept(utf8("€"), 2)).toEqual(["", true]);
  });

  it("cuts malformed bytes at the limit", async () => {
    const continuation = new Uint8Array(10).fill(0x80);
    expect((await readTruncated(respond(continuation), 6)).bytes).toHaveLength(6);
    const tooLong = new Uint8Array([0xc3, 0xa9, 0xa9, 0xa9, 0xa9]);
    expect((await readTruncated(respond(tooLong), 3)).bytes).toHaveLength(3);
  });

  it("tells the declared length, waits for one byte more than it keeps, and leaves the rest", async () => {
    const { stream, state } = chunked(
      Array.from({ length: 100 }, () => bytesOf(1)),
      "stall",
    );
    const body = await readTruncated(respond(stream, { "content-length": "100" }), 10);
    expect(body).toMatchObject({ truncated: true, contentLength: 100 });
    expect(body.bytes).toHaveLength(10);
    expect(state).toEqual({ pulled: 11, cancelled: true });
    expect(await readTruncated(respond(null), 10)).toEqual({
      bytes: new Uint8Array(0),
      truncated: false,
      contentLength: null,
    });
  });

  it("[10.2-stalled-body] ends a stalled body on abort", async () => {
    const controller = new AbortController();
    const read = codeOf(readTruncated(respond(chunked([], "stall").stream), 10, controller.signal));
    controller.abort();
    expect(await read).toBe("aborted");
  });

  it("[10.2-truncation] keeps the same bytes however they are chunked, and never splits a character", async () => {
    const sizes = fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1, maxLength: 10 });
    await fc.assert(
      fc.asyncProperty(
        fc.string({ unit: "binary", maxLength: 40 }),
        fc.nat({ max: 60 }),
        sizes,
        async (text, max, cuts) => {
          const whole = utf8(text);
          const chunks: Uint8Array[] = [];
          for (let start = 0, turn = 0; start < whole.length; turn += 1) {
            const size = cuts[turn % cuts.length] ?? 1;
            chunks.push(whole.slice(start, start + size));
            start += size;
          }
          const inOne = await readTruncated(respond(whole), max);
          expect(await readTruncated(respond(chunked(chunks).stream), max)).toEqual({ ...inOne, contentLength: null });
          expect(decodeKeepingMark(whole).startsWith(decodeKeepingMark(inOne.bytes))).toBe(true);
          expect(inOne.truncated).toBe(whole.length > max);
          if (inOne.truncated) expect(inOne.bytes.length).toBeGreaterThan(max - 4);
        },
      ),
    );
  });
});

describe("decodeUtf8", () => {
  it("drops one leading byte order mark and keeps every other", () => {
    expect(decodeUtf8(utf8("\uFEFF\uFEFFa\uFEFF"))).toBe("\uFEFFa\uFEFF");
    expect(decodeUtf8(new Uint8Array(0))).toBe("");
  });

  it.each([[[0xff]], [[0xc3]], [[0xc0, 0x80]], [[0xed, 0xa0, 0x80]], [[0xf4, 0x90, 0x80, 0x80]], [[0x61, 0x80]]])(
    "refuses the bytes %j",
    async (bytes) => {
      expect(await codeOf((async () => decodeUtf8(new Uint8Array(bytes)))())).toBe("bad_encoding");
    },
  );
});
