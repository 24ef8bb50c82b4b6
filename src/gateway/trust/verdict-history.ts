import { sql } from "drizzle-orm";
import type { Verdict } from "../../core/attestation/verdict.ts";
import type { SkillId } from "../../core/skill.ts";
import { type Registry, rowsOf } from "../registry/database.ts";
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
  const rows = judged.map(({ scope, name, toolSha256, verdict }) => {
    return { originId, scope: scope ?? "", name, toolSha256, verdict, at: now };
  });
  const last = sql`SELECT verdict FROM verdicts AS noted
    WHERE origin_id = ${originId} AND scope = value ->> 'scope' AND name = value ->> 'name'
      AND tool_sha256 = value ->> 'toolSha256'
    ORDER BY at DESC LIMIT 1`;
  await registry.batch([
    registry
      .insert(verdicts)
      .select(sql`${rowsOf(verdicts, rows)} AND value ->> 'verdict' IS NOT (${last})`)
      .onConflictDoNothing(),
    registry.delete(verdicts).where(
      sql`rowid IN (
        SELECT rowid FROM verdicts WHERE origin_id = ${originId} ORDER BY at DESC, rowid DESC LIMIT -1 OFFSET ${MAX_CHANGES})`,
    ),
  ]);
}
