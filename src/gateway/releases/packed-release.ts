import type { Recipe, Release, ReleaseAgentSkill, ReleaseMemory, ReleaseSkill } from "../../core/discovery/release.ts";
import { type Sha256Hex, sha256Hex } from "../../core/integrity.ts";

/** Names a release and says how old it is. */
export interface ReleaseHead {
  /** SHA-256 of the manifest: releases that differ in nothing but `fetchedAt` share a version. */
  readonly version: Sha256Hex;
  /** Epoch milliseconds. */
  readonly fetchedAt: number;
  /** `policy_version` of the decisions that chose what is held; 0: nobody decided, or the database did not say. */
  readonly policyVersion: number;
}

/**
 * A release as it is stored and sent between isolates: its facts as JSON, and the bytes of each artifact once, however many skills share
 * it. Sharing matters: one tool declared in 256 scopes is one file to its publisher, and must not become 256 copies here.
 */
export interface PackedRelease extends ReleaseHead {
  /** Everything but the artifacts and the time; UTF-8 JSON. */
  readonly manifest: Uint8Array;
  /** By the SHA-256 of the bytes. */
  readonly artifacts: ReadonlyMap<Sha256Hex, Uint8Array>;
}

type PackedSkill = Omit<ReleaseSkill, "source" | "recipe"> & { readonly recipe: Omit<Recipe, "text"> | null };
type PackedAgentSkill = Omit<ReleaseAgentSkill, "files"> & {
  readonly files: readonly Omit<ReleaseAgentSkill["files"][number], "bytes">[];
};
type Manifest = Omit<Release, "fetchedAt" | "skills" | "held" | "memories" | "agentSkills"> & {
  readonly agentSkills?: readonly PackedAgentSkill[];
  readonly skills: readonly PackedSkill[];
  readonly held: readonly PackedSkill[];
  readonly memories: readonly Omit<ReleaseMemory, "bytes">[];
};

/** A message between isolates is capped by the platform at 32 MiB. */
export const MAX_PACKED_BYTES = 28 * 1_048_576;

/** A release that cannot be sent from its hub to the isolates that serve it. */
export class ReleaseTooLarge extends Error {
  override readonly name = "ReleaseTooLarge";
}

/**
 * Held versions that would not fit are left out: what is not confirmed is then not served in their place where only approved code is.
 *
 * @param policyVersion as in {@link ReleaseHead}.
 * @throws {ReleaseTooLarge} before the text is made that would not fit.
 */
export async function packRelease(release: Release, policyVersion = 0): Promise<PackedRelease> {
  const held = sendableHeld(release);
  const { fetchedAt, skills, held: _, memories, agentSkills, ...facts } = release;
  const artifacts = new Map<Sha256Hex, Uint8Array>();
  const keep = (sha256: Sha256Hex, bytes: () => Uint8Array) => {
    if (!artifacts.has(sha256)) artifacts.set(sha256, bytes());
  };
  const packSkill = ({ source, recipe, ...skill }: ReleaseSkill): PackedSkill => {
    keep(skill.toolSha256, () => unshared(source));
    if (recipe !== null) keep(recipe.sha256, () => new TextEncoder().encode(recipe.text));
    return { ...skill, recipe: recipe === null ? null : { sha256: recipe.sha256, verified: recipe.verified } };
  };
  const packAgentSkill = ({ files, ...skill }: ReleaseAgentSkill): PackedAgentSkill => ({
    ...skill,
    files: files.map(({ bytes, ...file }) => {
      keep(file.sha256, () => unshared(bytes));
      return file;
    }),
  });
  const manifest: Manifest = {
    ...facts,
    ...(agentSkills === undefined ? {} : { agentSkills: agentSkills.map(packAgentSkill) }),
    skills: skills.map(packSkill),
    held: held.map(packSkill),
    memories: memories.map(({ bytes, ...memory }) => {
      keep(memory.sha256, () => unshared(bytes));
      return memory;
    }),
  };
  const text = new TextEncoder().encode(JSON.stringify(manifest));
  return { version: await sha256Hex(text), fetchedAt, policyVersion, manifest: text, artifacts };
}

/**
 * The release; skills with the same artifact share its bytes.
 *
 * @throws {Error} where an artifact is missing: whoever stored or sent the release lost it.
 */
export function unpackRelease({ fetchedAt, manifest, artifacts }: PackedRelease): Release {
  const { skills, held, memories, agentSkills, ...facts } = JSON.parse(new TextDecoder().decode(manifest)) as Manifest;
  const texts = new Map<Sha256Hex, string>();
  const bytesOf = (sha256: Sha256Hex): Uint8Array => {
    const bytes = artifacts.get(sha256);
    if (bytes === undefined) throw new Error(`The artifact ${sha256} is missing.`);
    return bytes;
  };
  const textOf = (sha256: Sha256Hex): string => {
    const text =
      texts.get(sha256) ?? new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytesOf(sha256));
    texts.set(sha256, text);
    return text;
  };
  const unpackSkill = ({ recipe, ...skill }: PackedSkill): ReleaseSkill => ({
    ...skill,
    source: bytesOf(skill.toolSha256),
    recipe: recipe === null ? null : { ...recipe, text: textOf(recipe.sha256) },
  });
  const unpackAgentSkill = ({ files, ...skill }: PackedAgentSkill): ReleaseAgentSkill => ({
    ...skill,
    files: files.map((file) => ({ ...file, bytes: bytesOf(file.sha256) })),
  });
  return {
    ...facts,
    ...(agentSkills === undefined ? {} : { agentSkills: agentSkills.map(unpackAgentSkill) }),
    fetchedAt,
    skills: skills.map(unpackSkill),
    held: held.map(unpackSkill),
    memories: memories.map((memory) => ({ ...memory, bytes: bytesOf(memory.sha256) })),
  };
}

/** The bytes that a packed release occupies; those of the unpacked one, about. */
export function packedBytes({ manifest, artifacts }: PackedRelease): number {
  let sum = manifest.length;
  for (const bytes of artifacts.values()) sum += bytes.length;
  return sum;
}

/**
 * Which held versions can be sent beside everything else. Counts what an origin can make large without publishing large files: a script
 * may compute a long definition, in each of its scopes.
 *
 * @throws {ReleaseTooLarge} where the rest alone cannot be sent.
 */
function sendableHeld({ skills, held, memories, agentSkills = [] }: Release): readonly ReleaseSkill[] {
  const counted = new Set<Sha256Hex>();
  let sum = 0;
  const count = (sha256: Sha256Hex, bytes: number) => {
    if (!counted.has(sha256)) sum += bytes;
    counted.add(sha256);
  };
  const countSkill = ({ toolSha256, source, recipe, definition }: ReleaseSkill) => {
    count(toolSha256, source.length);
    if (recipe !== null) count(recipe.sha256, recipe.text.length);
    sum += JSON.stringify(definition).length;
  };
  for (const { files } of agentSkills) for (const { sha256, bytes } of files) count(sha256, bytes.length);
  for (const { sha256, bytes } of memories) count(sha256, bytes.length);
  for (const skill of skills) countSkill(skill);
  if (sum > MAX_PACKED_BYTES) {
    throw new ReleaseTooLarge(`The origin's skills take more than ${MAX_PACKED_BYTES} bytes with their definitions.`);
  }
  const sent = held.findIndex((skill) => {
    countSkill(skill);
    return sum > MAX_PACKED_BYTES;
  });
  return sent === -1 ? held : held.slice(0, sent);
}

/** A view is stored and sent with the whole of its buffer, which may be larger. */
function unshared(bytes: Uint8Array): Uint8Array {
  return bytes.byteLength === bytes.buffer.byteLength ? bytes : bytes.slice();
}
