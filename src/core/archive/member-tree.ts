import { ArchiveError, quoted } from "./archive-error.ts";
import { type MemberPath, parseLinkTarget } from "./member-path.ts";

/** Most files and directories, implied ones included: about 20 MB of tree. */
const MAX_NODES = 65_536;
/** Longest chain of symbolic links, as Linux has it. */
const MAX_LINK_HOPS = 40;

interface TreeNode {
  readonly spelling: string;
  readonly parent: TreeNode | null;
  kind: "directory" | "file" | "symlink";
  /** False for a directory that only a longer path implies. */
  isMember: boolean;
  /** Of a symbolic link: what it says, and once resolved, where that leads and over how many links. */
  target?: string;
  resolved?: Resolved | "in_progress";
  children?: Map<string, TreeNode>;
}

interface Resolved {
  /** Null where nothing is at the end of the target. */
  readonly node: TreeNode | null;
  readonly hops: number;
}

/**
 * The members of one archive as the tree they would make, on a file system that may ignore case and Unicode form. Whatever would
 * land twice on one place, or be written through a link, is refused. Time and memory are linear in the lengths of the paths.
 */
export class MemberTree {
  readonly #root: TreeNode = { spelling: "", parent: null, kind: "directory", isMember: false };
  readonly #links: { readonly node: TreeNode; readonly path: string }[] = [];
  #nodes = 0;

  /** @throws {ArchiveError} `duplicate`, `link` or `entries`. */
  add(member: MemberPath, kind: TreeNode["kind"], target?: string): void {
    let node = this.#root;
    for (const [index, spelling] of member.components.entries()) {
      const isLast = index === member.components.length - 1;
      if (node.kind !== "directory") throw passesThrough(member, node);
      node.children ??= new Map();
      const key = foldName(spelling);
      const child = node.children.get(key);
      if (child === undefined) {
        node = this.#create(node, key, spelling, isLast ? kind : "directory");
        if (isLast) node.isMember = true;
        continue;
      }
      const isSecondOfDirectory = isLast && (child.isMember || child.kind !== "directory" || kind !== "directory");
      if (child.spelling !== spelling || isSecondOfDirectory) throw duplicate(member);
      node = child;
    }
    if (member.components.length === 0 && this.#root.isMember) throw duplicate(member);
    node.isMember = true;
    if (kind === "symlink") {
      node.target = target ?? "";
      this.#links.push({ node, path: member.path });
    }
  }

  /**
   * Follows every symbolic link to its end, through other links, once all members are known.
   *
   * @returns where each link leads, by its path: the path of a file or directory, `""` for the root, null where nothing is there.
   * @throws {ArchiveError} `link` for one that leaves the root on its way, or that never ends.
   */
  resolveLinks(): ReadonlyMap<string, string | null> {
    const resolved = new Map<string, string | null>();
    for (const { node, path } of this.#links) {
      const { node: end } = this.#resolve(node, 0);
      resolved.set(path, end === null ? null : pathOf(end));
    }
    return resolved;
  }

  #create(parent: TreeNode, key: string, spelling: string, kind: TreeNode["kind"]): TreeNode {
    this.#nodes += 1;
    if (this.#nodes > MAX_NODES) {
      throw new ArchiveError("entries", `The archive has more than ${MAX_NODES} files and directories.`);
    }
    const node: TreeNode = { spelling, parent, kind, isMember: false };
    parent.children?.set(key, node);
    return node;
  }

  /** Resolved once each, so that links to links to links cost no more than their own targets. */
  #resolve(link: TreeNode, depth: number): Resolved {
    if (typeof link.resolved === "object") return link.resolved;
    if (link.resolved === "in_progress" || depth >= MAX_LINK_HOPS) throw endless(link);
    link.resolved = "in_progress";
    let node: TreeNode | null = link.parent;
    let hops = 1;
    /** Parts walked below a place where nothing is; `..` leads back. */
    let missing = 0;
    for (const component of parseLinkTarget(link.target ?? "")) {
      if (component === "..") {
        if (missing > 0) missing -= 1;
        else node = node?.parent ?? null;
        if (node === null) throw escapes(link);
        continue;
      }
      const child: TreeNode | undefined = missing > 0 ? undefined : node?.children?.get(foldName(component));
      if (child === undefined) {
        missing += 1;
      } else if (child.kind === "symlink") {
        const end = this.#resolve(child, depth + 1);
        hops += end.hops;
        if (hops > MAX_LINK_HOPS) throw endless(link);
        if (end.node === null) throw brokenWay(link);
        node = end.node;
      } else {
        node = child;
      }
    }
    const resolved = { node: missing > 0 ? null : node, hops };
    link.resolved = resolved;
    return resolved;
  }
}

/** One key for all spellings that some file system takes for the same name: case and Unicode form are ignored. */
function foldName(name: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the range is ASCII.
  if (/^[\x00-\x7f]*$/.test(name)) return name.toLowerCase();
  return name.normalize("NFD").toUpperCase().toLowerCase().normalize("NFC");
}

function pathOf(node: TreeNode): string {
  const components: string[] = [];
  for (let at: TreeNode | null = node; at?.parent; at = at.parent) components.unshift(at.spelling);
  return components.join("/");
}

function passesThrough(member: MemberPath, node: TreeNode): ArchiveError {
  return node.kind === "symlink"
    ? new ArchiveError("link", `The member ${quoted(member.path)} would be written through a symbolic link.`)
    : new ArchiveError("duplicate", `The member ${quoted(member.path)} lies below what is a file.`);
}

function duplicate(member: MemberPath): ArchiveError {
  return new ArchiveError(
    "duplicate",
    `The name ${quoted(member.path)} occurs twice, or differs from another only in case or Unicode form.`,
  );
}

function escapes(link: TreeNode): ArchiveError {
  return new ArchiveError("link", `The symbolic link ${quoted(pathOf(link))} leads out of the archive.`);
}

function endless(link: TreeNode): ArchiveError {
  const chain = `is one of a circle, or of a chain of more than ${MAX_LINK_HOPS}`;
  return new ArchiveError("link", `The symbolic link ${quoted(pathOf(link))} ${chain}.`);
}

function brokenWay(link: TreeNode): ArchiveError {
  return new ArchiveError(
    "link",
    `The symbolic link ${quoted(pathOf(link))} passes through a link that leads nowhere.`,
  );
}
