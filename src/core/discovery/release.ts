import type { Attestation } from "../attestation/attestation.ts";
import type { SignatureFact } from "../attestation/facts.ts";
import type { MalformedCode } from "../attestation/read.ts";
import type { Sha256Hex } from "../integrity.ts";
import type { JsonObject } from "../json.ts";
import type { CanonicalOrigin } from "../origin.ts";
import type { PublicName, SkillId, ToolDefinition } from "../skill.ts";

/**
 * The immutable result of one discovery of one origin. Facts only, no policy: whether anything in it may be listed
 * or called is decided by `admit`. Plain data, safe for structured clone.
 */
export interface Release {
  readonly origin: CanonicalOrigin;
  /** Epoch milliseconds at which the hub last confirmed this release with the origin. */
  readonly fetchedAt: number;
  /** In document order. */
  readonly skills: readonly ReleaseSkill[];
  readonly memories: readonly ReleaseMemory[];
  /** Of its index, where these are read at all: in the order of the index. */
  readonly agentSkills?: readonly ReleaseAgentSkill[];
  /** Skill lines without an artifact: links for people, never run. At most 1,000. */
  readonly prose: readonly ProseSkill[];
  /**
   * From the gateway's own store, with the scope and name of a skill that is listed: where its current code is not approved, the version
   * approved last; where it is, that code with the recipe, description and definition it was approved with, if these are others now.
   */
  readonly held: readonly ReleaseSkill[];
  /**
   * Which of `skills` have been compared with the gateway's own store and are as they were approved: code, recipe, description and definition.
   * Of any other nothing is known, whatever hashes are approved.
   */
  readonly confirmed: readonly PublicName[];
  /** The well-formed entries of the publisher's `attestations.json`, each once. */
  readonly attestations: readonly Attestation[];
  /** What is known of their signatures, by `factKey`. */
  readonly facts: readonly (readonly [factKey: string, fact: SignatureFact])[];
  readonly index: IndexReport;
  /**
   * What was left out, and why: of lines that could not be read at most 1,000, of everything else too; where there are
   * more, a `too_many_rejections` says how many.
   */
  readonly rejected: readonly Rejection[];
}

export interface ReleaseSkill extends SkillId {
  readonly publicName: PublicName;
  /** The description of the `llms.txt` line. */
  readonly description: string;
  readonly version: string | null;
  readonly toolSha256: Sha256Hex;
  /** The exact bytes whose SHA-256 is `toolSha256`. */
  readonly source: Uint8Array;
  readonly definition: ToolDefinition;
  readonly recipe: Recipe | null;
}

/** A skill without a tool of the gateway's, as Agent Skills Discovery names it. */
export interface ReleaseAgentSkill {
  readonly name: string;
  readonly description: string;
  /** As in `SkillFolder`. */
  readonly frontmatter: JsonObject | null;
  /** Whether the index declares a digest of these bytes. */
  readonly verified: boolean;
  /** With a `SKILL.md`. */
  readonly files: readonly { readonly path: string; readonly sha256: Sha256Hex; readonly bytes: Uint8Array }[];
}

/** The `SKILL.md` of a skill. */
export interface Recipe {
  /** Of its exact bytes. */
  readonly sha256: Sha256Hex;
  readonly text: string;
  /** Whether `llms.txt` or `index.json` declares this hash. One that nobody declares may have been altered on its way. */
  readonly verified: boolean;
}

/** What becomes of recipes whose hash nobody declares. */
export type UnverifiedRecipes = "withhold" | "offer";

/** What became of the publisher's `/.well-known/agent-skills/index.json`; all that was odd about it is in `rejected` too. */
export interface IndexReport {
  /** `read`: nothing was odd about it. `absent`: the publisher has none, which is as well. */
  readonly code: "read" | "absent" | RejectionCode;
  /** One English sentence. */
  readonly message: string;
  /** Entries that were compared with `llms.txt`. */
  readonly entries: number;
}

/** A verified memory snapshot of one scope (`null`: the unscoped skills). */
export interface ReleaseMemory {
  readonly scope: string | null;
  readonly format: "minimemory-okf-v1";
  readonly sha256: Sha256Hex;
  readonly bytes: Uint8Array;
}

export interface ProseSkill {
  readonly name: string;
  readonly description: string;
  readonly reason: string;
}

export type RejectionSubject = "skill" | "recipe" | "memory" | "index" | "attestations";

export type RejectionCode =
  // the line
  | "bad_metadata"
  | "bad_scope"
  | "bad_name"
  | "bad_url"
  | "outside_origin"
  | "bad_hash"
  | "name_collision"
  | "reserved_name"
  | "too_many_skills"
  | "too_many_rejections"
  | "index_mismatch"
  // the bytes
  | "fetch_failed"
  | "timeout"
  | "http_status"
  | "redirect_outside_origin"
  | "too_many_redirects"
  | "too_large"
  | "length_mismatch"
  | "hash_mismatch"
  | "release_too_large"
  // the script
  | "bad_encoding"
  | "load_failed"
  | "gas_exhausted"
  | "out_of_memory"
  | "image_too_large"
  | "no_registration"
  | "several_registrations"
  | "name_mismatch"
  | "bad_definition"
  | "bad_schema"
  | "deferred"
  // the operator
  | "revoked_hash"
  // the recipe, the memory, the well-known files
  | "no_declared_hash"
  | "unsupported_format"
  | "too_many_memories"
  | "bad_json"
  | "bad_shape"
  | "unknown_schema"
  | "missing_schema"
  | "legacy_index"
  | "interim_index"
  | "unknown_type"
  // an entry of attestations.json
  | MalformedCode;

export interface Rejection extends SkillId {
  readonly subject: RejectionSubject;
  readonly code: RejectionCode;
  /** One English sentence that names the field and the limit. */
  readonly message: string;
  /** Where it failed in a fetch. */
  readonly fetch?: FailedFetch;
  /** Of an `index_mismatch`. */
  readonly contradiction?: Contradiction;
}

/** What `index.json` says of a skill of which `llms.txt` says something else. */
export interface Contradiction {
  /** The hash that `llms.txt` declares of the tool, or of the recipe where that is refused; empty where it declares none. */
  readonly declared: string;
  /**
   * The hashes of tools that `index.json` declares and `llms.txt` does not: at most two, since no version has both. Empty text stands for
   * what is no hash.
   */
  readonly tool: readonly string[];
  /** The same of recipes. */
  readonly recipe: readonly string[];
  /** Whether the discovery before found the very same: then it is no deploy under way. */
  readonly isLasting: boolean;
}

/** A fetch of a publisher's file that did not give what was wanted. */
export interface FailedFetch {
  /** As it was asked for; at most 2,048 characters of it. */
  readonly url: string;
  /** HTTP status of the last answer; `null`: there was none. */
  readonly status: number | null;
}
