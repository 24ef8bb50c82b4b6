import {
  type Archive,
  ArchiveError,
  type ArchiveQuirk,
  archiveLimits,
  type Inflater,
  readArchive,
} from "../archive/archive.ts";
import { readFrontMatter } from "../front-matter.ts";
import { decodeExactly, IntegrityError, sha256Hex } from "../integrity.ts";
import type { JsonObject } from "../json.ts";
import type { PublicationSkill, PublishedSkill } from "./publication.ts";
import { PUBLICATION_LIMITS } from "./publication.ts";
import { PublicationError } from "./publication-error.ts";
import { EXTENSION_LIMITS, fitsExtension, frontmatterOf, SKILL_FILE } from "./skill-folder.ts";

/** What real clients stumble over though it may be published. */
export interface PublicationWarning {
  readonly field: string;
  readonly code:
    | "no_frontmatter"
    | "bad_frontmatter"
    | "byte_order_mark"
    | "name_differs"
    | "no_description"
    | "description_differs"
    | "extension_differs"
    | "beyond_mcp"
    | ArchiveQuirk;
  /** One English sentence. */
  readonly message: string;
}

/** What the bytes of an artifact say. */
export interface CheckedArtifact extends Pick<PublishedSkill, "mediaType" | "members"> {
  readonly frontmatter: JsonObject | null;
  readonly warnings: readonly PublicationWarning[];
}

const BOM = "\ufeff";
const MEDIA_TYPES = { "tar.gz": "application/gzip", zip: "application/zip" } as const;

const QUIRKS: Readonly<Record<ArchiveQuirk, string>> = {
  dot_prefix: "names members with a leading ./, which some installers drop",
  link: "holds links, which some installers drop",
  base256_size: "writes sizes in base 256, which some installers cannot read",
  zip64_end: "has a zip64 end record, which some installers cannot read",
};

/**
 * Checks the bytes of a skill's artifact, from anyone. Nothing is extracted or executed.
 *
 * @param field of the entry in its publication, for errors and warnings.
 * @throws {PublicationError} `too_large`, `bad_encoding`, `bad_archive` (with the archive's own reason as its cause), `bad_limit`
 */
export async function checkArtifact(
  skill: PublicationSkill,
  bytes: Uint8Array,
  field: string,
  inflater: Inflater,
): Promise<CheckedArtifact> {
  const maxBytes = skill.type === "skill-md" ? PUBLICATION_LIMITS.skillMdBytes : PUBLICATION_LIMITS.archiveBytes;
  if (bytes.length > maxBytes) {
    throw new PublicationError(
      "too_large",
      field,
      `has an artifact of ${bytes.length} bytes; the limit is ${maxBytes}`,
    );
  }
  if (skill.type === "skill-md") {
    const { warnings, frontmatter } = checkSkillFile(skill, decodeText(bytes, field, "is no valid UTF-8"), field);
    return { mediaType: "text/markdown; charset=utf-8", members: null, frontmatter, warnings };
  }
  const archive = open(skill, bytes, field, inflater);
  const skillFile = archive.files.find(({ path }) => path === SKILL_FILE)?.bytes ?? new Uint8Array();
  const text = decodeText(skillFile, field, `holds a ${SKILL_FILE} that is no valid UTF-8`);
  const { warnings: found, frontmatter } = checkSkillFile(skill, text, field);
  const warnings = [...found, ...checkExtension(skill, archive, field)];
  for (const quirk of archive.quirks) {
    warnings.push({ field, code: quirk, message: `The archive ${QUIRKS[quirk]}; packing it again helps.` });
  }
  const members = await listMembers(archive);
  if (members === null || !fitsExtension(members)) {
    const rule = `more than ${EXTENSION_LIMITS.files} files or ${EXTENSION_LIMITS.bytes} bytes, so that MCP clients are not given the skill`;
    warnings.push({ field, code: "beyond_mcp", message: `The archive holds ${rule}.` });
  }
  return { mediaType: MEDIA_TYPES[archive.format], members, frontmatter, warnings };
}

function open(skill: PublicationSkill, bytes: Uint8Array, field: string, inflater: Inflater): Archive {
  try {
    return readArchive(bytes, archiveLimits(skill.limits), inflater);
  } catch (cause) {
    if (!(cause instanceof ArchiveError)) throw cause;
    const code = cause.code === "bad_limit" ? "bad_limit" : "bad_archive";
    throw new PublicationError(code, field, `is refused (${cause.code}): ${cause.message.replace(/\.$/, "")}`, {
      cause,
    });
  }
}

async function listMembers(archive: Archive): Promise<CheckedArtifact["members"]> {
  if (archive.files.length > EXTENSION_LIMITS.files) return null;
  return Promise.all(
    archive.files.map(async ({ path, bytes }) => ({ path, sha256: await sha256Hex(bytes), bytes: bytes.length })),
  );
}

function decodeText(bytes: Uint8Array, field: string, problem: string): string {
  try {
    return decodeExactly(bytes);
  } catch (cause) {
    if (cause instanceof IntegrityError) throw new PublicationError("bad_encoding", field, problem, { cause });
    throw cause;
  }
}

/** Agent Skills `SKILL.md`: frontmatter with the entry's name and a description. Clients drop silently what has none. */
function checkSkillFile(
  skill: PublicationSkill,
  text: string,
  field: string,
): { readonly warnings: PublicationWarning[]; readonly frontmatter: JsonObject | null } {
  const warnings: PublicationWarning[] = [];
  const warn = (code: PublicationWarning["code"], message: string) => warnings.push({ field, code, message });
  if (text.startsWith(BOM))
    warn("byte_order_mark", "SKILL.md begins with a byte order mark, so that some clients see no frontmatter.");
  const head = readFrontMatter(text.startsWith(BOM) ? text.slice(1) : text);
  if (head.state === "absent") warn("no_frontmatter", "SKILL.md has no frontmatter, and clients drop the skill.");
  if (head.state === "bad") warn("bad_frontmatter", `The frontmatter of SKILL.md ${head.problem}.`);
  const frontmatter = frontmatterOf(head, skill.name);
  if (head.state !== "read") return { warnings, frontmatter };
  const { name, description } = head.fields;
  if (name !== skill.name)
    warn("name_differs", "The frontmatter's `name` is not the entry's, and clients drop the skill.");
  if (typeof description !== "string" || description.trim() === "") {
    warn("no_description", "The frontmatter has no `description`, and clients drop the skill.");
  } else if (words(description) !== words(skill.description)) {
    warn("description_differs", "The frontmatter's `description` is not the entry's.");
  }
  return { warnings, frontmatter };
}

/** Line breaks and runs of space are the business of the formats. */
function words(text: string): string {
  return text.trim().replace(/\s+/g, " ");
}

function checkExtension({ url }: PublicationSkill, { format }: Archive, field: string): PublicationWarning[] {
  const named = /\.zip$/i.test(url) ? "zip" : /\.(?:tar\.gz|tgz)$/i.test(url) ? "tar.gz" : null;
  if (named === null || named === format) return [];
  const message = `The url ends like a ${named}, and the bytes are a ${format}; some clients drop the skill.`;
  return [{ field, code: "extension_differs", message }];
}
