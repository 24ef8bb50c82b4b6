import { sql } from "drizzle-orm";
import type { Verdict } from "../../core/attestation/verdict.ts";
import type { SkillId } from "../../core/skill.ts";
import type { Registry } from "../registry/database.ts";
import { verdicts } from "../registry/schema.ts";

/** Changes kept of one origin, the newest. */
export const MAX_CHANGES = 2_000;

export interface JudgedVersion extends SkillId {
  readonly toolSha256: string;
  readonly verdict: Verdict;
}

/** Writes down the verdicts that differ from the last ones written, for people; nothing that decides reads them. */
export async function noteVerdicts(
  registry: Registry,
  originId: string,
  judged: readonly JudgedVersion[],
  now: number,
): Promise<void> {
  const rows = JSON.stringify(
    judged.map(({ scope, name, toolSha256, verdict }) => [scope ?? "", name, toolSha256, verdict]),
  );
  const last = sql`SELECT verdict FROM verdicts AS noted
    WHERE origin_id = ${originId} AND scope = seen.value ->> 0 AND name = seen.value ->> 1
      AND tool_sha256 = seen.value ->> 2
    ORDER BY at DESC LIMIT 1`;
  await registry.batch([
    registry
      .insert(verdicts)
      .select(
        sql`SELECT ${originId}, seen.value ->> 0, seen.value ->> 1, seen.value ->> 2, seen.value ->> 3, ${now}
          FROM json_each(${rows}) AS seen WHERE seen.value ->> 3 IS NOT (${last})`,
      )
      .onConflictDoNothing(),
    registry.delete(verdicts).where(
      sql`rowid IN (
        SELECT rowid FROM verdicts WHERE origin_id = ${originId} ORDER BY at DESC, rowid DESC LIMIT -1 OFFSET ${MAX_CHANGES})`,
    ),
  ]);
}
