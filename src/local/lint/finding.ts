import type { DiscoveryError } from "../../core/discovery/discovery-error.ts";
import type { Rejection } from "../../core/discovery/release.ts";
import type { SkillId } from "../../core/skill.ts";

/** A failure is what a gateway leaves out or refuses; a warning is what the standards advise and it tolerates. */
export type Level = "failure" | "warning";

/** One thing that is wrong with a publisher. Plain JSON. */
export interface Finding extends SkillId {
  readonly level: Level;
  readonly subject: "origin" | "skill" | "recipe" | "memory" | "index" | "attestations" | "attestation";
  /** What a gateway would code it as, or one of lint's own. */
  readonly code: string;
  /** One English sentence. */
  readonly message: string;
}

/**
 * Of a recipe: it is left out and its tool is served all the same. Of a memory: other runtimes may know the format. Of an index: it is
 * meant for other readers, and changes nothing here.
 */
const TOLERATED: ReadonlySet<string> = new Set([
  "recipe no_declared_hash",
  "recipe outside_origin",
  "memory unsupported_format",
  "index unknown_schema",
  "index missing_schema",
  "index legacy_index",
  "index interim_index",
  "index unknown_type",
]);

export function findingOf({ subject, scope, name, code, message }: Rejection): Finding {
  const level = TOLERATED.has(`${subject} ${code}`) ? "warning" : "failure";
  return { level, subject, scope, name, code, message };
}

/** An origin that gives no release: why, and the lines that kept it from having one. */
export function findingsOfFailure({ reason, message, rejected }: DiscoveryError): Finding[] {
  const code = reason === "no_executable_lines" ? "no_skills" : reason;
  return [{ level: "failure", subject: "origin", scope: null, name: "", code, message }, ...rejected.map(findingOf)];
}
