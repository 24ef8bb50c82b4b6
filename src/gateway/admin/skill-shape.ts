import { z } from "@hono/zod-openapi";
import { type SkillVersion, stateOf } from "../registry/skills.ts";
import { PageQuery } from "./paging.ts";
import { Moment, queryText, queryWord } from "./shapes.ts";

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

/** Which of the versions seen are asked for. */
export const SkillFilterQuery = PageQuery.extend({
  state: queryWord(
    "state",
    ["approved", "rejected", "waiting"],
    "waiting: also approved versions that are `changedSinceApproval`.",
  ),
  current: queryWord("current", ["true"], "Only what the latest probe of its origin saw."),
  q: queryText(
    "q",
    200,
    "Only those whose name holds this text, in any case. No index knows that: the list, as the other filters leave it, is read until a page is full.",
  ),
});

export function showVersion(version: SkillVersion) {
  return { ...version, state: stateOf(version) };
}
