import { eq } from "drizzle-orm";
import { type Attestation, attestationEntry } from "../../core/attestation/attestation.ts";
import { readAttestations } from "../../core/attestation/read.ts";
import type { ReleaseMemory } from "../../core/discovery/release.ts";
import { type Sha256Hex, sha256Hex } from "../../core/integrity.ts";
import type { Json } from "../../core/json.ts";
import type { SkillId } from "../../core/skill.ts";
import { readArtifacts, removeUnreferenced, writeArtifacts } from "./artifacts.ts";
import type { Registry } from "./database.ts";
import { publications, publishedMemories } from "./schema.ts";

/** What an origin published besides code. Bounded as a release is: 256 skills, 256 KiB of attestations, 8 memories of 8 MiB in all. */
export interface Publication {
  /** The skills that `llms.txt` listed, in its order. */
  readonly listed: readonly SkillId[];
  readonly attestations: readonly Attestation[];
  readonly memories: readonly ReleaseMemory[];
}

/** Replaces what is kept of the lines and attestations that the origin last published. */
export async function keepListed(
  registry: Registry,
  originId: string,
  { listed, attestations }: Omit<Publication, "memories">,
): Promise<void> {
  const row = {
    listed: JSON.stringify(listed.map(({ scope, name }) => [scope ?? "", name])),
    attestations: JSON.stringify(attestations.map(attestationEntry)),
  };
  await registry
    .insert(publications)
    .values({ originId, ...row })
    .onConflictDoUpdate({ target: publications.originId, set: row });
}

/** Replaces what is kept of its memories; bytes that nothing needs any more are removed. */
export async function keepMemories(
  registry: Registry,
  originId: string,
  memories: Publication["memories"],
): Promise<void> {
  const isOfOrigin = eq(publishedMemories.originId, originId);
  const before = await registry.select({ sha256: publishedMemories.sha256 }).from(publishedMemories).where(isOfOrigin);
  await writeArtifacts(registry, new Map(memories.map(({ sha256, bytes }) => [sha256, bytes])));
  const kept = memories.map(({ scope, format, sha256 }) => ({ originId, scope: scope ?? "", format, sha256 }));
  await registry.batch([
    registry.delete(publishedMemories).where(isOfOrigin),
    ...(kept.length === 0 ? [] : [registry.insert(publishedMemories).values(kept)]),
  ]);
  await removeUnreferenced(
    registry,
    before.map(({ sha256 }) => sha256),
  );
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
  const { attestations } = await readAttestations(JSON.parse(row.attestations) as Json[]);
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
