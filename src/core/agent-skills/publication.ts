import type { ArchiveLimitSettings } from "../archive/limits.ts";
import type { Sha256Hex } from "../integrity.ts";
import type { JsonObject } from "../json.ts";

/** What a site may hold. A `SKILL.md`, a tool and a snapshot are as large as discovery takes them by default. */
export const PUBLICATION_LIMITS = {
  /** Skills of a site and of its listings together. */
  skills: 256,
  listings: 32,
  files: 1_000,
  memories: 8,
  /** Bytes of one artifact each. */
  skillMdBytes: 262_144,
  archiveBytes: 5_242_880,
  toolBytes: 1_048_576,
  snapshotBytes: 4_194_304,
  fileBytes: 5_242_880,
  /** Bytes of all that one version names, each digest once. */
  totalBytes: 67_108_864,
} as const;

export type ArtifactType = "skill-md" | "archive";
/** Who is shown a skill, and given its artifact. */
export type Visibility = "public" | "authenticated";

/** A version of a site as somebody wants to publish it: bytes are named by digest, and were uploaded before. */
export interface Publication {
  /** For `llms.txt`. */
  readonly title: string;
  readonly description: string;
  /** In the order in which manifests list them. */
  readonly skills: readonly PublicationSkill[];
  /** Each has a manifest of its own at `/.well-known/agent-skills/<name>/index.json`. */
  readonly listings: readonly { readonly name: string; readonly skills: readonly PublicationSkill[] }[];
  readonly files: readonly PublicationFile[];
  readonly memories: readonly PublicationMemory[];
}

export interface PublicationSkill {
  /** Agent Skills: 1 to 64 of `a-z0-9-`, without a hyphen at an end or beside another. */
  readonly name: string;
  readonly type: ArtifactType;
  /** One line of 1 to 1024 characters. */
  readonly description: string;
  /** `skills/a.md` and `/skills/a.md` are the same place of the site; an https address elsewhere is published as it is. */
  readonly url: string;
  readonly visibility: Visibility;
  /** Of the artifact's bytes. Null only for one that lies elsewhere, which is then fetched and hashed. */
  readonly sha256: Sha256Hex | null;
  /** Of an archive. */
  readonly limits: ArchiveLimitSettings;
  readonly version: string | null;
  readonly license: string | null;
  /** Executable Skills v0.5 §2.5; only with a tool. */
  readonly scope: string | null;
  readonly tool: PublicationTool | null;
}

/** The script of an executable skill. */
export interface PublicationTool {
  readonly url: string;
  readonly sha256: Sha256Hex;
  /** What the script registers; null: the skill's name. */
  readonly name: string | null;
}

/** Any other file, such as what a tool reads with `host.fetchOrigin`. */
export interface PublicationFile {
  readonly url: string;
  readonly sha256: Sha256Hex;
  readonly visibility: Visibility;
}

/** A snapshot `minimemory-okf-v1`. */
export interface PublicationMemory {
  readonly url: string;
  readonly sha256: Sha256Hex;
  readonly scope: string | null;
}

/** A version as it is stored: a publication whose every part was checked. Bytes are named by digest, places are canonical. */
export interface SiteContent {
  readonly title: string;
  readonly description: string;
  readonly skills: readonly PublishedSkill[];
  readonly listings: readonly { readonly name: string; readonly skills: readonly PublishedSkill[] }[];
  readonly files: readonly PublishedFile[];
  readonly memories: readonly PublishedMemory[];
}

/** Where an artifact lies: in the site, as a canonical path, or elsewhere. */
export type Place =
  | { readonly kind: "hosted"; readonly path: string }
  | { readonly kind: "external"; readonly url: string };

export interface PublishedSkill {
  readonly name: string;
  readonly type: ArtifactType;
  readonly description: string;
  readonly place: Place;
  readonly visibility: Visibility;
  readonly sha256: Sha256Hex;
  readonly bytes: number;
  /** The `Content-Type` it is served with. */
  readonly mediaType: string;
  /** Of an archive of at most 512 files; null otherwise. */
  readonly members: readonly { readonly path: string; readonly sha256: Sha256Hex; readonly bytes: number }[] | null;
  /**
   * All of its `SKILL.md`'s own; null where there is none, or not one that names the skill and describes it. Versions of before it was kept have
   * no such member.
   */
  readonly frontmatter?: JsonObject | null;
  /** Under which an archive was accepted. */
  readonly limits: ArchiveLimitSettings;
  readonly version: string | null;
  readonly license: string | null;
  readonly scope: string | null;
  readonly tool: {
    readonly name: string;
    readonly path: string;
    readonly sha256: Sha256Hex;
    readonly bytes: number;
  } | null;
}

export interface PublishedFile {
  readonly path: string;
  readonly sha256: Sha256Hex;
  readonly bytes: number;
  readonly mediaType: string;
  readonly visibility: Visibility;
}

export interface PublishedMemory {
  readonly path: string;
  readonly sha256: Sha256Hex;
  readonly bytes: number;
  readonly scope: string | null;
}
