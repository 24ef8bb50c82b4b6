import { type OpenAPIHono, z } from "@hono/zod-openapi";
import { hiddenCharacters, MAX_HIDDEN_KINDS } from "../../core/hidden-characters.ts";
import { decodeExactly, IntegrityError, sha256Hex } from "../../core/integrity.ts";
import type { SkillId, ToolDefinition } from "../../core/skill.ts";
import { readArtifact } from "../registry/artifacts.ts";
import type { Registry } from "../registry/database.ts";
import { RegistryError } from "../registry/errors.ts";
import { getOrigin } from "../registry/origins.ts";
import { approveVersions, lastApproved, rejectVersions } from "../registry/reviews.ts";
import type { skills } from "../registry/schema.ts";
import { findVersion, listSkills, type SkillKey, toVersion } from "../registry/skills.ts";
import { type AdminEnv, actingNow } from "./environment.ts";
import { one } from "./frame.ts";
import { pageBody, pageOf, pageRequest } from "./paging.ts";
import { adminRoute } from "./roles.ts";
import { body, Hash, json, Note, ofOrigin, problems, row } from "./shapes.ts";
import { keepShippedAttestations } from "./shipped-attestations.ts";
import { SkillFilterQuery, SkillVersionBody, showVersion } from "./skill-shape.ts";
import { diffSources, MAX_CHANGED_LINES, MAX_COMPARED_LINES, MAX_LINE_CHARS, MAX_SHOWN_LINES } from "./source-diff.ts";
import { tellHub } from "./tell-hub.ts";

const MAX_REVIEWED = 256;
const MAX_SKILL_NAME_CHARS = 256;

const SkillName = z
  .string({ error: "must be a string" })
  .max(MAX_SKILL_NAME_CHARS, { error: `must have at most ${MAX_SKILL_NAME_CHARS} characters` });

const ReviewedSkills = z
  .array(z.strictObject({ scope: SkillName.nullable(), name: SkillName, toolSha256: Hash }), {
    error: "must be a list of versions",
  })
  .min(1, { error: "must name a version" })
  .max(MAX_REVIEWED, { error: `must have at most ${MAX_REVIEWED} versions` })
  .refine((skills) => new Set(skills.map(({ scope, name }) => JSON.stringify([scope, name]))).size === skills.length, {
    error: "must name each skill once",
  });

const PROBED_AT_SENTENCE = "must be the probedAt of the origin when it was reviewed, epoch milliseconds";
const ReviewedProbe = z.int({ error: PROBED_AT_SENTENCE }).min(0, { error: PROBED_AT_SENTENCE }).openapi({
  example: 1_780_000_000_000,
  description:
    "`probedAt` of the origin when it was reviewed. With the hashes it names what was read: a probe recorded since, which may have seen other recipes, descriptions or definitions under the same hashes, refuses with `probe_changed`.",
});

const Approval = z
  .strictObject({ skills: ReviewedSkills, probedAt: ReviewedProbe, note: Note.optional() })
  .openapi("Approval");
const Refusal = z
  .strictObject({ skills: ReviewedSkills, probedAt: ReviewedProbe.optional(), note: Note.optional() })
  .openapi("Refusal");

const ReadVersion = SkillVersionBody.extend({
  isCurrent: z.boolean().openapi({ description: "Whether the latest probe of the origin saw it." }),
  comparedWith: Hash.nullable().openapi({
    description: "The last approved other version of the skill, against which `diff` shows it; null: none.",
  }),
}).openapi("ReadSkillVersion");

const Hidden = z
  .array(
    z.object({
      codePoint: z.string().openapi({ example: "U+202E" }),
      count: z.int(),
      line: z.int().openapi({ description: "Of the first one; only a line feed ends a line." }),
    }),
  )
  .openapi({
    description: `Characters that nobody sees or that change what one sees, such as U+000D, U+2028 and marks that reorder text: at most ${MAX_HIDDEN_KINDS} kinds. Look at each before you approve.`,
  });

const Source = z
  .object({
    version: SkillVersionBody,
    source: z.string().openapi({ description: "The text of tool.js; its UTF-8 bytes have the hash." }),
    recipe: z.string().nullable().openapi({
      description:
        "The text of SKILL.md, where the version has a verified one and, if it changed since it was approved, the approved one is still kept.",
    }),
    definition: z.record(z.string(), z.any()).openapi({ description: "What the script registers." }),
    changed: z
      .object({
        description: z.string(),
        version: z.string().nullable(),
        recipe: z.string().nullable(),
        definition: z.record(z.string(), z.any()),
      })
      .nullable()
      .openapi({
        description:
          "Where the version was approved and the latest probe saw other things under the same hash: what approving it again would take. The texts above are then those that were approved.",
      }),
    hidden: z.object({ source: Hidden, recipe: Hidden }),
  })
  .openapi("SkillSource");

const Diff = z
  .object({
    version: SkillVersionBody,
    against: z.union([SkillVersionBody, z.null()]).openapi({
      description: "The last approved other version; null: none, then all is new.",
    }),
    linesBroken: z.boolean().openapi({
      description: `Lines of more than ${MAX_LINE_CHARS} characters were broken, so that line numbers are not those of the files.`,
    }),
    replaced: z.boolean().openapi({
      description: `More than ${MAX_CHANGED_LINES} lines differ, or ${MAX_COMPARED_LINES} would have to be compared: the old source stands whole before the new one.`,
    }),
    truncated: z.boolean().openapi({ description: `Lines after the first ${MAX_SHOWN_LINES} are left out.` }),
    hunks: z.array(
      z.object({
        oldStart: z.int(),
        oldLines: z.int(),
        newStart: z.int(),
        newLines: z.int(),
        continued: z.array(z.int()).openapi({
          description: "Positions in `lines` of pieces of broken lines: no line feed follows them in the file.",
        }),
        lines: z
          .array(z.string())
          .openapi({ description: "Each begins with a space, `-` or `+`.", example: ["-a", "+b"] }),
      }),
    ),
    hidden: Hidden.openapi({ description: "Of this version's source, as in the answer of `source`." }),
  })
  .openapi("SkillDiff");

const ofVersion = ofOrigin.extend({ toolSha256: Hash.openapi({ param: { name: "toolSha256", in: "path" } }) });
const skillQuery = z.strictObject({
  scope: SkillName.optional().openapi({
    param: { name: "scope", in: "query" },
    description: "Left out: the skill has none.",
  }),
  name: SkillName.openapi({ param: { name: "name", in: "query" } }),
});
const tags = ["skills"];

const list = adminRoute({
  role: "viewer",
  method: "get",
  path: "/origins/{id}/skills",
  tags,
  summary: "List the skill versions seen, by scope, name and hash",
  description:
    "With `current=true`: what the latest probe saw, of which activation would take all that is not rejected.",
  request: { params: ofOrigin, query: SkillFilterQuery },
  responses: { 200: json("A page of skill versions.", pageOf("SkillVersionPage", SkillVersionBody)), ...problems },
});

const read = adminRoute({
  role: "viewer",
  method: "get",
  path: "/origins/{id}/skills/{toolSha256}",
  tags,
  summary: "Read a version",
  description: "Problems: `not_found`.",
  request: { params: ofVersion, query: skillQuery },
  responses: { 200: row("The version.", ReadVersion), ...problems },
});

const source = adminRoute({
  role: "viewer",
  method: "get",
  path: "/origins/{id}/skills/{toolSha256}/source",
  tags,
  summary: "Read a version's source, recipe and definition",
  description: "As a probe saw them. Problems: `not_found`, `not_stored`.",
  request: { params: ofVersion, query: skillQuery },
  responses: { 200: json("The texts.", Source), ...problems },
});

const diff = adminRoute({
  role: "viewer",
  method: "get",
  path: "/origins/{id}/skills/{toolSha256}/diff",
  tags,
  summary: "Compare a version's source with the last approved one",
  description: "Problems: `not_found`, `not_stored`.",
  request: { params: ofVersion, query: skillQuery },
  responses: { 200: json("The difference.", Diff), ...problems },
});

const approve = adminRoute({
  role: "reviewer",
  method: "post",
  path: "/origins/{id}/approve",
  tags,
  summary: "Approve skill versions",
  description:
    "Each becomes the last approved version of its skill, with the description, definition and recipe that the probe `probedAt` saw, which must be the latest. Of the publisher's own attestations those that count for it today are stored with the gateway's. The origin's status stays. In force within 5 seconds. Problems: `bad_request`, `not_found`, `bad_state` (revoked), `probe_changed`, `unknown_version`, `not_stored`, `hash_revoked`.",
  request: { params: ofOrigin, body: body(Approval) },
  responses: { 204: { description: "Approved, all of them." }, ...problems },
});

const reject = adminRoute({
  role: "reviewer",
  method: "post",
  path: "/origins/{id}/reject",
  tags,
  summary: "Reject skill versions",
  description:
    "An approval is withdrawn, activation approves none of them, and none is served under any pin. In force within 5 seconds. Problems: `bad_request`, `not_found`, `bad_state` (revoked), `probe_changed`, `unknown_version`.",
  request: { params: ofOrigin, body: body(Refusal) },
  responses: { 204: { description: "Rejected, all of them." }, ...problems },
});

export function addSkillRoutes(app: OpenAPIHono<AdminEnv>): void {
  app.openapi(list, async (c) => {
    const { state, current, q, ...query } = c.req.valid("query");
    const registry = c.get("registry");
    const origin = await getOrigin(registry, c.req.valid("param").id);
    const filter = { state, isCurrent: current === "true", q };
    const page = await listSkills(registry, origin, filter, await pageRequest(c, query, isSkillKey));
    return c.json(await pageBody(c, page, showVersion), 200);
  });
  app.openapi(read, async (c) => {
    const registry = c.get("registry");
    const row = await readVersion(registry, c.req.valid("param"), c.req.valid("query"));
    const { probedAt } = await getOrigin(registry, row.originId);
    const version = toVersion(row);
    const base = await lastApproved(registry, row.originId, version, row.toolSha256);
    return one(c, version, () => ({
      ...showVersion(version),
      isCurrent: row.lastSeenAt === probedAt,
      comparedWith: base?.toolSha256 ?? null,
    }));
  });
  app.openapi(source, async (c) => {
    const registry = c.get("registry");
    const row = await readVersion(registry, c.req.valid("param"), c.req.valid("query"));
    const text = await readText(registry, row.toolSha256, row.originId);
    const recipe = await readRecipe(registry, row);
    const definition = JSON.parse(row.definition ?? "{}") as ToolDefinition & Record<string, unknown>;
    const changed = await readChanged(registry, row);
    const hidden = {
      source: [...hiddenCharacters(text)],
      recipe: [...hiddenCharacters(changed?.recipe ?? recipe ?? "")],
    };
    return c.json({ version: showVersion(toVersion(row)), source: text, recipe, definition, changed, hidden }, 200);
  });
  app.openapi(diff, async (c) => {
    const registry = c.get("registry");
    const row = await readVersion(registry, c.req.valid("param"), c.req.valid("query"));
    const version = toVersion(row);
    const base = await lastApproved(registry, row.originId, version, row.toolSha256);
    const before = base === null ? "" : await readText(registry, base.toolSha256, row.originId);
    const after = await readText(registry, row.toolSha256, row.originId);
    const { hunks, ...about } = diffSources(before, after);
    const against = base === null ? null : showVersion(toVersion(base));
    const shown = hunks.map((hunk) => ({ ...hunk, lines: [...hunk.lines], continued: [...hunk.continued] }));
    const hidden = [...hiddenCharacters(after)];
    return c.json({ version: showVersion(version), against, ...about, hunks: shown, hidden }, 200);
  });
  app.openapi(approve, async (c) => {
    const { skills, note = null, probedAt } = c.req.valid("json");
    const { id } = c.req.valid("param");
    await approveVersions(c.get("registry"), actingNow(c), id, skills, note, probedAt);
    await keepShippedAttestations(c, id, skills);
    await tellHub(c, id);
    return c.body(null, 204);
  });
  app.openapi(reject, async (c) => {
    const { skills, note = null, probedAt = null } = c.req.valid("json");
    const { id } = c.req.valid("param");
    await rejectVersions(c.get("registry"), actingNow(c), id, skills, note, probedAt);
    await tellHub(c, id);
    return c.body(null, 204);
  });
}

async function readVersion(
  registry: Registry,
  { id, toolSha256 }: { readonly id: string; readonly toolSha256: string },
  { scope = null, name }: { readonly scope?: string | null | undefined; readonly name: string },
) {
  await getOrigin(registry, id);
  const skill: SkillId = { scope: scope === "" ? null : scope, name };
  const row = await findVersion(registry, id, { ...skill, toolSha256 });
  if (row === null) throw new RegistryError("not_found", "No probe of this origin saw this version of the skill.");
  return row;
}

/** One that was approved and is lost does not keep anybody from reading what has to be approved in its place. */
async function readRecipe(registry: Registry, { recipeSha256, changed, originId }: typeof skills.$inferSelect) {
  if (recipeSha256 === null) return null;
  if (changed !== null && (await readArtifact(registry, recipeSha256)) === null) return null;
  return readText(registry, recipeSha256, originId);
}

async function readChanged(registry: Registry, row: typeof skills.$inferSelect) {
  if (row.changed === null) return null;
  const [description, version, definition] = JSON.parse(row.changed) as [string, string | null, string];
  const recipe =
    row.changedRecipeSha256 === null ? null : await readText(registry, row.changedRecipeSha256, row.originId);
  return { description, version, recipe, definition: JSON.parse(definition) as Record<string, unknown> };
}

/** What is reviewed must be what would run: the database is not trusted for it. @throws RegistryError `not_stored`. */
async function readText(registry: Registry, sha256: string, originId: string): Promise<string> {
  const bytes = await readArtifact(registry, sha256);
  if (bytes === null)
    throw new RegistryError("not_stored", `The bytes of ${sha256} are not kept; probe the origin again.`, originId);
  if ((await sha256Hex(bytes)) !== sha256) {
    console.error(JSON.stringify({ event: "artifact_altered", sha256 }));
    throw new RegistryError("not_stored", `What is kept of ${sha256} does not have that hash.`, originId);
  }
  try {
    return decodeExactly(bytes);
  } catch (error) {
    if (!(error instanceof IntegrityError)) throw error;
    throw new RegistryError("not_stored", `What is kept of ${sha256} is not UTF-8, so it is no text.`, originId);
  }
}

function isSkillKey(key: unknown): key is SkillKey {
  return Array.isArray(key) && key.length === 3 && key.every((part) => typeof part === "string");
}
