import type { JsonObject } from "./json.ts";

declare const publicName: unique symbol;

/** The name a client sees: `scope__name`, or `name` where the skill has no scope. */
export type PublicName = string & { readonly [publicName]: true };

/** A skill within its origin. The scope is `null` where the line declares none. */
export interface SkillId {
  readonly scope: string | null;
  readonly name: string;
}

/** The tool by which the runtime itself hands out recipes; no skill may have this public name. */
export const GUIDE_TOOL = "get_skill_guide" as PublicName;

/** Joins scope and name at the host boundary; hashes and attestations never see the result (Executable Skills v0.5 §2.5). */
export function toPublicName({ scope, name }: SkillId): PublicName {
  return (scope === null ? name : `${scope}__${name}`) as PublicName;
}

/** What `registerTool` was given, copied out of the sandbox once, at discovery, as plain JSON. */
export interface ToolDefinition {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly inputSchema: JsonObject;
  readonly outputSchema?: JsonObject;
  readonly annotations?: JsonObject;
}
