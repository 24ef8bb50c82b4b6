import { and, desc, eq, ne, sql } from "drizzle-orm";
import type { Registry } from "./database.ts";
import { holds, type Page, type PageRequest, toPage } from "./page.ts";
import { origins, skills } from "./schema.ts";
import { isOfState, type SkillFilter, type SkillVersion, toVersion } from "./skills.ts";

/** A skill version, and whose it is. */
export interface QueuedVersion extends SkillVersion {
  readonly originId: string;
  readonly origin: string;
}

/** Position in the queue: first seen, origin, scope, name, hash. */
export type QueueKey = readonly [number, string, string, string, string];

/** Versions of all origins but revoked ones, first seen latest first. */
export async function listQueue(
  registry: Registry,
  { state, isCurrent = false, q }: SkillFilter,
  { limit, after }: PageRequest<QueueKey>,
): Promise<Page<QueuedVersion>> {
  const order = [skills.firstSeenAt, skills.originId, skills.scope, skills.name, skills.toolSha256] as const;
  const [at, originId, scope, name, toolSha256] = after ?? [];
  const rows = await registry
    .select({ row: skills, origin: origins.origin })
    .from(skills)
    .innerJoin(origins, eq(origins.id, skills.originId))
    .where(
      and(
        ne(origins.status, "revoked"),
        isOfState(state),
        holds(skills.name, q),
        isCurrent ? eq(skills.lastSeenAt, origins.probedAt) : undefined,
        after === null
          ? undefined
          : sql`(${sql.join([...order], sql`, `)}) < (${at}, ${originId}, ${scope}, ${name}, ${toolSha256})`,
      ),
    )
    .orderBy(...order.map((column) => desc(column)))
    .limit(limit + 1);
  const page = toPage(
    rows,
    limit,
    ({ row }): QueueKey => [row.firstSeenAt, row.originId, row.scope, row.name, row.toolSha256],
  );
  const items = page.items.map(({ row, origin }) => ({ ...toVersion(row), originId: row.originId, origin }));
  return { items, nextCursor: page.nextCursor };
}
