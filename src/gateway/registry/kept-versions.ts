import { type SQLWrapper, sql } from "drizzle-orm";
import { removeUnreferenced } from "./artifacts.ts";
import type { Registry } from "./database.ts";
import { origins, skills } from "./schema.ts";

/** Unapproved versions kept of one skill; the ones seen last stay. */
export const MAX_UNAPPROVED_VERSIONS = 20;
/** Rejections kept of one skill, the latest ones, whatever became of their bytes: a rejected version must not come back undecided. */
export const MAX_REJECTED_VERSIONS = 1_000;
/** Bytes kept of one origin's versions, each artifact counted once, definitions included. */
export const MAX_ORIGIN_BYTES = 64 * 1_048_576;

/** The hashes of all artifacts that an origin's versions name. */
export async function namedArtifacts(registry: Registry, originId: string): Promise<ReadonlySet<string>> {
  const rows = await registry
    .selectDistinct({ tool: skills.toolSha256, recipe: skills.recipeSha256, changed: skills.changedRecipeSha256 })
    .from(skills)
    .where(sql`${skills.originId} = ${originId} AND ${skills.bytes} IS NOT NULL`);
  return new Set(
    rows.flatMap(({ tool, recipe, changed }) => [tool, recipe, changed].filter((sha256) => sha256 !== null)),
  );
}

/** What an operator had decided about, and is kept no more. */
export interface Forgotten {
  /** Approved versions whose bytes went. */
  readonly approvedBytes: number;
  /** Rejections that went. */
  readonly rejections: number;
}

/**
 * Forgets what an origin has too much of, and the artifacts that nothing needs any more. First the unapproved versions of each skill past
 * the bound go; then, past the bound of bytes, whatever was seen longest ago: waiting versions wholly, of approved and rejected ones the
 * bytes. How an approved version was approved stays known. Of rejected versions past the first bound, too, only the bytes go, unless there
 * are more than a thousand of one skill.
 * Kept longest are the last approved version of each skill that the latest probe saw, then what that probe saw.
 *
 * @param before the origin's artifacts before the change, and those written for it: candidates for removal.
 */
export async function forgetSurplus(
  registry: Registry,
  originId: string,
  before: Iterable<string>,
): Promise<Forgotten> {
  const nothing = { bytes: null, definition: null, recipeSha256: null, changed: null, changedRecipeSha256: null };
  const unapproved = sql`SELECT rowid AS id, rejected_at, row_number() OVER (
      PARTITION BY scope, name ORDER BY last_seen_at DESC, first_seen_at DESC, tool_sha256
    ) AS position
    FROM skills WHERE origin_id = ${originId} AND approved_at IS NULL AND (rejected_at IS NULL OR bytes IS NOT NULL)`;
  const rejected = sql`SELECT rowid AS id, row_number() OVER (
      PARTITION BY scope, name ORDER BY rejected_at DESC, last_seen_at DESC, tool_sha256
    ) AS position
    FROM skills WHERE origin_id = ${originId} AND rejected_at IS NOT NULL`;
  const isSurplus = sql`position > ${MAX_UNAPPROVED_VERSIONS}`;
  const [, , removed] = await registry.batch([
    registry
      .update(skills)
      .set(nothing)
      .where(sql`rowid IN (SELECT id FROM (${unapproved}) WHERE ${isSurplus} AND rejected_at IS NOT NULL)`),
    // No rejection has bytes among the surplus any more, so that it takes no place from the versions that wait.
    registry
      .delete(skills)
      .where(sql`rowid IN (SELECT id FROM (${unapproved}) WHERE ${isSurplus} AND rejected_at IS NULL)`),
    registry
      .delete(skills)
      .where(sql`rowid IN (SELECT id FROM (${rejected}) WHERE position > ${MAX_REJECTED_VERSIONS})`),
  ]);
  const surplus = sql`SELECT id FROM (${byImportance(originId)}) WHERE bytes_so_far > ${MAX_ORIGIN_BYTES}`;
  const [found] = await registry.all<{ versions: number; approved: number }>(
    sql`SELECT count(*) AS versions, count(approved_at) AS approved FROM skills WHERE rowid IN (${surplus})`,
  );
  if (found !== undefined && found.versions > 0) {
    await registry.batch([
      registry
        .update(skills)
        .set({
          bytes: null,
          definition: unlessRejected(skills.definition),
          recipeSha256: unlessRejected(skills.recipeSha256),
        })
        .where(sql`rowid IN (${surplus})`),
      registry.delete(skills).where(
        sql`${skills.originId} = ${originId} AND ${skills.approvedAt} IS NULL AND ${skills.rejectedAt} IS NULL AND ${skills.bytes} IS NULL
          AND ${skills.lastSeenAt} <> (SELECT coalesce(probed_at, 0) FROM ${origins} WHERE id = ${originId})`,
      ),
    ]);
  }
  const after = await namedArtifacts(registry, originId);
  await removeUnreferenced(
    registry,
    [...before].filter((sha256) => !after.has(sha256)),
  );
  return { approvedBytes: found?.approved ?? 0, rejections: removed.meta.changes };
}

function unlessRejected(column: SQLWrapper) {
  return sql`CASE WHEN ${skills.rejectedAt} IS NULL THEN ${column} END`;
}

/** SQL: `id` and `bytes_so_far` of the origin's stored versions: what it and all more important ones take together. */
function byImportance(originId: string) {
  return sql`
    WITH probed AS (SELECT coalesce(probed_at, 0) AS at FROM origins WHERE id = ${originId}),
    versions AS (
      SELECT skills.rowid AS id, scope, name, tool_sha256, recipe_sha256, length(definition) AS definition_bytes, last_seen_at,
        approved_at IS NOT NULL AND approved_at = max(approved_at) OVER (PARTITION BY scope, name) AS is_last_approved,
        max(last_seen_at) OVER (PARTITION BY scope, name) = (SELECT at FROM probed) AS is_listed,
        last_seen_at = (SELECT at FROM probed) AS is_current
      FROM skills WHERE origin_id = ${originId} AND bytes IS NOT NULL
    ),
    ranked AS (
      SELECT *, row_number() OVER (
        ORDER BY is_last_approved AND is_listed DESC, is_current DESC, is_last_approved DESC, last_seen_at DESC, scope, name, tool_sha256
      ) AS rank FROM versions
    ),
    parts AS (
      SELECT tool_sha256 AS sha256, min(rank) AS rank FROM (
        SELECT tool_sha256, rank FROM ranked UNION ALL SELECT recipe_sha256, rank FROM ranked WHERE recipe_sha256 IS NOT NULL
      ) GROUP BY 1
    ),
    costs AS (
      SELECT parts.rank, sum(length(artifacts.bytes)) AS bytes
      FROM parts JOIN artifacts ON artifacts.sha256 = parts.sha256 GROUP BY parts.rank
    )
    SELECT ranked.id, sum(coalesce(costs.bytes, 0) + ranked.definition_bytes) OVER (ORDER BY ranked.rank) AS bytes_so_far
    FROM ranked LEFT JOIN costs ON costs.rank = ranked.rank`;
}
