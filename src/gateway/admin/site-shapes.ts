import { z } from "@hono/zod-openapi";
import { isSkillName } from "../../core/agent-skills/names.ts";
import { ARCHIVE_LIMIT_RANGES } from "../../core/archive/limits.ts";
import { HOST } from "../env.ts";
import { idPattern } from "../registry/ids.ts";
import type { Site, SiteVersion } from "../registry/sites.ts";
import { Hash, Moment, Note } from "./shapes.ts";

/** How long the bytes of a replaced version may stay readable, seconds: a month. */
const MAX_GRACE_S = 31 * 24 * 3_600;
export const DEFAULT_GRACE_S = 7 * 24 * 3_600;
export const MAX_HOSTS = 20;

const SLUG_SENTENCE = "must be 1 to 64 lower-case letters, digits and single hyphens, with no hyphen at an end";
const GRACE_SENTENCE = `must be a whole number from 0 to ${MAX_GRACE_S}`;

export const SiteId = z.string().regex(idPattern("sit")).openapi({ example: "sit_0123456789abcdef01234567" });
export const ofSite = z.object({ id: SiteId.openapi({ param: { name: "id", in: "path" } }) });

export const SiteName = z
  .string({ error: "must be a string" })
  .refine(isSkillName, { error: SLUG_SENTENCE })
  .openapi({ example: "handbook" });

const MAX_HOST_LENGTH = 253;

/** As URLs write it, without the dot at the end that names the same host: what differs from that would never match. */
const Host = z
  .string({ error: "must be a string" })
  .refine(
    (host) =>
      host.length <= MAX_HOST_LENGTH &&
      HOST.test(host) &&
      URL.canParse(`https://${host}`) &&
      new URL(`https://${host}`).host === host,
    {
      error: "must be a lower-case host such as skills.example, with a port only where it is not the usual one",
    },
  );

const settings = {
  hosts: z
    .array(Host)
    .max(MAX_HOSTS, { error: `must be at most ${MAX_HOSTS}` })
    .refine((hosts) => new Set(hosts).size === hosts.length, { error: "must not name a host twice" })
    .openapi({ description: "Hosts that belong to this site alone.", example: ["skills.example"] }),
  authenticatedMeans: z.enum(["header", "verified"], { error: "must be header or verified" }).openapi({
    description:
      "Who counts as authenticated: `header`, whoever sends an `Authorization` header, as Agent Skills v0.2.0 has it; `verified`, who sends the token of a client that may use this site's origin.",
  }),
  entriesAlias: z
    .boolean({ error: "must be true or false" })
    .openapi({ description: "Manifests repeat `skills` as `entries`." }),
  artifactUrls: z.enum(["plain", "pinned"], { error: "must be plain or pinned" }).openapi({
    description:
      "What manifests and `llms.txt` name: `pinned`, the address of the very bytes (`/skills/a.md@<digest>`), so that no publish comes between reading a digest and fetching its bytes; `plain`, the path as it was published, whose bytes after a publish are no longer those of a manifest read before it. A new site has `pinned`; both addresses are answered either way.",
  }),
  graceS: z
    .int({ error: GRACE_SENTENCE })
    .min(0, { error: GRACE_SENTENCE })
    .max(MAX_GRACE_S, { error: GRACE_SENTENCE })
    .openapi({ description: "Seconds for which bytes that were replaced stay readable by their digest." }),
};

export const NewSite = z
  .strictObject({
    name: SiteName,
    hosts: settings.hosts.optional(),
    authenticatedMeans: settings.authenticatedMeans.optional(),
    entriesAlias: settings.entriesAlias.optional(),
    artifactUrls: settings.artifactUrls.optional(),
    graceS: settings.graceS.optional(),
  })
  .openapi("NewSite");

export const SiteStatus = z.enum(["active", "suspended"], { error: "must be active or suspended" });

export const SiteChange = z
  .strictObject({
    status: SiteStatus.optional().openapi({ description: "A suspended site answers 404 to everything." }),
    hosts: settings.hosts.optional(),
    authenticatedMeans: settings.authenticatedMeans.optional(),
    entriesAlias: settings.entriesAlias.optional(),
    artifactUrls: settings.artifactUrls.optional(),
    graceS: settings.graceS.optional(),
  })
  .openapi("SiteChange");

export const SiteBody = z
  .object({
    id: SiteId,
    name: z.string(),
    status: SiteStatus,
    ...settings,
    currentVersion: z.int().nullable().openapi({ description: "Null: nothing is published yet." }),
    switchedAt: Moment.nullable().openapi({ description: "When the current version became that." }),
    createdAt: Moment,
    updatedAt: Moment,
  })
  .openapi("Site");

export function showSite({ hosts, ...site }: Site) {
  return { ...site, hosts: [...hosts] };
}

export const VersionNumber = z
  .string()
  .regex(/^[1-9]\d{0,9}$/)
  .transform(Number)
  .openapi({ param: { name: "version", in: "path" }, type: "integer", minimum: 1 });

export const VersionBody = z
  .object({
    siteId: SiteId,
    version: z.int().min(1),
    publishedAt: Moment,
    publishedBy: z.string(),
    note: z.string().nullable(),
    retiredAt: Moment.nullable().openapi({
      description: "When another version took its place; null for the current one.",
    }),
  })
  .openapi("SiteVersion");

export function showVersion({ siteId, version, publishedAt, publishedBy, note, retiredAt }: SiteVersion) {
  return { siteId, version, publishedAt, publishedBy, note, retiredAt };
}

const text = z.string({ error: "must be a string" });
const Visibility = z
  .enum(["public", "authenticated"], { error: "must be public or authenticated" })
  .openapi({ description: "Default: public." });
const Url = text.openapi({ example: "/skills/deploy-via-pr.md" });

function limit(name: keyof typeof ARCHIVE_LIMIT_RANGES) {
  const [min, max] = ARCHIVE_LIMIT_RANGES[name];
  const error = `must be an integer from ${min} to ${max}`;
  return z.int({ error }).min(min, { error }).max(max, { error }).optional();
}

const Limits = z.strictObject({
  max_decompression_ratio: limit("max_decompression_ratio"),
  max_entries: limit("max_entries"),
  max_expanded_bytes: limit("max_expanded_bytes"),
  max_clock_skew_secs: limit("max_clock_skew_secs"),
});

const Tool = z.strictObject({ url: Url, sha256: Hash, name: text.optional() });

const Skill = z
  .strictObject({
    name: text,
    type: z.enum(["skill-md", "archive"], { error: "must be skill-md or archive" }),
    description: text,
    url: Url,
    visibility: Visibility.optional(),
    sha256: Hash.optional().openapi({
      description: "Of the artifact's bytes. Left out: they lie elsewhere, and are fetched.",
    }),
    limits: Limits.optional().openapi({ description: "Of an archive." }),
    version: text.optional(),
    license: text.optional(),
    scope: text.optional(),
    tool: Tool.optional().openapi({ description: "The script of an executable skill." }),
  })
  .openapi("PublicationSkill");

/** Lists are bounded again, with all that is in them, by the core. */
const MANY = 2_000;

export const NewVersion = z
  .strictObject({
    title: text,
    description: text.optional(),
    skills: z.array(Skill).max(MANY).optional(),
    listings: z
      .array(z.strictObject({ name: text, skills: z.array(Skill).max(MANY) }))
      .max(MANY)
      .optional(),
    files: z
      .array(z.strictObject({ url: Url, sha256: Hash, visibility: Visibility.optional() }))
      .max(MANY)
      .optional(),
    memories: z
      .array(z.strictObject({ url: Url, sha256: Hash, scope: text.optional() }))
      .max(MANY)
      .optional(),
    note: Note.optional(),
    base: z
      .int({ error: "must be a version or null" })
      .min(1)
      .nullable()
      .optional()
      .openapi({ description: "The version that is replaced, null for none: refused where another one is current." }),
  })
  .openapi("NewSiteVersion", {
    // With its skills: a version of a title alone would take away all that is published.
    example: {
      title: "{title}",
      skills: [
        {
          name: "{name}",
          type: "skill-md",
          description: "{description}",
          url: "/skills/{name}.md",
          sha256: "{sha256}",
        },
      ],
    },
  });
