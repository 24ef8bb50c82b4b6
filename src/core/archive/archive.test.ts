/// <reference types="vite/types/importMeta.d.ts" />
import { Buffer } from "node:buffer";
import { crc32 } from "node:zlib";
import { describe, expect, it } from "vitest";
import { buildTar, buildZip, paxBody, type TarEntry, wrapGzip, type ZipEntry } from "../../../test/archives/build.ts";
import { ARCHIVE_CASES } from "../../../test/archives/cases.ts";
import { sha256Hex } from "../integrity.ts";
import { type Archive, ArchiveError, type ArchiveErrorCode, archiveLimits, readArchive } from "./archive.ts";
import { ARCHIVE_ERROR_CODES } from "./archive-error.ts";
import { zlibInflater } from "./zlib-inflater.ts";

const CORPUS = import.meta.glob<string>("../../../test/archives/*.{tar.gz,zip}", {
  query: "?inline",
  import: "default",
  eager: true,
});

function corpusBytes(file: string): Uint8Array {
  const url = CORPUS[`../../../test/archives/${file}`] ?? "";
  return new Uint8Array(Buffer.from(url.slice(url.indexOf(",") + 1), "base64"));
}

const SKILL = { name: "SKILL.md", body: "# Skill\n" };

function read(bytes: Uint8Array, limits = archiveLimits({})): Archive {
  return readArchive(bytes, limits, zlibInflater);
}

/** `ok`, or the code of the refusal; short texts compress well, so the ratio is left out of it. Any other failure is passed on. */
function verdict(bytes: Uint8Array): "ok" | ArchiveErrorCode {
  try {
    read(bytes, archiveLimits({ max_decompression_ratio: 2000 }));
    return "ok";
  } catch (error) {
    if (error instanceof ArchiveError) return error.code;
    throw error;
  }
}

const tarGz = (...entries: TarEntry[]) => wrapGzip(buildTar([SKILL, ...entries]));
const zip = (...entries: ZipEntry[]) => buildZip([SKILL, ...entries]);

describe("the corpus", () => {
  it.each(ARCHIVE_CASES)("$file: $reason ($why)", async ({ file, reason, limits = {}, files = {}, links = {} }) => {
    const bytes = corpusBytes(file);
    if (reason !== "ok") {
      expect(() => read(bytes, archiveLimits(limits))).toThrow(
        expect.objectContaining({ name: "ArchiveError", code: reason }),
      );
      return;
    }
    const archive = read(bytes, archiveLimits(limits));
    const hashes = await Promise.all(archive.files.map(async (file) => [file.path, await sha256Hex(file.bytes)]));
    expect(Object.fromEntries(hashes)).toEqual(files);
    expect(Object.fromEntries(archive.links.map((link) => [link.path, link.target]))).toEqual(links);
  });

  it("reaches every code, with what is tested below", () => {
    const reached = new Set<string>(ARCHIVE_CASES.map(({ reason }) => reason));
    expect(ARCHIVE_ERROR_CODES.filter((code) => !reached.has(code))).toEqual(["header", "bad_limit"]);
  });
});

describe("names", () => {
  it.each<[string, string]>([
    ["a/b.md", "ok"],
    ["./a/b.md", "ok"],
    ["a..b/..c/d..", "ok"],
    ["été/日本語.md", "ok"],
    ["a//b", "path"],
    ["a/./b", "path"],
    ["././a", "path"],
    ["a/b/", "path"],
    [".", "path"],
    ["./../a", "path"],
    ["./C:a", "path"],
    ["a\u2066b", "path"],
    ["a\ufeffb", "path"],
    [`${"x".repeat(100)}`, "ok"],
    ["\u200b/x", "ok"],
  ])("%j is %s in both formats", (name, expected) => {
    expect(verdict(tarGz({ name }))).toBe(expected);
    // A slash at the end makes a directory of a zip's member, but no file of a tar's.
    if (!name.endsWith("/")) expect(verdict(zip({ name }))).toBe(expected);
  });

  it.each([
    ["255 bytes in a part", "x".repeat(255), "ok"],
    ["256 bytes in a part", "x".repeat(256), "path"],
    ["1,024 bytes", `${`${"x".repeat(250)}/`.repeat(4)}${"x".repeat(20)}`, "ok"],
    ["1,025 bytes", `${`${"x".repeat(250)}/`.repeat(4)}${"x".repeat(21)}`, "path"],
    ["64 parts", `${"d/".repeat(63)}f`, "ok"],
    ["65 parts", `${"d/".repeat(64)}f`, "path"],
  ])("a path of %s", (_, name, expected) => {
    expect(verdict(zip({ name }))).toBe(expected);
    expect(verdict(tarGz({ name: "x", type: "x", body: paxBody({ path: name }) }, { name: "short" }))).toBe(expected);
  });

  it.each([
    [
      "a directory twice",
      [
        { name: "d/", type: "5" },
        { name: "d/", type: "5" },
      ],
      "duplicate",
    ],
    ["a directory after what implies it", [{ name: "d/f" }, { name: "d/", type: "5" }], "ok"],
    ["directories that differ in case", [{ name: "d/f" }, { name: "D/g" }], "duplicate"],
    ["a file where a path implies a directory", [{ name: "d/f" }, { name: "d" }], "duplicate"],
    ["ß and ss", [{ name: "straße" }, { name: "STRASSE" }], "duplicate"],
    [
      "the root twice",
      [
        { name: "./", type: "5" },
        { name: ".", type: "5" },
      ],
      "duplicate",
    ],
  ])("%s", (_, entries, expected) => {
    expect(verdict(tarGz(...entries))).toBe(expected);
  });
});

describe("links of a tar", () => {
  const link = (name: string, target: string): TarEntry => ({ name, type: "2", link: target });

  it.each<[string, TarEntry[], string]>([
    ["up and down again", [link("a/l", "../SKILL.md")], "ok"],
    ["to the root", [link("l", ".")], "ok"],
    ["to nothing", [link("l", "nothing/../there")], "ok"],
    ["down nothing and out", [link("l", "a/b/../../..")], "link"],
    ["through a link that comes later", [link("a/l", "m/.."), link("a/m", "../.")], "link"],
    ["to itself", [link("l", "l")], "link"],
    ["in a circle", [link("a", "b"), link("b", "a")], "link"],
    ["through a link in another case", [link("a/T", "../S/.."), link("s", ".")], "link"],
    ["through a link that leads nowhere", [link("a", "gone"), link("b", "a/x")], "link"],
    ["with a backslash", [link("l", "a\\b")], "link"],
    ["over 40 links", Array.from({ length: 40 }, (_, n) => link(`l${n}`, n === 39 ? "SKILL.md" : `l${n + 1}`)), "ok"],
    ["over 41 links", Array.from({ length: 41 }, (_, n) => link(`l${n}`, n === 40 ? "SKILL.md" : `l${n + 1}`)), "link"],
  ])("a symbolic link %s", (_, entries, expected) => {
    expect(verdict(tarGz(...entries))).toBe(expected);
    expect(verdict(tarGz(...entries.toReversed()))).toBe(expected);
  });

  it("tell where they lead", () => {
    const { links } = read(
      tarGz(
        { name: "a/f", body: "x" },
        { name: "hard", type: "1", link: "./a/f" },
        { name: "harder", type: "1", link: "hard" },
        link("l", "a"),
        link("m", "l/f"),
        link("n", "hard"),
        link("o", "l/g"),
        link("p", "."),
      ),
    );
    expect(links.map(({ path, resolved }) => [path, resolved])).toEqual([
      ["hard", "a/f"],
      ["harder", "a/f"],
      ["l", "a"],
      ["m", "a/f"],
      ["n", "a/f"],
      ["o", null],
      ["p", ""],
    ]);
  });

  it.each<[string, TarEntry]>([
    ["to a later file", { name: "h", type: "1", link: "z" }],
    ["to a directory", { name: "h", type: "1", link: "d" }],
    ["to nothing", { name: "h", type: "1" }],
    ["with a body", { name: "h", type: "1", link: "SKILL.md", body: "x" }],
  ])("a hard link %s is refused", (_, entry) => {
    expect(verdict(tarGz({ name: "d/", type: "5" }, entry, { name: "z" }))).toBe("link");
  });

  it("SKILL.md itself is no link", () => {
    const entries = [{ name: "S.md" }, link("SKILL.md", "S.md")];
    expect(verdict(wrapGzip(buildTar(entries)))).toBe("no_skill_md");
  });
});

describe("tar headers", () => {
  const pax = (records: Record<string, string>): TarEntry => ({
    name: "PaxHeader/x",
    type: "x",
    body: paxBody(records),
  });
  const long: TarEntry = { name: "././@LongLink", type: "L", body: "long\0" };
  const global: TarEntry = { name: "pax_global_header", type: "g", body: paxBody({ comment: "0123abcd" }) };
  const file: TarEntry = { name: "f", body: "content" };
  const V7 = "\0".repeat(8);

  it.each<[string, TarEntry[], string]>([
    ["v7", [{ ...file, magic: V7 }], "ok"],
    ["v7 with a directory", [{ name: "d/", type: "\0", magic: V7 }], "ok"],
    ["a ustar prefix", [{ ...file, prefix: "deep/er" }], "ok"],
    ["an unsafe ustar prefix", [{ ...file, prefix: "../x" }], "path"],
    ["a prefix in GNU's header", [{ ...file, magic: "ustar  \0", prefix: "x" }], "header"],
    ["another magic", [{ ...file, magic: "xstar\x0000" }], "header"],
    ["a mode that is no number", [{ ...file, patch: [100, "rw-r--r--"] }], "header"],
    ["a size with an underscore", [{ ...file, size: "0000000_007\0" }], "size"],
    ["an empty size", [{ ...file, size: "\0".repeat(12) }], "size"],
    ["a name behind a NUL", [{ ...file, name: "f\0evil" }], "path"],
    ["a contiguous file", [{ ...file, type: "7" }], "special"],
    ["a regular file with a slash at its end", [{ name: "d/" }], "path"],
    ["a global header with a comment", [global, file], "ok"],
    ["a global header with a size", [{ ...global, body: paxBody({ size: "7" }) }, file], "size"],
    ["a pax header and a GNU long name", [pax({ path: "p" }), long, file], "pax"],
    ["a GNU long name and a pax header", [long, pax({ path: "p" }), file], "pax"],
    ["two GNU long names", [long, long, file], "pax"],
    ["a global header between", [pax({ path: "p" }), global, file], "pax"],
    ["a global header at the end", [file, global], "pax"],
    ["a pax header at the end", [file, pax({ path: "p" })], "pax"],
    ["a key twice", [{ ...pax({}), body: paxBody({ path: "a" }) + paxBody({ path: "b" }) }, file], "pax"],
    ["an empty path", [pax({ path: "" }), file], "path"],
    ["a NUL in the path", [pax({ path: "a\0b" }), file], "path"],
    ["a charset of bytes", [pax({ hdrcharset: "BINARY" }), file], "pax"],
    ["an unsafe name behind a pax path", [pax({ path: "p" }), { ...file, name: "../evil" }], "path"],
    ["attributes of macOS", [pax({ "LIBARCHIVE.xattr.com.apple.provenance": "AQAA", mtime: "1.5" }), file], "ok"],
    ["64 KiB of pax", [pax({ comment: "x".repeat(65_536 - 15) }), file], "ok"],
    ["more", [pax({ comment: "x".repeat(65_536 - 14) }), file], "pax"],
    ["text behind a GNU long name's NUL", [{ ...long, body: "a\0b\0" }, file], "path"],
  ])("%s", (_, entries, expected) => {
    expect(verdict(tarGz(...entries))).toBe(expected);
  });

  it("padding that is not zero is refused", () => {
    const tar = buildTar([SKILL]);
    tar[512 + 100] = 1;
    expect(verdict(wrapGzip(tar))).toBe("trailing");
  });

  it("a tar without its end marker is refused", () => {
    expect(verdict(wrapGzip(buildTar([SKILL]).subarray(0, 1024)))).toBe("truncated");
    expect(verdict(wrapGzip(buildTar([SKILL]).subarray(0, 1536)))).toBe("truncated");
  });
});

describe("gzip headers", () => {
  const tar = buildTar([SKILL]);
  const headerCrc = (flags: number) => {
    const sum = crc32(Buffer.from([0x1f, 0x8b, 8, flags, 0, 0, 0, 0, 0, 3])) & 0xffff;
    return Buffer.from([sum & 255, sum >> 8]);
  };

  it.each([
    ["a name", 0x08, Buffer.from("skill.tar\0"), "ok"],
    ["a comment and an extra field", 0x14, Buffer.from("\x03\0abcnote\0"), "ok"],
    ["a checksum", 0x02, headerCrc(0x02), "ok"],
    ["a wrong checksum", 0x02, headerCrc(0x03), "gzip"],
    ["a reserved flag", 0x20, Buffer.alloc(0), "gzip"],
    ["a name without its end", 0x08, Buffer.alloc(0), "gzip"],
  ])("%s", (_, flags, extra, expected) => {
    const bytes = wrapGzip(tar, flags, extra);
    expect(verdict(expected === "gzip" && flags === 0x08 ? bytes.subarray(0, 10) : bytes)).toBe(expected);
  });
});

describe("zip structure", () => {
  const extra = (id: number, ...bytes: number[]) => Uint8Array.of(id & 255, id >> 8, bytes.length, 0, ...bytes);
  const descriptor = (body: string, compressedSize: number) => {
    const bytes = Buffer.alloc(16);
    bytes.write("PK\x07\x08");
    bytes.writeUInt32LE(crc32(body), 4);
    bytes.writeUInt32LE(compressedSize, 8);
    bytes.writeUInt32LE(body.length, 12);
    return bytes;
  };

  it.each<[string, ZipEntry, string]>([
    ["a gap between members", { name: "f", body: "x", after: Uint8Array.of(0) }, "overlap"],
    ["a flag that is not understood", { name: "f", flags: 0x0820 }, "header"],
    ["a masked directory", { name: "f", flags: 0x2800 }, "encrypted"],
    ["extra fields that do not fit", { name: "f", extra: Uint8Array.of(1, 2, 3) }, "header"],
    ["an extra field twice", { name: "f", extra: Uint8Array.of(...extra(0x5455), ...extra(0x5455)) }, "header"],
    ["an idle zip64 field", { name: "f", extra: extra(1, 0, 0, 0, 0, 0, 0, 0, 0) }, "size"],
    ["a directory by its mode alone", { name: "d", attributes: 0o040755 * 65_536 }, "special"],
    ["a directory by its DOS bit alone", { name: "d", attributes: 0x10 }, "special"],
    ["a compressed directory", { name: "d/" }, "ok"],
    ["an empty file with a descriptor", { name: "f", isStored: true, flags: 8, after: descriptor("", 0) }, "ok"],
    [
      "a stored file with a descriptor",
      { name: "f", body: "x", isStored: true, flags: 8, after: descriptor("x", 1) },
      "method",
    ],
    ["a descriptor of other sizes", { name: "f", isStored: true, flags: 8, after: descriptor("x", 1) }, "mismatch"],
  ])("%s", (_, entry, expected) => {
    expect(verdict(zip(entry))).toBe(expected);
  });

  it("a zip in a zip is only bytes, with an end record of its own", () => {
    const inner = Buffer.from(zip({ name: "../evil" })).toString("latin1");
    const outer = buildZip([SKILL]);
    expect(verdict(zip({ name: "inner.zip", body: inner, isStored: true }))).toBe("ok");
    // In the comment it is a second reading of the whole file.
    expect(verdict(buildZip([SKILL], outer))).toBe("eocd");
  });

  it("members may stand in another order than in the directory", () => {
    const bytes = buildZip([{ name: "b", body: "2" }, SKILL]);
    expect(read(bytes).files.map(({ path }) => path)).toEqual(["b", "SKILL.md"]);
  });
});

describe("limits", () => {
  it("are integers in their range, and the clock skew is without effect", () => {
    expect(archiveLimits({ max_clock_skew_secs: 5 })).toEqual({
      maxDecompressionRatio: 100,
      maxEntries: 1000,
      maxExpandedBytes: 10_485_760,
    });
    expect(archiveLimits({ max_entries: 3 }).maxEntries).toBe(3);
    for (const settings of [{ max_entries: 0 }, { max_expanded_bytes: 2 ** 40 }, { max_decompression_ratio: 1.5 }]) {
      expect(() => archiveLimits(settings)).toThrow(expect.objectContaining({ code: "bad_limit" }));
    }
  });

  it("a tree cannot be made large by deep paths", () => {
    const limits = { maxDecompressionRatio: 1000, maxEntries: 2000, maxExpandedBytes: 2 ** 24 };
    const deep = (n: number) => ({ name: `${n}/${"d/".repeat(60)}f` });
    const bytes = buildZip([SKILL, ...Array.from({ length: 1100 }, (_, n) => deep(n))]);
    expect(() => read(bytes, limits)).toThrow(expect.objectContaining({ code: "entries" }));
  });

  it("a global pax header counts as an entry", () => {
    const global = { name: "g", type: "g", body: paxBody({ comment: "c" }) };
    const bytes = wrapGzip(buildTar([global, SKILL]));
    expect(() => read(bytes, archiveLimits({ max_entries: 2 }))).not.toThrow();
    expect(() => read(bytes, archiveLimits({ max_entries: 1 }))).toThrow(expect.objectContaining({ code: "entries" }));
  });
});
