import { createHash } from "node:crypto";
import { readdir } from "node:fs/promises";
import { basename, dirname, posix } from "node:path";
import { fileMediaType } from "../../core/agent-skills/media-types.ts";
import { ArchiveError, type ArchiveLimitSettings, archiveLimits, readArchive } from "../../core/archive/archive.ts";
import { packArchive, repackArchive } from "../../core/archive/pack.ts";
import { zlibInflater } from "../../core/archive/zlib-inflater.ts";
import { ATTESTATIONS_PATH } from "../../core/discovery/attestations.ts";
import { decodeUtf8 } from "../../core/integrity.ts";
import type { Json, JsonObject } from "../../core/json.ts";
import { parseLlmsTxt } from "../../core/llmstxt/parse.ts";
import type { CanonicalOrigin } from "../../core/origin.ts";
import { CommandError } from "../command-error.ts";
import type { SiteFiles } from "../serve/site-files.ts";
import { isPublic } from "../serve/site-path.ts";
import { SiteDraft } from "../site/site-draft.ts";
import { type PublicationSettings, readSettings, SETTINGS_FILE } from "./publication-settings.ts";

/** A folder as the gateway's admin API takes it: the publication names bytes by digest. */
export interface FolderPublication {
  readonly publication: JsonObject;
  /** By digest. */
  readonly blobs: ReadonlyMap<string, SiteFile>;
  /** What of the folder is not published, and why, a sentence each. */
  readonly notes: readonly string[];
}

export interface SiteFile {
  readonly bytes: Uint8Array;
  /** What they were read from. */
  readonly path: string;
}

const ARCHIVE = /\.(?:zip|tar\.gz|tgz)$/i;
const NOWHERE = "https://site.example" as CanonicalOrigin;
const OCTETS = "application/octet-stream";
/** How many files a note names. */
const NAMED_FILES = 5;

/**
 * Reads a site's folder: its skills from `llms.txt`, with their scripts and recipes, its memories, and every other file that a program may
 * want to read. `index.json` and `llms.txt` themselves are made by the gateway.
 *
 * @throws {CommandError} `bad_file`.
 */
export async function readPublication(site: SiteFiles): Promise<FolderPublication> {
  return new Reading(site, await readSettings(site)).read();
}

/** A skill's line, executable or not. */
interface Line {
  readonly name: string;
  readonly scope: string | null;
  readonly description: string;
  readonly version: string | null;
  readonly link: string;
  readonly tool: string | null;
}

class Reading {
  readonly #site: SiteFiles;
  readonly #draft: SiteDraft;
  readonly #settings: PublicationSettings;
  readonly #blobs = new Map<string, SiteFile>();
  readonly #notes: string[] = [];
  /** Files that are published as something. */
  readonly #used = new Set(["llms.txt", SETTINGS_FILE, ".well-known/agent-skills/index.json"]);
  readonly #names = new Set<string>();
  /** Of lines without a scope, which have no other name to go by. */
  readonly #ownNames = new Set<string>();
  /** With a `SKILL.md`, `""` the site's own, and whether a skill of that file is hidden. */
  readonly #skillFolders = new Map<string, boolean>();

  constructor(site: SiteFiles, settings: PublicationSettings) {
    this.#site = site;
    this.#draft = new SiteDraft(site, NOWHERE);
    this.#settings = settings;
  }

  async read(): Promise<FolderPublication> {
    const text = decode(await this.#required("llms.txt"), "llms.txt");
    const parsed = parseLlmsTxt(text);
    const lines: readonly Line[] = [
      ...parsed.skills.map(({ recipeUrl, ...line }) => ({ ...line, link: recipeUrl })),
      ...parsed.prose.map(({ url, ...line }) => ({ ...line, scope: null, version: null, link: url, tool: null })),
    ];
    for (const { name, scope } of lines) if (scope === null) this.#ownNames.add(asName(name));
    const skills: JsonObject[] = [];
    const published = new Set<string>();
    for (const line of lines) {
      const skill = await this.#skill(line);
      if (skill === null) continue;
      skills.push(skill);
      published.add(line.name);
    }
    this.#refuseUnknown(published);
    const memories: JsonObject[] = [];
    for (const { snapshot, scope, supported } of parsed.memories) {
      if (supported)
        memories.push({ ...(await this.#stored(this.#locate(snapshot))), ...(scope === null ? {} : { scope }) });
    }
    const listings: JsonObject[] = [];
    for (const { name, skills: listed } of this.#settings.listings) {
      const entries: Json[] = [];
      for (const { file, ...entry } of listed) {
        this.#noteFolder(file, entry.visibility);
        entries.push({ ...entry, type: typeOf(file), ...(await this.#stored(file)) } as JsonObject);
      }
      listings.push({ name, skills: entries });
    }
    const { title, description } = readHead(text, basename(this.#site.folder));
    const publication = { title, description, skills, listings, memories, files: await this.#otherFiles() };
    return { publication, blobs: this.#blobs, notes: this.#notes };
  }

  /** A setting that meets no skill may be a misspelt one, and the skill that it was to hide would be public. */
  #refuseUnknown(published: ReadonlySet<string>): void {
    const unknown = Object.keys(this.#settings.skills).find((name) => !published.has(name));
    if (unknown === undefined) return;
    throw new CommandError("bad_file", `In ${SETTINGS_FILE}, skills.${unknown} is about no skill that llms.txt lists.`);
  }

  async #skill(line: Line): Promise<JsonObject | null> {
    const { name, link, tool, scope, version } = line;
    const { visibility, pack = false, limits } = this.#settings.skills[name] ?? {};
    const isElsewhere = /^[a-z][a-z0-9+.-]*:/i.test(link);
    if (link === "" || (tool === null && !/\.md$/i.test(link) && !ARCHIVE.test(link))) {
      this.#notes.push(
        `The line of ${name} links no SKILL.md and no archive, so it is no skill that can be published.`,
      );
      return null;
    }
    const artifact = isElsewhere
      ? { url: link }
      : pack
        ? await this.#packed(line, limits)
        : await this.#stored(this.#locate(link));
    const script = tool === null ? null : { ...(await this.#stored(this.#locate(tool))), name };
    if (!isElsewhere) this.#noteFolder(this.#locate(link), visibility);
    return {
      name: this.#manifestName(line),
      type: pack ? "archive" : typeOf(link),
      description: line.description,
      ...artifact,
      ...(visibility === undefined ? {} : { visibility }),
      ...(limits === undefined ? {} : { limits }),
      ...(version === null ? {} : { version }),
      ...(scope === null ? {} : { scope }),
      ...(script === null ? {} : { tool: script }),
    };
  }

  /** Agent Skills knows no underscores, and no scopes. */
  #manifestName({ name, scope }: Line): string {
    const own = asName(name);
    const isTaken = this.#names.has(own) || this.#ownNames.has(own);
    const found = isTaken && scope !== null ? asName(`${scope}-${name}`) : own;
    this.#names.add(found);
    return found;
  }

  /** The folder of a `SKILL.md` as a canonical archive, its script left out; of an archive, the same files as a canonical one. */
  async #packed({ link, name, tool }: Line, limits: ArchiveLimitSettings = {}): Promise<JsonObject> {
    const path = this.#locate(link);
    try {
      const bytes = ARCHIVE.test(path)
        ? await this.#repacked(path, limits)
        : await packArchive(await this.#folderOf(path, tool), archiveLimits(limits));
      return { url: `/skills/${asName(name)}.tar.gz`, sha256: this.#keep(bytes, path) };
    } catch (error) {
      if (error instanceof ArchiveError)
        throw new CommandError("bad_file", `What ${path} belongs to cannot be packed: ${error.message}`);
      throw error;
    }
  }

  async #folderOf(path: string, tool: string | null) {
    const folder = dirname(path);
    const script = tool === null ? null : this.#locate(tool);
    const files: { path: string; bytes: Uint8Array }[] = [];
    for (const path of await this.#list(folder)) {
      if (path === script) continue;
      files.push({ path: posix.relative(folder, path), bytes: await this.#required(path) });
      this.#used.add(path);
    }
    return files;
  }

  async #repacked(path: string, settings: ArchiveLimitSettings) {
    const limits = archiveLimits(settings);
    const bytes = await this.#required(path);
    this.#used.add(path);
    return repackArchive(readArchive(bytes, limits, zlibInflater), limits);
  }

  /** Whatever else lies there and is data, hidden where its skill is. Pages stay with the host that serves them. */
  async #otherFiles(): Promise<Json[]> {
    const files: Json[] = [];
    const hidden: string[] = [];
    const others: string[] = [];
    for (const path of await this.#list("")) {
      const isOwn = path.startsWith(".well-known/agent-skills/") && `/${path}` !== ATTESTATIONS_PATH;
      if (this.#used.has(path) || isOwn) continue;
      if (fileMediaType(path) === OCTETS) {
        others.push(path);
        continue;
      }
      const isHidden = this.#isHidden(path);
      if (isHidden) hidden.push(path);
      files.push({ ...(await this.#stored(path)), ...(isHidden ? { visibility: "authenticated" } : {}) });
    }
    if (hidden.length > 0) {
      this.#notes.push(`For authenticated callers alone, as the skill in whose folder they lie: ${named(hidden)}.`);
    }
    if (others.length > 0) {
      this.#notes.push(
        `Not published, being neither text nor data by their names: ${named(others)}. "pack": true in ${SETTINGS_FILE} takes the files of a skill along.`,
      );
    }
    return files;
  }

  #noteFolder(file: string, visibility: "public" | "authenticated" = "public"): void {
    if (basename(file) !== "SKILL.md") return;
    const folder = parentOf(file);
    this.#skillFolders.set(folder, visibility === "authenticated" || this.#skillFolders.get(folder) === true);
  }

  /** Whether a file lies in the folder of a hidden skill, and in none of another skill inside of it. */
  #isHidden(path: string): boolean {
    if (path.startsWith(".well-known/")) return false;
    for (let folder = parentOf(path); ; folder = parentOf(folder)) {
      const isHidden = this.#skillFolders.get(folder);
      if (isHidden !== undefined || folder === "") return isHidden === true;
    }
  }

  async #stored(path: string): Promise<JsonObject> {
    const bytes = await this.#required(path);
    this.#used.add(path);
    return { url: `/${path.split("/").map(encodeURIComponent).join("/")}`, sha256: this.#keep(bytes, path) };
  }

  #keep(bytes: Uint8Array, path: string): string {
    const sha256 = createHash("sha256").update(bytes).digest("hex");
    this.#blobs.set(sha256, { bytes, path });
    return sha256;
  }

  #locate(path: string): string {
    const file = this.#draft.locate(path);
    if (file === null) throw new CommandError("bad_file", `In llms.txt, ${path} is no file of the site.`);
    return file;
  }

  async #required(path: string): Promise<Uint8Array> {
    const reading = await this.#site.read(path.split("/"));
    if (!reading.ok) throw new CommandError("bad_file", reading.message);
    return reading.bytes;
  }

  /** The files below a folder that a static host would serve, by path. */
  async #list(folder: string): Promise<string[]> {
    const found: string[] = [];
    const visit = async (path: string): Promise<void> => {
      for (const entry of await readdir(posix.join(this.#site.folder, path), { withFileTypes: true })) {
        const inner = path === "" ? entry.name : `${path}/${entry.name}`;
        if (!isPublic(inner.split("/")) || entry.name === "node_modules") continue;
        if (entry.isDirectory()) await visit(inner);
        else if (entry.isFile()) found.push(inner);
      }
    };
    await visit(folder === "." ? "" : folder);
    return found.sort();
  }
}

/** `""` for what lies in the site's own folder. */
function parentOf(path: string): string {
  const folder = dirname(path);
  return folder === "." ? "" : folder;
}

/** The first few of these. */
function named(paths: readonly string[]): string {
  const some = paths.slice(0, NAMED_FILES).join(", ");
  return paths.length > NAMED_FILES ? `${some} and ${paths.length - NAMED_FILES} more` : some;
}

function typeOf(path: string): "archive" | "skill-md" {
  return ARCHIVE.test(path) ? "archive" : "skill-md";
}

function asName(name: string): string {
  return name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-|-$/g, "");
}

/** The first heading and the quotation of an `llms.txt`. */
function readHead(text: string, fallback: string): { readonly title: string; readonly description: string } {
  const title = /^#[ \t]+(.+?)[ \t]*\r?$/m.exec(text)?.[1] ?? fallback;
  const description = /^>[ \t]*(.+?)[ \t]*\r?$/m.exec(text)?.[1] ?? "";
  return { title: title.slice(0, 100), description: description.slice(0, 1_024) };
}

function decode(bytes: Uint8Array, file: string): string {
  try {
    return decodeUtf8(bytes);
  } catch {
    throw new CommandError("bad_file", `The file ${file} is not valid UTF-8.`);
  }
}
