import { ArchiveError, quoted } from "./archive-error.ts";
import { type MemberPath, parseMemberPath } from "./member-path.ts";
import { MemberTree } from "./member-tree.ts";

/** A regular file. */
export interface ArchiveFile {
  /** Relative to the archive's root, `/` between its parts, without a leading `./`; Unicode form as it was written. */
  readonly path: string;
  /** Its content; a view that keeps the inflated archive alive, so copy what is to be held for long. */
  readonly bytes: Uint8Array;
}

/** A link of a tar that stays inside of the archive. */
export interface ArchiveLink {
  readonly path: string;
  readonly kind: "hard" | "symbolic";
  /** As written: from the root for a hard link, from the link's own directory for a symbolic one. */
  readonly target: string;
  /** The file or directory at its end (`""` for the root), through other links; null where nothing is there. */
  readonly resolved: string | null;
}

/** What is legal, and yet makes some installers drop the archive (measured with `skills` 1.5.18). {@link packArchive} has none of it. */
export type ArchiveQuirk = "dot_prefix" | "link" | "base256_size" | "zip64_end";

/** What an archive holds, members in its own order. */
export interface ArchiveMembers {
  readonly files: readonly ArchiveFile[];
  /** Those that are members themselves, the root left out; paths may imply more. */
  readonly directories: readonly string[];
  readonly links: readonly ArchiveLink[];
  readonly quirks: readonly ArchiveQuirk[];
}

const SKILL_FILE = "SKILL.md";

/** Collects the members of one archive, refusing each that has no place in it. Names are attacker-controlled. */
export class MemberList {
  readonly #tree = new MemberTree();
  readonly #files = new Map<string, ArchiveFile>();
  readonly #directories: string[] = [];
  readonly #links: Omit<ArchiveLink, "resolved">[] = [];
  /** The file behind each hard link, by the link's path. */
  readonly #hardLinked = new Map<string, string>();
  readonly #quirks = new Set<ArchiveQuirk>();

  addFile(name: string, bytes: Uint8Array): void {
    const { path } = this.#add(name, "file");
    this.#files.set(path, { path, bytes });
  }

  addDirectory(name: string): void {
    const { path } = this.#add(name, "directory");
    if (path !== "") this.#directories.push(path);
  }

  /** @throws {ArchiveError} `link` where the target is no file, or hard link to one, that came before. */
  addHardLink(name: string, target: string): void {
    const sought = target.startsWith("./") ? target.slice(2) : target;
    const file = this.#files.has(sought) ? sought : this.#hardLinked.get(sought);
    if (file === undefined) {
      throw new ArchiveError(
        "link",
        `The hard link ${quoted(name)} leads to ${quoted(target)}, which is no file before it.`,
      );
    }
    const { path } = this.#add(name, "file");
    this.#hardLinked.set(path, file);
    this.#links.push({ path, kind: "hard", target });
    this.addQuirk("link");
  }

  addSymbolicLink(name: string, target: string): void {
    const { path } = this.#add(name, "symlink", target);
    this.#links.push({ path, kind: "symbolic", target });
    this.addQuirk("link");
  }

  addQuirk(quirk: ArchiveQuirk): void {
    this.#quirks.add(quirk);
  }

  /** @throws {ArchiveError} `link` for a symbolic link that leaves the archive; `no_skill_md` */
  finish(): ArchiveMembers {
    const ends = this.#tree.resolveLinks();
    if (!this.#files.has(SKILL_FILE)) {
      throw new ArchiveError("no_skill_md", `The archive has no file ${SKILL_FILE} at its root.`);
    }
    const resolve = (path: string) => {
      const end = ends.get(path) ?? null;
      return end === null ? null : (this.#hardLinked.get(end) ?? end);
    };
    return {
      files: [...this.#files.values()],
      directories: this.#directories,
      links: this.#links.map((link) => ({
        ...link,
        resolved: link.kind === "hard" ? (this.#hardLinked.get(link.path) ?? null) : resolve(link.path),
      })),
      quirks: [...this.#quirks],
    };
  }

  #add(name: string, kind: "file" | "directory" | "symlink", target?: string): MemberPath {
    const member = parseMemberPath(name, kind === "directory");
    if (member.hasDotPrefix) this.addQuirk("dot_prefix");
    this.#tree.add(member, kind, target);
    return member;
  }
}
