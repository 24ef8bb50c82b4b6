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

/** A text that differs where publications do. */
export function publicationText({ listed, attestations, memories }: Publication): string {
  return JSON.stringify([
    listedText(listed),
    attestations.map(({ id }) => id),
    memories.map(({ bytes: _, ...row }) => row),
  ]);
}

/** Replaces what is kept of the origin's last publication; bytes that nothing needs any more are removed. */
export async function keepPublication(
  registry: Registry,
  originId: string,
  { listed, attestations, memories }: Publication,
): Promise<void> {
  const before = await registry
    .select({ sha256: publishedMemories.sha256 })
    .from(publishedMemories)
    .where(eq(publishedMemories.originId, originId));
  await writeArtifacts(registry, new Map(memories.map(({ sha256, bytes }) => [sha256, bytes])));
  const row = {
    listed: listedText(listed),
    attestations: JSON.stringify(attestations.map(attestationEntry)),
  };
  const kept = memories.map(({ scope, format, sha256 }) => ({ originId, scope: scope ?? "", format, sha256 }));
  await registry.batch([
    registry
      .insert(publications)
      .values({ originId, ...row })
      .onConflictDoUpdate({ target: publications.originId, set: row }),
    registry.delete(publishedMemories).where(eq(publishedMemories.originId, originId)),
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

function listedText(listed: readonly SkillId[]): string {
  return JSON.stringify(listed.map(({ scope, name }) => [scope ?? "", name]));
}
