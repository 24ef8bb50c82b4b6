import { DEFAULT_DISCOVERY_LIMITS } from "../../src/core/limits.ts";
import { type Query, useAll } from "../api/query.ts";
import type { SkillVersion } from "../api/types.ts";

/** What the latest probe of an origin saw, of which activation would take all that is not rejected: no release has more skills. */
export function useCurrentVersions(originId: string): Query<readonly SkillVersion[]> {
  return useAll<SkillVersion>(`/origins/${originId}/skills?current=true`, DEFAULT_DISCOVERY_LIMITS.skills);
}
