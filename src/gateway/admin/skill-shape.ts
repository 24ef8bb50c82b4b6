import { z } from "@hono/zod-openapi";
import { type SkillVersion, stateOf } from "../registry/skills.ts";
import { Moment } from "./shapes.ts";

export const SkillState = z.enum(["approved", "rejected", "waiting"]).openapi({
  description: "waiting: nobody has decided about this version.",
});

export const SkillVersionBody = z
  .object({
    scope: z.string().nullable(),
    name: z.string(),
    toolSha256: z.string(),
    state: SkillState,
    firstSeenAt: Moment,
    lastSeenAt: Moment,
    approvedAt: Moment.nullable(),
    approvedBy: z.string().nullable(),
    rejectedAt: Moment.nullable(),
    rejectedBy: z.string().nullable(),
    note: z.string().nullable().openapi({ description: "Written with the last approval or rejection." }),
    description: z.string().nullable(),
    version: z.string().nullable(),
    recipeSha256: z.string().nullable(),
    bytes: z.int().nullable().openapi({
      description:
        "Of source and recipe; null: they are not kept, so that the version cannot be read, approved or served from the store.",
    }),
    changedSinceApproval: z.boolean().openapi({
      description:
        "The latest probe saw this approved version with another description, definition or recipe, which its hash does not cover: held ones are served as approved until it is approved again.",
    }),
  })
  .openapi("SkillVersion");

export function showVersion(version: SkillVersion) {
  return { ...version, state: stateOf(version) };
}
