import { asc, eq, inArray, sql } from "drizzle-orm";
import { type Registry, type Statement, valuesOf } from "./database.ts";
import { artifacts, publishedMemories, skills } from "./schema.ts";

/** D1 caps a row, and a parameter, at 2 MB. */
export const PART_BYTES = 1_048_576;
/** Parameters of one batch together: D1 takes them as one message, in which a byte is written as a decimal number. */
const BATCH_BYTES = 4 * 1_048_576;

/**
 * Stores bytes under their hashes; what is there already is not sent again. Nothing refers to them yet: whoever writes a row that does
 * must look whether they still are there.
 *
 * @param wanted by the SHA-256 of the bytes.
 */
export async function writeArtifacts(registry: Registry, wanted: ReadonlyMap<string, Uint8Array>): Promise<void> {
  const present = await registry
    .select({ sha256: artifacts.sha256 })
    .from(artifacts)
    .where(sql`${artifacts.part} = 0 AND ${inArray(artifacts.sha256, valuesOf([...wanted.keys()]))}`);
  const known = new Set(present.map(({ sha256 }) => sha256));
  let batch: Statement[] = [];
  let bytes = 0;
  const send = async () => {
    const [first, ...rest] = batch;
    if (first !== undefined) await registry.batch([first, ...rest]);
    batch = [];
    bytes = 0;
  };
  for (const [sha256, content] of wanted) {
    if (known.has(sha256)) continue;
    if (bytes + content.length > BATCH_BYTES) await send();
    // All parts of one artifact go in one batch: it is there whole, or not at all.
    batch.push(...partStatements(registry, sha256, content));
    bytes += content.length;
  }
  await send();
}

/** The bytes with this hash, or `null`. */
export async function readArtifact(registry: Registry, sha256: string): Promise<Uint8Array | null> {
  return (await readArtifacts(registry, [sha256])).get(sha256) ?? null;
}

/** Those of these that are stored, by their hashes. The caller bounds how many it asks for. */
export async function readArtifacts(
  registry: Registry,
  wanted: readonly string[],
): Promise<ReadonlyMap<string, Uint8Array>> {
  const found = new Map<string, Uint8Array>();
  // One read an artifact: an answer of D1 is bounded too.
  for (const sha256 of new Set(wanted)) {
    const parts = await registry
      .select({ bytes: artifacts.bytes })
      .from(artifacts)
      .where(eq(artifacts.sha256, sha256))
      .orderBy(asc(artifacts.part));
    if (parts.length > 0) found.set(sha256, joined(parts.map(({ bytes }) => bytes)));
  }
  return found;
}

/** Removes those of these that no skill version and no publication needs. */
export async function removeUnreferenced(registry: Registry, candidates: Iterable<string>): Promise<void> {
  const hashes = [...candidates];
  if (hashes.length === 0) return;
  await registry.delete(artifacts).where(
    sql`${inArray(artifacts.sha256, valuesOf(hashes))}
      AND NOT EXISTS (SELECT 1 FROM ${skills} WHERE ${skills.toolSha256} = ${artifacts.sha256} AND ${skills.bytes} IS NOT NULL)
      AND NOT EXISTS (SELECT 1 FROM ${skills} WHERE ${skills.recipeSha256} = ${artifacts.sha256} AND ${skills.bytes} IS NOT NULL)
      AND NOT EXISTS (SELECT 1 FROM ${skills} WHERE ${skills.changedRecipeSha256} = ${artifacts.sha256})
      AND NOT EXISTS (SELECT 1 FROM ${publishedMemories} WHERE ${publishedMemories.sha256} = ${artifacts.sha256})`,
  );
}

/** SQL: the stored bytes of the artifact that a column names; null where it is not stored. */
export function storedBytes(sha256: ReturnType<typeof sql>) {
  return sql`(SELECT sum(length(${artifacts.bytes})) FROM ${artifacts} WHERE ${artifacts.sha256} = ${sha256})`;
}

function partStatements(registry: Registry, sha256: string, content: Uint8Array): Statement[] {
  const statements: Statement[] = [];
  // One part at least, so that an empty artifact is there too.
  for (let part = 0; part === 0 || part * PART_BYTES < content.length; part += 1) {
    const bytes = Buffer.from(content.slice(part * PART_BYTES, (part + 1) * PART_BYTES));
    statements.push(registry.insert(artifacts).values({ sha256, part, bytes }).onConflictDoNothing());
  }
  return statements;
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}
