import { describe, expect, it } from "vitest";
import { zipBomb } from "../../../test/archives/bomb.ts";
import { buildTar, buildZip, paxBody, wrapGzip } from "../../../test/archives/build.ts";
import { zlibInflater } from "../archive/zlib-inflater.ts";
import { sha256Hex } from "../integrity.ts";
import { type CheckedArtifact, checkArtifact } from "./check-artifact.ts";
import { archiveOf, skill, skillMd, utf8 } from "./fixture/publications.ts";
import { PUBLICATION_LIMITS, type PublicationSkill } from "./publication.ts";
import { PublicationError } from "./publication-error.ts";

const SKILL = { name: "SKILL.md", body: new TextDecoder().decode(skillMd()) };
const check = (bytes: Uint8Array, change: Partial<PublicationSkill> = {}) =>
  checkArtifact(skill(change), bytes, "skills.0", zlibInflater);
const checkArchive = (bytes: Uint8Array, limits: PublicationSkill["limits"] = {}) =>
  check(bytes, { type: "archive", url: "/skills/a.tar.gz", limits });
const codes = ({ warnings }: CheckedArtifact) => warnings.map(({ code }) => code);

/** The sentence of the refusal. */
async function refusal(pending: Promise<CheckedArtifact>): Promise<string> {
  const [outcome] = await Promise.allSettled([pending]);
  if (outcome.status === "fulfilled") return "accepted";
  if (outcome.reason instanceof PublicationError) return `${outcome.reason.code}: ${outcome.reason.message}`;
  throw outcome.reason;
}

const tarOf = (...entries: Parameters<typeof buildTar>[0]) => wrapGzip(buildTar([SKILL, ...entries]));

describe("an archive", () => {
  it("[skills-8.10] of members within its root is accepted, and none outside", async () => {
    expect(
      await refusal(
        checkArchive(
          await archiveOf({ "SKILL.md": skillMd(), "foo/bar.md": utf8("x"), "dir/sub/file.txt": utf8("y") }),
        ),
      ),
    ).toBe("accepted");
    for (const name of ["../etc/passwd", "a/../b", "/etc/passwd"]) {
      expect(await refusal(checkArchive(tarOf({ name, body: "x" })))).toMatch(/bad_archive: .*\(path\)/);
    }
  });

  it("[skills-8.11] of 1024:1 is refused at a ratio of 100, one of 50:1 is not", async () => {
    const zeros = (bytes: number) => wrapGzip(buildTar([SKILL, { name: "z", body: "\0".repeat(bytes) }]));
    expect(await refusal(checkArchive(zeros(1_000_000)))).toMatch(/\(ratio\).*max_decompression_ratio/);
    expect(await refusal(checkArchive(zeros(1_000_000), { max_decompression_ratio: 1_024 }))).toBe("accepted");
    expect(await refusal(checkArchive(zeros(8_000)))).toBe("accepted");
  });

  it("[skills-8.12] of two files is accepted, with the digest of each and its own media type", async () => {
    const bytes = await archiveOf({ "SKILL.md": skillMd(), "references/a.md": utf8("a") });
    const { mediaType, members, warnings } = await checkArchive(bytes);
    expect({ mediaType, warnings }).toEqual({ mediaType: "application/gzip", warnings: [] });
    expect(members).toEqual([
      { path: "SKILL.md", sha256: await sha256Hex(skillMd()), bytes: skillMd().length },
      { path: "references/a.md", sha256: await sha256Hex(utf8("a")), bytes: 1 },
    ]);
  });

  it("[skills-8.13] with a member ../etc/passwd is refused, and the sentence names it", async () => {
    expect(await refusal(checkArchive(tarOf({ name: "../etc/passwd", body: "x" })))).toContain("..");
  });

  it("[skills-8.14] with a link to ../etc/passwd is refused", async () => {
    expect(await refusal(checkArchive(tarOf({ name: "l", type: "2", link: "../etc/passwd" })))).toMatch(/\(link\)/);
  });

  it("[skills-8.15] of more members than max_entries is refused", async () => {
    const bytes = tarOf(...Array.from({ length: 10 }, (_, index) => ({ name: `f${index}`, body: "x" })));
    expect(await refusal(checkArchive(bytes, { max_entries: 5 }))).toMatch(/\(entries\).*max_entries/);
  });

  it("[skills-8.16] of more bytes than max_expanded_bytes is refused", async () => {
    const bytes = tarOf({ name: "a", body: "x".repeat(4096) }, { name: "b", body: "y".repeat(4096) });
    expect(await refusal(checkArchive(bytes, { max_expanded_bytes: 4096 }))).toMatch(
      /\(expanded\).*max_expanded_bytes/,
    );
  });

  it("[skills-8.17] that is a zip of 1 MiB of zeros is refused at a ratio of 5", async () => {
    const bytes = buildZip([SKILL, { name: "z", body: "\0".repeat(1_048_576) }]);
    expect(await refusal(checkArchive(bytes, { max_decompression_ratio: 5 }))).toMatch(/\(ratio\)/);
  });

  it("[skills-R25] is over its ratio by a fraction, too", async () => {
    const tar = buildTar([SKILL, { name: "z", body: "\0".repeat(100_000) }]);
    const bytes = wrapGzip(tar);
    const ratio = Math.floor(tar.length / bytes.length);
    expect(tar.length / bytes.length).toBeGreaterThan(ratio);
    expect(await refusal(checkArchive(bytes, { max_decompression_ratio: ratio }))).toMatch(/\(ratio\)/);
    expect(await refusal(checkArchive(bytes, { max_decompression_ratio: ratio + 1 }))).toBe("accepted");
  });

  it("[skills-R26] without a SKILL.md, or twice with one name, is refused", async () => {
    expect(await refusal(checkArchive(wrapGzip(buildTar([{ name: "a", body: "x" }]))))).toMatch(/\(no_skill_md\)/);
    expect(await refusal(checkArchive(tarOf({ name: "a", body: "x" }, { name: "A", body: "y" })))).toMatch(
      /\(duplicate\)/,
    );
    expect(await refusal(checkArchive(tarOf({ name: "p", type: "6" })))).toMatch(/\(special\)/);
  });

  it("[skills-R23] that is a zip which declares less than it inflates to is refused", async () => {
    expect(await refusal(checkArchive(zipBomb(11)))).toMatch(/\((?:size|expanded|mismatch)\)/);
  });

  it("[skills-R3] whose pax header stands before a GNU long name is refused", async () => {
    const pax = { name: "p", type: "x", body: paxBody({ path: "other" }) };
    const long = { name: "././@LongLink", type: "L", body: `${"n".repeat(120)}\0` };
    expect(await refusal(checkArchive(tarOf(pax, long, { name: "n", body: "x" })))).toMatch(/\((?:pax|header)\)/);
  });

  it("[skills-R24] with bytes behind its end, or a second gzip member, is refused", async () => {
    const bytes = await archiveOf({ "SKILL.md": skillMd() });
    expect(await refusal(checkArchive(new Uint8Array([...bytes, 0])))).toMatch(/\(trailing\)/);
    expect(await refusal(checkArchive(new Uint8Array([...bytes, ...bytes])))).toMatch(/\(trailing\)/);
  });

  it("[skills-R22] that is a gzip behind a .zip is warned of, and served as what it is", async () => {
    const bytes = await archiveOf({ "SKILL.md": skillMd() });
    const checked = await check(bytes, { type: "archive", url: "/skills/a.zip" });
    expect(codes(checked)).toEqual(["extension_differs"]);
    expect(checked.mediaType).toBe("application/gzip");
    const zipped = await check(buildZip([SKILL]), { type: "archive", url: "/skills/a.zip" });
    expect({ mediaType: zipped.mediaType, codes: codes(zipped) }).toEqual({ mediaType: "application/zip", codes: [] });
  });

  it("of more files than MCP clients take is warned of, and just as many are not", async () => {
    const files = (count: number) => {
      const others = Array.from({ length: count - 1 }, (_, index) => [`f/${index}`, utf8("x")] as const);
      return archiveOf({ "SKILL.md": skillMd(), ...Object.fromEntries(others) });
    };
    expect(codes(await checkArchive(await files(512)))).toEqual([]);
    expect(codes(await checkArchive(await files(513)))).toEqual(["beyond_mcp"]);
  });

  it("that installers drop is warned of", async () => {
    const bytes = wrapGzip(buildTar([{ ...SKILL, name: "./SKILL.md" }]));
    expect(codes(await checkArchive(bytes))).toEqual(["dot_prefix"]);
  });
});

describe("a SKILL.md", () => {
  it("is served as Markdown", async () => {
    const frontmatter = { name: "deploy-via-pr", description: "Open a PR to deploy a config change." };
    expect(await check(skillMd())).toEqual({
      mediaType: "text/markdown; charset=utf-8",
      members: null,
      frontmatter,
      warnings: [],
    });
  });

  it("has its frontmatter kept as it is, where it names and describes the skill and is not too long to be listed", async () => {
    const kept = async (head: string) => (await check(utf8(`---\n${head}\n---\n`))).frontmatter;
    const named = "name: deploy-via-pr\ndescription: Deploys.";
    expect(await kept(`${named}\nmetadata: {tags: [a, 1.5, true, null], since: 2026-01-02}`)).toEqual({
      name: "deploy-via-pr",
      description: "Deploys.",
      metadata: { tags: ["a", 1.5, true, null], since: "2026-01-02" },
    });
    for (const other of ["name: other\ndescription: x", "name: deploy-via-pr", "name: deploy-via-pr\ndescription: 5"]) {
      expect(await kept(other)).toBeNull();
    }
    expect(await kept(`${named}\nlong: ${"x".repeat(16_384)}`)).toBeNull();
  });

  it("[skills-R21] that clients drop is warned of", async () => {
    expect(codes(await check(utf8("# Deploy\n")))).toEqual(["no_frontmatter"]);
    expect(codes(await check(skillMd("other")))).toEqual(["name_differs"]);
    expect(codes(await check(skillMd("deploy-via-pr", "Something else.")))).toEqual(["description_differs"]);
    expect(codes(await check(utf8("---\nlicense: MIT\n---\n")))).toEqual(["name_differs", "no_description"]);
    expect(codes(await check(utf8("---\nname: deploy-via-pr\n---\n")))).toEqual(["no_description"]);
    expect(codes(await check(new Uint8Array([0xef, 0xbb, 0xbf, ...skillMd()])))).toEqual(["byte_order_mark"]);
  });

  it("[skills-R21] may have CRLF, and a rule of its frontmatter may hold three dashes", async () => {
    const text = new TextDecoder().decode(skillMd()).replaceAll("\n", "\r\n");
    expect(codes(await check(utf8(text)))).toEqual([]);
  });

  it("[skills-R21] may be written in any YAML", async () => {
    const heads = [
      "name: \"deploy-via-pr\"\ndescription: 'Open a PR to deploy a config change.'",
      "name: deploy-via-pr\ndescription: >-\n  Open a PR\n  to deploy a config change.",
      "name: deploy-via-pr # the entry's\ndescription: Open a PR\n  to deploy a config change.",
      '{"name": "deploy-via-pr", "description": "Open a PR to deploy a config change."}',
    ];
    for (const head of heads) expect(codes(await check(utf8(`---\n${head}\n---\n`))), head).toEqual([]);
    expect(codes(await check(utf8("---\nname: deploy-via-pr\ndescription: >-\n  Else.\n---\n")))).toEqual([
      "description_differs",
    ]);
    expect(codes(await check(utf8("---\nname: [\n---\n")))).toEqual(["bad_frontmatter"]);
  });

  it("[skills-R21] that is no UTF-8 is refused", async () => {
    expect(await refusal(check(new Uint8Array([0xff, 0xfe])))).toMatch(/^bad_encoding: skills\.0 /);
  });

  it("of exactly the limit passes", async () => {
    const exact = new Uint8Array(PUBLICATION_LIMITS.skillMdBytes).fill(0x20);
    exact.set(skillMd());
    expect(await refusal(check(exact))).toBe("accepted");
    expect(await refusal(check(new Uint8Array(exact.length + 1)))).toMatch(/^too_large: /);
  });
});
