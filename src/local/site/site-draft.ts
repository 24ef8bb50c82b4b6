import type { OriginFetcher } from "../../core/fetch/origin-fetch.ts";
import { decodeExactly } from "../../core/integrity.ts";
import { type CanonicalOrigin, OriginError, resolvePublisherPath } from "../../core/origin.ts";
import type { SiteFiles } from "../serve/site-files.ts";
import { readSitePath } from "../serve/site-path.ts";
import type { ListedSkill } from "./skill-lines.ts";

/** What keeps a site from being built. */
export interface SiteFailure {
  /** From the site's root. */
  readonly file: string;
  readonly code: string;
  /** One English sentence. */
  readonly message: string;
}

/** A file that is to be written. */
export interface DraftedFile {
  /** From the site's root. */
  readonly path: string;
  readonly bytes: Uint8Array;
  /** What is there now; `null`: nothing. */
  readonly before: Uint8Array | null;
  /** What is other than before, one phrase each. */
  readonly reasons: readonly string[];
}

/** What building a site comes to. Nothing is written yet. */
export interface SiteBuild {
  /** Files that are not what they must be; in the order in which they are to be written. */
  readonly changed: readonly DraftedFile[];
  /** What a gateway would leave out, and what cannot be built. */
  readonly failures: readonly SiteFailure[];
  /** What the author should know, a sentence each. */
  readonly notes: readonly string[];
  readonly skills: readonly ListedSkill[];
}

/**
 * A site as it will be: its files, and over them those that a build has made so far. Nothing is written; what is in the way
 * is collected in `failures`, what its author should know in `notes`.
 */
export class SiteDraft {
  readonly origin: CanonicalOrigin;
  readonly failures: SiteFailure[] = [];
  readonly notes: string[] = [];
  readonly #site: SiteFiles;
  readonly #drafted = new Map<string, DraftedFile>();

  constructor(site: SiteFiles, origin: CanonicalOrigin) {
    this.#site = site;
    this.origin = origin;
  }

  get folder(): string {
    return this.#site.folder;
  }

  built(skills: readonly ListedSkill[]): SiteBuild {
    const { failures, notes } = this;
    return { changed: [...this.#drafted.values()], failures, notes, skills };
  }

  /** Where a path of the publisher's lies, from the site's root; `null` for what lies elsewhere or can be no file. */
  locate(path: string): string | null {
    try {
      const { pathname } = resolvePublisherPath(this.origin, path);
      const base = new URL(this.origin).pathname.replace(/\/$/, "");
      const read = readSitePath(pathname.slice(base.length));
      return "refused" in read ? null : read.segments.join("/");
    } catch (error) {
      if (error instanceof OriginError) return null;
      throw error;
    }
  }

  /** `null` for a file that is not there; one that cannot be had for another reason is a failure too. */
  async read(path: string): Promise<Uint8Array | null> {
    const drafted = this.#drafted.get(path);
    if (drafted !== undefined) return drafted.bytes;
    const reading = await this.#site.read(path.split("/"));
    if (reading.ok) return reading.bytes;
    if (reading.code !== "absent" && !this.failures.some(({ file }) => file === path)) {
      this.fail(path, reading.code, reading.message);
    }
    return null;
  }

  /** A byte order mark stays. */
  async readText(path: string): Promise<string | null> {
    const bytes = await this.read(path);
    if (bytes === null) return null;
    try {
      return decodeExactly(bytes);
    } catch {
      this.fail(path, "bad_encoding", `The file ${path} is not valid UTF-8.`);
      return null;
    }
  }

  /** Where the bytes are those that are there already, nothing is to be written, nor over what cannot be read. */
  async write(path: string, content: string | Uint8Array, reasons: readonly string[]): Promise<void> {
    const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
    const reading = await this.#site.read(path.split("/"));
    if (!reading.ok && reading.code !== "absent") return;
    const before = reading.ok ? reading.bytes : null;
    if (before !== null && Buffer.compare(before, bytes) === 0) this.#drafted.delete(path);
    else this.#drafted.set(path, { path, bytes, before, reasons });
  }

  fail(file: string, code: string, message: string): void {
    this.failures.push({ file, code, message });
  }

  /** Answers as a static host of the finished site would. */
  readonly fetch: OriginFetcher = async (url) => {
    const path = this.locate(url);
    const bytes = path === null ? null : await this.read(path);
    return bytes === null ? new Response("", { status: 404 }) : new Response(bytes as Uint8Array<ArrayBuffer>);
  };
}
