import type { CanonicalOrigin } from "../origin.ts";
import { toPublicName } from "../skill.ts";
import type { OriginStatus } from "./origin-status.ts";
import { SEPARATOR } from "./tool-prefixes.ts";

/** Why a tool is not served. */
export interface MissingTool {
  readonly origin: CanonicalOrigin;
  /** `discovering`: its origin has not been looked at to the end yet. */
  readonly code: string;
  /** One English sentence; names and errors in it are the publisher's. */
  readonly message: string;
}

/**
 * What is known of a tool that is not listed: its publisher lists it and it was refused, or its origin could not be discovered.
 *
 * @param prefixes of the origins' tools; empty where there is one origin.
 * @param name as a client has it, prefix included.
 * @returns `null` where nothing is known of it.
 */
export function findMissing(
  statuses: readonly OriginStatus[],
  prefixes: ReadonlyMap<CanonicalOrigin, string>,
  name: string,
): MissingTool | null {
  for (const status of statuses) {
    const prefix = prefixes.get(status.origin);
    const own = prefix === undefined ? name : nameBehind(`${prefix}${SEPARATOR}`, name);
    const missing = own === null ? null : missingOf(status, own);
    if (missing !== null) return { origin: status.origin, ...missing };
  }
  return null;
}

function nameBehind(start: string, name: string): string | null {
  return name.startsWith(start) ? name.slice(start.length) : null;
}

function missingOf(status: OriginStatus, name: string): Omit<MissingTool, "origin"> | null {
  if (status.state === "discovering") {
    return { code: "discovering", message: `The origin ${status.origin} has not been looked at to the end yet.` };
  }
  if (status.state === "failed") return status.failure;
  const { release, refused } = status;
  const rejected = release.rejected.filter(({ subject }) => subject === "skill");
  return [...rejected, ...refused].find((skill) => toPublicName(skill) === name) ?? null;
}
