import { type OpenAPIHono, z } from "@hono/zod-openapi";
import type { Publication, PublicationSkill, SiteContent } from "../../core/agent-skills/publication.ts";
import { type Sha256Hex, sha256Hex } from "../../core/integrity.ts";
import { checkPublication } from "../publishing/publish.ts";
import { writeSiteBytes } from "../publishing/site-bucket.ts";
import { claimBlobs, expectBlob, noteBlob, storedSiteBytes } from "../registry/site-blobs.ts";
import {
  getSite,
  getVersion,
  listVersions,
  type PublishedVersion,
  publishVersion,
  rollBack,
  type SiteVersion,
} from "../registry/sites.ts";
import { type AdminEnv, actingNow } from "./environment.ts";
import { changed, created, one } from "./frame.ts";
import { PageQuery, pageBody, pageOf, pageRequest } from "./paging.ts";
import { badMember, Problem } from "./problem.ts";
import { registrableOrigins } from "./registrable.ts";
import { adminRoute } from "./roles.ts";
import { body, Hash, json, problems, row } from "./shapes.ts";
import { NewVersion, ofSite, SiteBody, showSite, showVersion, VersionBody, VersionNumber } from "./site-shapes.ts";
import { tellSite } from "./tell-site.ts";

/** Largest upload, that of an archive or a file. */
export const MAX_BLOB_BYTES = 5_242_880;
/** Largest publication: it names bytes and holds none. */
export const MAX_PUBLICATION_BYTES = 1_048_576;
/** Bytes of one site together, kept versions included. */
const MAX_SITE_BYTES = 536_870_912;
const MAX_ASKED = 2_000;

const tags = ["sites"];

const missing = adminRoute({
  role: "admin",
  method: "post",
  path: "/sites/{id}/blobs/missing",
  tags,
  summary: "Ask which bytes still have to be uploaded",
  description:
    "What is there already is kept for a week, so that a publish that was interrupted goes on where it was. Problems: `bad_request`, `not_found`.",
  request: { params: ofSite, body: body(z.strictObject({ digests: z.array(Hash).max(MAX_ASKED) })) },
  responses: {
    200: json("The digests of what is missing, in the order asked.", z.object({ missing: z.array(z.string()) })),
    ...problems,
  },
});

const upload = adminRoute({
  role: "admin",
  method: "post",
  path: "/sites/{id}/blobs",
  tags,
  summary: "Upload bytes",
  description:
    "At most 5 MiB, as they are. Nobody is shown them before a version names them. Uploading bytes again takes them out of quarantine. Problems: `bad_request` (the digest is another one), `not_found`, `too_large`, `site_full`.",
  request: {
    params: ofSite,
    query: z.strictObject({ sha256: Hash.openapi({ param: { name: "sha256", in: "query" } }) }),
    body: {
      required: true,
      content: { "application/octet-stream": { schema: z.string().openapi({ format: "binary" }) } },
    },
  },
  responses: { 200: json("What is stored.", z.object({ sha256: z.string(), bytes: z.int() })), ...problems },
});

const WarningBody = z
  .object({ field: z.string(), code: z.string(), message: z.string() })
  .openapi("PublicationWarning", { description: "What some clients stumble over." });
const PublishedBody = VersionBody.extend({ warnings: z.array(WarningBody) }).openapi("PublishedSiteVersion");

const publish = adminRoute({
  role: "admin",
  creates: true,
  method: "post",
  path: "/sites/{id}/versions",
  tags,
  summary: "Publish a version",
  description:
    "All that it names by digest was uploaded before. It is in force at once and as a whole; of older versions 20 are kept. Problems: `bad_request`, `bad_publication` (`errors` name the member and the reason), `not_found`, `version_changed`.",
  request: { params: ofSite, body: body(NewVersion) },
  responses: { 201: row("The version.", PublishedBody), ...problems },
});

const list = adminRoute({
  role: "viewer",
  method: "get",
  path: "/sites/{id}/versions",
  tags,
  summary: "List the kept versions of a site, latest first",
  request: { params: ofSite, query: PageQuery },
  responses: { 200: json("A page of versions.", pageOf("SiteVersionPage", VersionBody)), ...problems },
});

const ContentBody = z
  .record(z.string(), z.unknown())
  .openapi("SiteContent", { description: "What the version holds, each artifact with its digest and length." });

const read = adminRoute({
  role: "viewer",
  method: "get",
  path: "/sites/{id}/versions/{version}",
  tags,
  summary: "Read a version",
  request: { params: ofSite.extend({ version: VersionNumber }) },
  responses: { 200: row("The version.", VersionBody.extend({ content: ContentBody })), ...problems },
});

const VERSION_SENTENCE = "must be a whole number of at least 1";

const rollback = adminRoute({
  role: "admin",
  conditional: true,
  method: "post",
  path: "/sites/{id}/rollback",
  tags,
  summary: "Make an older version the current one again",
  description:
    "In force at once. Problems: `bad_request`, `not_found`, `no_version`, `bad_state` (it is the current one).",
  request: {
    params: ofSite,
    body: body(z.strictObject({ version: z.int({ error: VERSION_SENTENCE }).min(1, { error: VERSION_SENTENCE }) })),
  },
  responses: { 200: row("The site.", SiteBody), ...problems },
});

export function addSiteVersionRoutes(app: OpenAPIHono<AdminEnv>): void {
  app.openapi(missing, async (c) => {
    const { id } = c.req.valid("param");
    const { digests } = c.req.valid("json");
    const registry = c.get("registry");
    await getSite(registry, id);
    const present = await claimBlobs(registry, id, digests, Date.now());
    return c.json({ missing: digests.filter((sha256) => !present.has(sha256)) }, 200);
  });
  app.openapi(upload, async (c) => {
    const { id } = c.req.valid("param");
    const { sha256: declared } = c.req.valid("query");
    const registry = c.get("registry");
    const site = await getSite(registry, id);
    const bytes = new Uint8Array(await c.req.arrayBuffer());
    const sha256 = await sha256Hex(bytes);
    if (sha256 !== declared) throw badMember("sha256", `must be the digest of the body, ${sha256}`);
    if ((await storedSiteBytes(registry, id, sha256)) + bytes.length > MAX_SITE_BYTES) {
      throw new Problem("site_full", { detail: `A site has at most ${MAX_SITE_BYTES} bytes, kept versions included.` });
    }
    await expectBlob(registry, id, sha256, bytes.length, Date.now());
    await writeSiteBytes(c.env, id, sha256, bytes);
    if (await noteBlob(registry, actingNow(c), id, sha256, bytes.length))
      tellSite(c, site, site.status === "suspended");
    return c.json({ sha256, bytes: bytes.length }, 200);
  });
  app.openapi(publish, async (c) => {
    const { id } = c.req.valid("param");
    const { note = null, base, ...wanted } = c.req.valid("json");
    const registry = c.get("registry");
    const site = await getSite(registry, id);
    const answer = await created(
      c,
      async (acting) => {
        const checked = await checkPublication(c.env, registry, id, asPublication(wanted), registrableOrigins(c));
        return publishVersion(registry, acting, id, { ...checked, note, base });
      },
      showPublished,
    );
    tellSite(c, site);
    return answer;
  });
  app.openapi(list, async (c) => {
    const page = await listVersions(
      c.get("registry"),
      c.req.valid("param").id,
      await pageRequest(c, c.req.valid("query"), isVersion),
    );
    return c.json(await pageBody(c, page, showVersion), 200);
  });
  app.openapi(read, async (c) => {
    const { id, version } = c.req.valid("param");
    return one(c, await getVersion(c.get("registry"), id, version), showWithContent);
  });
  app.openapi(rollback, async (c) => {
    const { id } = c.req.valid("param");
    const registry = c.get("registry");
    const answer = await changed(
      c,
      () => getSite(registry, id),
      (acting) => rollBack(registry, acting, id, c.req.valid("json").version),
      showSite,
    );
    tellSite(c, await getSite(registry, id));
    return answer;
  });
}

function isVersion(key: unknown): key is number {
  return Number.isSafeInteger(key);
}

function showPublished({ warnings, ...version }: PublishedVersion) {
  return { ...showVersion(version), warnings: warnings.map((warning) => ({ ...warning })) };
}

function showWithContent({ content, ...version }: SiteVersion & { readonly content: SiteContent }) {
  return { ...showVersion(version), content: content as unknown as Record<string, unknown> };
}

type WantedVersion = Omit<z.infer<typeof NewVersion>, "note" | "base">;
type WantedSkill = NonNullable<WantedVersion["skills"]>[number];

/** What may be left out is said. Digests were checked by their shape. */
function asPublication({
  title,
  description = "",
  skills = [],
  listings = [],
  files = [],
  memories = [],
}: WantedVersion): Publication {
  return {
    title,
    description,
    skills: skills.map(asSkill),
    listings: listings.map((listing) => ({ name: listing.name, skills: listing.skills.map(asSkill) })),
    files: files.map(({ url, sha256, visibility = "public" }) => ({ url, sha256: sha256 as Sha256Hex, visibility })),
    memories: memories.map(({ url, sha256, scope = null }) => ({ url, sha256: sha256 as Sha256Hex, scope })),
  };
}

function asSkill({ sha256, tool, ...skill }: WantedSkill): PublicationSkill {
  const { visibility = "public", limits = {}, version = null, license = null, scope = null } = skill;
  return {
    ...{ name: skill.name, type: skill.type, description: skill.description, url: skill.url },
    ...{ visibility, limits, version, license, scope },
    sha256: (sha256 ?? null) as Sha256Hex | null,
    tool: tool === undefined ? null : { url: tool.url, sha256: tool.sha256 as Sha256Hex, name: tool.name ?? null },
  };
}
