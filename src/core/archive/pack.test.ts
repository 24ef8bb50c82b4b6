import { describe, expect, it } from "vitest";
import { buildTar, buildZip, wrapGzip } from "../../../test/archives/build.ts";
import { sha256Hex } from "../integrity.ts";
import { archiveLimits, readArchive } from "./archive.ts";
import { packArchive, repackArchive } from "./pack.ts";
import { zlibInflater } from "./zlib-inflater.ts";

const LIMITS = archiveLimits({});
const text = (content: string) => new TextEncoder().encode(content);
const read = (bytes: Uint8Array) => readArchive(bytes, LIMITS, zlibInflater);
const repack = (bytes: Uint8Array) => repackArchive(read(bytes), LIMITS);

const SKILL = { name: "SKILL.md", body: "# Skill\n" };
const LONG = `références/${"x".repeat(150)}.md`;
const FILES = [
  { path: "SKILL.md", bytes: text("# Skill\n") },
  { path: "a/empty", bytes: text("") },
  { path: LONG, bytes: text("long") },
  { path: "é.md", bytes: text("short") },
];

describe("a packed archive", () => {
  it("has the same bytes wherever it is made, in whatever order the files come", async () => {
    const packed = await packArchive(FILES, LIMITS);
    expect(await packArchive(FILES.toReversed(), LIMITS)).toEqual(packed);
    expect(await sha256Hex(packed)).toBe("b3a21ed7d092505992011dd04194af25b5af5f23f89a3da3119bbbf8f264ec8c");
  });

  it("reads back as the files it was made of, and without quirks", async () => {
    const { files, links, directories, quirks } = read(await packArchive(FILES, LIMITS));
    expect(files).toEqual(FILES.toSorted((a, b) => (a.path < b.path ? -1 : 1)));
    expect([links, directories, quirks]).toEqual([[], [], []]);
  });

  it("is stored where it would compress beyond what readers take", async () => {
    const files = [...FILES, { path: "zeros", bytes: new Uint8Array(1_000_000) }];
    const packed = await packArchive(files, LIMITS);
    expect(packed.length).toBeGreaterThan(1_000_000);
    expect(read(packed).files).toHaveLength(5);
  });

  it.each([
    ["no SKILL.md", [{ path: "a", bytes: text("") }], {}, "no_skill_md"],
    ["a path that leads out", [...FILES, { path: "../a", bytes: text("") }], {}, "path"],
    ["a path twice", [...FILES, ...FILES.slice(1, 2)], {}, "duplicate"],
    ["too many files", FILES, { max_entries: 3 }, "entries"],
    ["too many bytes", FILES, { max_expanded_bytes: 4096 }, "expanded"],
  ] as const)("is not made with %s", async (_, files, settings, code) => {
    await expect(packArchive(files, archiveLimits(settings))).rejects.toMatchObject({ name: "ArchiveError", code });
  });
});

describe("a repacked archive", () => {
  it("does not depend on the format, the order, the compression or the metadata it came in", async () => {
    const other = { name: "a/f", body: "content" };
    const tar = wrapGzip(buildTar([{ name: "./", type: "5" }, { ...other, patch: [100, "0000755\0"] }, SKILL]));
    const zip = buildZip([{ ...SKILL, isStored: true }, { name: "a/" }, other]);
    expect(await repack(tar)).toEqual(await repack(zip));
    expect(await repack(await repack(zip))).toEqual(await repack(zip));
  });

  it("has copies in place of links to files", async () => {
    const links = [
      { name: "a/soft", type: "2", link: "../hard" },
      { name: "hard", type: "1", link: "SKILL.md" },
    ];
    const { files } = read(await repack(wrapGzip(buildTar([SKILL, ...links]))));
    expect(files.map(({ path }) => path)).toEqual(["SKILL.md", "a/soft", "hard"]);
    expect(new Set(files.map(({ bytes }) => new TextDecoder().decode(bytes)))).toEqual(new Set(["# Skill\n"]));
  });

  it("is not made of links to directories, or to one large file many times", async () => {
    const toRoot = wrapGzip(buildTar([SKILL, { name: "l", type: "2", link: "." }]));
    await expect(repack(toRoot)).rejects.toMatchObject({ code: "link" });
    const body = crypto.getRandomValues(new Uint8Array(65_536));
    const links = Array.from({ length: 200 }, (_, n) => ({ name: `l${n}`, type: "1", link: "large" }));
    const many = wrapGzip(buildTar([SKILL, { name: "large", body }, ...links]));
    await expect(repack(many)).rejects.toMatchObject({ code: "expanded" });
  });
});
