import type { Env } from "../env.ts";
import { describeFailure } from "../log.ts";
import { countSeries } from "../metrics/metrics.ts";
import { noteRow } from "../registry/audit-witness.ts";
import { openRegistry } from "../registry/database.ts";
import { countMismatch } from "../registry/site-blobs.ts";

/** Bytes of a site were found to be others than published. */
export interface Mismatch {
  readonly siteId: string;
  readonly site: string;
  /** The entry's name, or the path of what belongs to none. */
  readonly skillName: string;
  readonly listing: string | null;
  /** `host[:port]` that the request came to. */
  readonly hostname: string;
  readonly expected: string;
  /** Bare hex; `absent` where there were no bytes. */
  readonly observed: string;
  readonly caller: "anonymous" | "authenticated";
  readonly requestId: string;
  /** False: the bytes are in quarantine already, of which the database knows. */
  readonly isNews: boolean;
}

const ACTOR = "gateway";

/**
 * Tells operators: one `agent_skill.digest_mismatch` line in the log and one count a request, and rows of the audit log until the bytes are in
 * quarantine. Never fails: the caller is refused the bytes in any case.
 *
 * @returns what is still to be written, for the background.
 */
export function reportMismatch(env: Env, mismatch: Mismatch, now: number): Promise<void> {
  const { skillName, site, siteId, expected, observed, listing, requestId } = mismatch;
  const detail = {
    skill_name: skillName,
    hostname: mismatch.hostname,
    expected_digest: expected,
    observed_digest: observed,
    caller: mismatch.caller,
    ...(listing === null ? {} : { listing_id: listing }),
    origin: site,
    tenant_id: siteId,
    request_id: requestId,
    ts: now,
  };
  console.error(JSON.stringify({ event: "agent_skill.digest_mismatch", ...detail }));
  countSeries("skillgate_agent_skill_digest_mismatch_total", { skill: skillName, site });
  countSeries("sbproxy_agent_skill_digest_mismatch_total", { skill: skillName });
  return mismatch.isNews ? count(env, mismatch, detail, now) : Promise.resolve();
}

async function count(
  env: Env,
  { siteId, expected, requestId }: Mismatch,
  detail: Parameters<typeof countMismatch>[4],
  now: number,
): Promise<void> {
  try {
    const acting = {
      actor: ACTOR,
      requestId,
      now,
      noteRow: ({ seq, hash }: { seq: number; hash: string }, before: { seq: number; hash: string } | null) =>
        noteRow(env, { seq, hash }, before),
    };
    await countMismatch(openRegistry(env.DB), acting, siteId, expected, detail);
  } catch (error) {
    console.error(JSON.stringify({ event: "agent_skill.mismatch_not_written", error: describeFailure(error) }));
  }
}
