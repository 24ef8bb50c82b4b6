import { and, desc, eq, isNotNull, isNull, ne, or, type SQL, sql } from "drizzle-orm";
import type { Registry } from "./database.ts";
import { type Page, type PageRequest, toPage } from "./page.ts";
import { origins, skills } from "./schema.ts";
import { type SkillVersion, type stateOf, toVersion } from "./skills.ts";

/** A skill version, and whose it is. */
export interface QueuedVersion extends SkillVersion {
  readonly originId: string;
  readonly origin: string;
}

export interface QueueFilter {
  readonly state?: ReturnType<typeof stateOf> | undefined;
  /** Only what the latest probe of its origin saw. */
  readonly isCurrent?: boolean | undefined;
}

/** Position in the queue: first seen, origin, scope, name, hash. */
export type QueueKey = readonly [number, string, string, string, string];

/** Versions of all origins but revoked ones, first seen latest first. */
export async function listQueue(
  registry: Registry,
  { state, isCurrent }: QueueFilter,
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
        isCurrent === true ? eq(skills.lastSeenAt, origins.probedAt) : undefined,
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

/** What waits is also the new recipe or description of a version whose code is approved. */
function isOfState(state: QueueFilter["state"]): SQL | undefined {
  switch (state) {
    case undefined:
      return undefined;
    case "approved":
      return isNotNull(skills.approvedAt);
    case "rejected":
      return and(isNull(skills.approvedAt), isNotNull(skills.rejectedAt));
    case "waiting":
      return or(isNotNull(skills.changed), and(isNull(skills.approvedAt), isNull(skills.rejectedAt)));
  }
}
