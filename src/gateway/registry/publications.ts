import { eq, sql } from "drizzle-orm";
import { type Attestation, attestationEntry } from "../../core/attestation/attestation.ts";
import { readAttestations } from "../../core/attestation/read.ts";
import type { ReleaseMemory } from "../../core/discovery/release.ts";
import { type Sha256Hex, sha256Hex } from "../../core/integrity.ts";
import type { Json } from "../../core/json.ts";
import type { SkillId } from "../../core/skill.ts";
import { readArtifacts, removeUnreferenced, storedBytes, writeArtifacts } from "./artifacts.ts";
import type { Registry } from "./database.ts";
import { publications, publishedMemories } from "./schema.ts";

/** What an origin published besides code. Bounded as a release is: 256 skills, 512 KiB of attestations, 8 memories of 8 MiB in all. */
export interface Publication {
  /** The skills that `llms.txt` listed, in its order. */
  readonly listed: readonly SkillId[];
  readonly attestations: readonly Attestation[];
  readonly memories: readonly ReleaseMemory[];
}

/** The lines and attestations that an origin last published, as they are kept: JSON. */
export interface ListedRow {
  readonly listed: string;
  readonly attestations: string;
}

export function listedRow({ listed, attestations }: Omit<Publication, "memories">): ListedRow {
  return {
    listed: JSON.stringify(listed.map(({ scope, name }) => [scope ?? "", name])),
    attestations: JSON.stringify(attestations.map(attestationEntry)),
  };
}

export async function readListed(registry: Registry, originId: string): Promise<ListedRow | null> {
  const [row] = await registry.select().from(publications).where(eq(publications.originId, originId));
  return row ?? null;
}

/** Replaces what is kept of the lines and attestations that the origin last published. */
export async function keepListed(registry: Registry, originId: string, row: ListedRow): Promise<void> {
  const { listed, attestations } = row;
  await registry
    .insert(publications)
    .values({ originId, listed, attestations })
    .onConflictDoUpdate({ target: publications.originId, set: { listed, attestations } });
}

/** A memory that is kept, without its bytes. */
export interface KeptMemory extends Omit<ReleaseMemory, "bytes"> {
  /** Bytes; 0 where they are not kept any more. */
  readonly size: number;
}

export async function keptMemories(registry: Registry, originId: string): Promise<readonly KeptMemory[]> {
  const { scope, format, sha256 } = publishedMemories;
  const rows = await registry
    .select({ scope, format, sha256, size: sql<number | null>`${storedBytes(sql`${sha256}`)}` })
    .from(publishedMemories)
    .where(eq(publishedMemories.originId, originId));
  return rows.map(({ scope, format, sha256, size }) => ({
    scope: scope === "" ? null : scope,
    format,
    sha256: sha256 as Sha256Hex,
    size: size ?? 0,
  }));
}

/**
 * Replaces what is kept of its memories; bytes that nothing needs any more are removed.
 *
 * @param bytes of all of `next` that is not kept already, by hash.
 */
export async function keepMemories(
  registry: Registry,
  originId: string,
  {
    before,
    next,
    bytes,
  }: {
    readonly before: readonly KeptMemory[];
    readonly next: readonly KeptMemory[];
    readonly bytes: ReadonlyMap<Sha256Hex, Uint8Array>;
  },
): Promise<void> {
  const isOfOrigin = eq(publishedMemories.originId, originId);
  const wanted = new Map(next.flatMap(({ sha256 }) => entryOf(bytes, sha256)));
  await writeArtifacts(registry, wanted);
  const kept = next.map(({ scope, format, sha256 }) => ({ originId, scope: scope ?? "", format, sha256 }));
  await registry.batch([
    registry.delete(publishedMemories).where(isOfOrigin),
    ...(kept.length === 0 ? [] : [registry.insert(publishedMemories).values(kept)]),
  ]);
  // While nothing referred to them another origin may have given them up.
  await writeArtifacts(registry, wanted);
  await removeUnreferenced(
    registry,
    before.map(({ sha256 }) => sha256),
  );
}

/** Removes all that is kept of an origin, and bytes that nothing else needs. */
export async function removePublication(registry: Registry, originId: string): Promise<void> {
  const memories = await keptMemories(registry, originId);
  await registry.batch([
    registry.delete(publications).where(eq(publications.originId, originId)),
    registry.delete(publishedMemories).where(eq(publishedMemories.originId, originId)),
  ]);
  await removeUnreferenced(
    registry,
    memories.map(({ sha256 }) => sha256),
  );
}

/** The attestations that were kept last, as far as today's rules admit them. */
export async function publishedAttestations(registry: Registry, originId: string): Promise<readonly Attestation[]> {
  const row = await readListed(registry, originId);
  return row === null ? [] : readKept(row);
}

async function readKept({ attestations }: ListedRow): Promise<readonly Attestation[]> {
  return (await readAttestations(JSON.parse(attestations) as Json[])).attestations;
}

function entryOf<Key, Value>(map: ReadonlyMap<Key, Value>, key: Key): [Key, Value][] {
  const value = map.get(key);
  return value === undefined ? [] : [[key, value]];
}

/**
 * What was kept last, or `null`. A memory whose bytes are not kept, or are not those of its hash, is left out, and so is an attestation
 * that today's rules refuse.
 */
export async function readPublication(registry: Registry, originId: string): Promise<Publication | null> {
  const [[row], memories] = await registry.batch([
    registry.select().from(publications).where(eq(publications.originId, originId)),
    registry.select().from(publishedMemories).where(eq(publishedMemories.originId, originId)),
  ]);
  if (row === undefined) return null;
  const attestations = await readKept(row);
  const stored = await readArtifacts(
    registry,
    memories.map(({ sha256 }) => sha256),
  );
  const intact = memories.map(async ({ scope, format, sha256 }): Promise<ReleaseMemory[]> => {
    const bytes = stored.get(sha256);
    if (bytes === undefined || (await sha256Hex(bytes)) !== sha256) return [];
    return [{ scope: scope === "" ? null : scope, format, sha256: sha256 as Sha256Hex, bytes }];
  });
  return {
    listed: (JSON.parse(row.listed) as [string, string][]).map(([scope, name]) => ({
      scope: scope === "" ? null : scope,
      name,
    })),
    attestations,
    memories: (await Promise.all(intact)).flat(),
  };
}
