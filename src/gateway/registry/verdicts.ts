import { and, desc, eq, sql } from "drizzle-orm";
import type { Verdict } from "../../core/attestation/verdict.ts";
import type { SkillId } from "../../core/skill.ts";
import type { Registry } from "./database.ts";
import { type Page, type PageRequest, toPage } from "./page.ts";
import { verdicts } from "./schema.ts";

/** A verdict that was not the one before. */
export interface VerdictChange extends SkillId {
  readonly toolSha256: string;
  readonly verdict: Verdict;
  /** Epoch milliseconds at which it was noticed. */
  readonly at: number;
}

/** Position in the list of an origin's changes. */
export type VerdictKey = readonly [at: number, scope: string, name: string, toolSha256: string];

/** How the verdicts of an origin's skills changed, newest first. */
export async function listVerdicts(
  registry: Registry,
  originId: string,
  { limit, after }: PageRequest<VerdictKey>,
): Promise<Page<VerdictChange>> {
  const rows = await registry
    .select()
    .from(verdicts)
    .where(
      and(
        eq(verdicts.originId, originId),
        after === null
          ? undefined
          : sql`(${verdicts.at}, ${verdicts.scope}, ${verdicts.name}, ${verdicts.toolSha256}) < (${after[0]}, ${after[1]}, ${after[2]}, ${after[3]})`,
      ),
    )
    .orderBy(desc(verdicts.at), desc(verdicts.scope), desc(verdicts.name), desc(verdicts.toolSha256))
    .limit(limit + 1);
  const page = toPage(rows, limit, (row): VerdictKey => [row.at, row.scope, row.name, row.toolSha256]);
  return { items: page.items.map(toChange), nextCursor: page.nextCursor };
}

function toChange({ scope, name, toolSha256, verdict, at }: typeof verdicts.$inferSelect): VerdictChange {
  return { scope: scope === "" ? null : scope, name, toolSha256, verdict, at };
}
