import type { FrontMatterReading } from "../front-matter.ts";
import type { Sha256Hex } from "../integrity.ts";
import { isJsonObject, type Json, type JsonObject } from "../json.ts";
import type { SkillEntry } from "../mcp/provider.ts";
import { fileMediaType } from "./media-types.ts";

/** What every host of SEP-2640 takes of one skill, and the most that is served of one. */
export const EXTENSION_LIMITS = { files: 512, bytes: 16_777_216 } as const;

/** `skills/list` carries every frontmatter whole. UTF-16 units of its JSON. */
const MAX_FRONTMATTER_LENGTH = 16_384;

export const SKILL_FILE = "SKILL.md";

/** A skill as MCP shows it: a folder with a `SKILL.md` at its root. */
export interface SkillFolder {
  readonly name: string;
  readonly description: string;
  /** All of the `SKILL.md`'s own; null where `skills/list` cannot name the skill, though its files can be read. */
  readonly frontmatter: JsonObject | null;
  readonly files: readonly SkillFile[];
  /** True where nobody but their own host vouches for these bytes: an index of v0.1.0 declares no digests. */
  readonly isUnverified?: boolean;
}

export interface SkillFile {
  /** Inside the folder. */
  readonly path: string;
  /** Of its bytes. */
  readonly sha256: Sha256Hex;
  readonly bytes: number;
}

export function fitsExtension(files: readonly Pick<SkillFile, "bytes">[]): boolean {
  return files.length <= EXTENSION_LIMITS.files && sum(files) <= EXTENSION_LIMITS.bytes;
}

function sum(files: readonly Pick<SkillFile, "bytes">[]): number {
  return files.reduce((total, { bytes }) => total + bytes, 0);
}

/** The frontmatter of a `SKILL.md` as JSON; null where hosts would refuse the skill for it, or where it is too long to be listed. */
export function frontmatterOf(head: FrontMatterReading, name: string): JsonObject | null {
  if (head.state !== "read" || head.fields.name !== name) return null;
  const { description } = head.fields;
  if (typeof description !== "string" || description.trim() === "") return null;
  const text = JSON.stringify(head.fields);
  const fields: Json = JSON.parse(text);
  return text.length <= MAX_FRONTMATTER_LENGTH && isJsonObject(fields) ? fields : null;
}

/** The address of a file of a skill (SEP-2640); each part of its path is escaped as in every URI. */
export function skillFileUri({ name }: Pick<SkillFolder, "name">, { path }: Pick<SkillFile, "path">): string {
  return `skill://${name}/${path.split("/").map(encodeURIComponent).join("/")}`;
}

/** What `skills/list` says of a skill; null for one that it cannot name. */
export function skillEntry(folder: SkillFolder): SkillEntry | null {
  const { frontmatter, files } = folder;
  if (frontmatter === null) return null;
  return {
    uri: skillFileUri(folder, { path: SKILL_FILE }),
    frontmatter,
    resources: files.map((file) => ({
      uri: skillFileUri(folder, file),
      digest: `sha256:${file.sha256}`,
      size: file.bytes,
    })),
  };
}

const UNKNOWN_TYPE = "application/octet-stream";
/** Scripts and the like, which no site serves as what they are: nothing of a skill runs in a browser. */
const TEXT_ENDINGS =
  /\.(?:bash|bat|c|cfg|cpp|css|go|h|html?|ini|java|jsonl|jsx|kt|lua|php|pl|ps1|py|r|rb|rs|rst|sh|sql|svg|swift|tex|toml|tsx?|xsd|zsh)$/i;

/** The `mimeType` of a file of a skill, by its name. */
export function skillFileType(path: string): string {
  const [type = UNKNOWN_TYPE] = fileMediaType(path).split(";", 1);
  if (type !== UNKNOWN_TYPE) return type;
  // Such as LICENSE or Makefile.
  const hasEnding = (path.split("/").at(-1) ?? "").includes(".");
  return TEXT_ENDINGS.test(path) || !hasEnding ? "text/plain" : UNKNOWN_TYPE;
}

/** Whether the contents of this type are given as text, where they are valid UTF-8. */
export function isTextType(type: string): boolean {
  return type.startsWith("text/") || /^application\/(?:json|yaml|xml)$/.test(type);
}
