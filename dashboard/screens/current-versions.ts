import { DEFAULT_DISCOVERY_LIMITS } from "../../src/core/limits.ts";
import { type Query, readAll, useReading } from "../api/query.ts";
import type { SkillVersion } from "../api/types.ts";

/**
 * What the latest probe of an origin saw, of which activation would take all that is not rejected: no release has more skills.
 *
 * @param probedAt of the origin as it is on the screen: `isCurrent` then says that the list was asked for after that probe, which a list
 * without a version does not say by itself.
 */
export function useCurrentVersions(originId: string, probedAt: number | null = null): Query<readonly SkillVersion[]> {
  const path = `/origins/${originId}/skills?current=true`;
  const read = (signal: AbortSignal) => readAll<SkillVersion>(path, DEFAULT_DISCOVERY_LIMITS.skills, signal);
  return useReading(`${path} ${probedAt}`, read, true);
}
