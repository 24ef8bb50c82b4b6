import { z } from "zod";
import { wordIssue } from "../../core/schema-issue.ts";
import { CommandError } from "../command-error.ts";
import type { SiteFiles } from "../serve/site-files.ts";

/** What a folder says of its publication beside `llms.txt`. It is never published itself. */
export const SETTINGS_FILE = "skillgate-site.json";

const LIMITS = z.record(z.string(), z.number());
const SKILL = z.strictObject({
  /** `authenticated`: only callers whom the gateway takes for authenticated are shown it. */
  visibility: z.enum(["public", "authenticated"]).optional(),
  /** Publish the folder of its `SKILL.md` as an archive, in place of that file alone; an archive is written anew in its canonical form. */
  pack: z.boolean().optional(),
  limits: LIMITS.optional(),
});
const LISTED = z.strictObject({
  name: z.string(),
  description: z.string(),
  /** From the folder's root; a `SKILL.md` or an archive. */
  file: z.string(),
  visibility: z.enum(["public", "authenticated"]).optional(),
  limits: LIMITS.optional(),
});
const SETTINGS = z.strictObject({
  /** By the name in `llms.txt`. */
  skills: z.record(z.string(), SKILL).default({}),
  listings: z.array(z.strictObject({ name: z.string(), skills: z.array(LISTED) })).default([]),
});

export type PublicationSettings = z.infer<typeof SETTINGS>;

/** @throws {CommandError} `bad_file`. */
export async function readSettings(site: SiteFiles): Promise<PublicationSettings> {
  const reading = await site.read([SETTINGS_FILE]);
  if (!reading.ok && reading.code === "absent") return SETTINGS.parse({});
  if (!reading.ok) throw new CommandError("bad_file", reading.message);
  let given: unknown;
  try {
    given = JSON.parse(new TextDecoder().decode(reading.bytes));
  } catch {
    throw new CommandError("bad_file", `The file ${SETTINGS_FILE} is not valid JSON.`);
  }
  const settings = SETTINGS.safeParse(given);
  if (settings.success) return settings.data;
  const sentences = settings.error.issues
    .map(wordIssue)
    .map(({ field, message }) => `${field || "the file"} ${message}`);
  throw new CommandError("bad_file", `In ${SETTINGS_FILE}, ${sentences.join("; ")}.`);
}
