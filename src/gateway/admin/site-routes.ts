import { type OpenAPIHono, z } from "@hono/zod-openapi";
import { forgetSiteDirectory } from "../publishing/site-directory.ts";
import { isCreatedKey } from "../registry/page.ts";
import { listMismatches } from "../registry/site-blobs.ts";
import { createSite, deleteSite, getSite, listSites, updateSite } from "../registry/sites.ts";
import { urlOf } from "../request-url.ts";
import type { AdminContext, AdminEnv } from "./environment.ts";
import { changed, conditionally, created, one } from "./frame.ts";
import { PageQuery, pageBody, pageOf, pageRequest } from "./paging.ts";
import { badMember } from "./problem.ts";
import { adminRoute } from "./roles.ts";
import { body, json, problems, queryText, row, Sought } from "./shapes.ts";
import { DEFAULT_GRACE_S, NewSite, ofSite, SiteBody, SiteChange, SiteStatus, showSite } from "./site-shapes.ts";
import { tellSite } from "./tell-site.ts";

const tags = ["sites"];

const create = adminRoute({
  role: "admin",
  creates: true,
  method: "post",
  path: "/sites",
  tags,
  summary: "Create a site",
  description:
    "The gateway then answers `/s/<name>/` and the site's hosts with what is published for it. Problems: `bad_request`, `already_exists`.",
  request: { body: body(NewSite) },
  responses: { 201: row("The site.", SiteBody), ...problems },
});

const list = adminRoute({
  role: "viewer",
  method: "get",
  path: "/sites",
  tags,
  summary: "List sites, oldest first",
  request: {
    query: PageQuery.extend({
      q: Sought,
      name: queryText("name", 64, "Only the site of this name."),
      status: SiteStatus.optional(),
    }),
  },
  responses: { 200: json("A page of sites.", pageOf("SitePage", SiteBody)), ...problems },
});

const read = adminRoute({
  role: "viewer",
  method: "get",
  path: "/sites/{id}",
  tags,
  summary: "Read a site",
  request: { params: ofSite },
  responses: { 200: row("The site.", SiteBody), ...problems },
});

const update = adminRoute({
  role: "admin",
  conditional: true,
  method: "patch",
  path: "/sites/{id}",
  tags,
  summary: "Change a site's settings",
  description:
    "Hosts are in force within 5 seconds, everything else at once. Problems: `bad_request`, `not_found`, `already_exists`.",
  request: { params: ofSite, body: body(SiteChange) },
  responses: { 200: row("The site.", SiteBody), ...problems },
});

const remove = adminRoute({
  role: "admin",
  conditional: true,
  method: "delete",
  path: "/sites/{id}",
  tags,
  summary: "Delete a site with all its versions",
  description:
    "At once and for good: its name and hosts are free for another site; its bytes are removed in the background. Problems: `not_found`.",
  request: { params: ofSite },
  responses: { 204: { description: "The site is deleted." }, ...problems },
});

const MismatchList = z
  .object({
    items: z.array(
      z.object({
        sha256: z.string(),
        bytes: z.int(),
        mismatches: z.int().openapi({ description: "3: in quarantine, until the bytes are uploaded again." }),
      }),
    ),
  })
  .openapi("SiteMismatches");

const mismatches = adminRoute({
  role: "viewer",
  method: "get",
  path: "/sites/{id}/mismatches",
  tags,
  summary: "List the bytes of a site that were found to be others than published",
  description:
    "They are answered 503. After the third time they are in quarantine: their skill leaves the manifests until the bytes are uploaded again.",
  request: { params: ofSite },
  responses: { 200: json("The bytes, by digest.", MismatchList), ...problems },
});

export function addSiteRoutes(app: OpenAPIHono<AdminEnv>): void {
  app.openapi(create, async (c) => {
    const { name, ...given } = c.req.valid("json");
    const {
      hosts = [],
      authenticatedMeans = "header",
      entriesAlias = true,
      artifactUrls = "pinned",
      graceS = DEFAULT_GRACE_S,
    } = given;
    refuseOwnHosts(c, hosts);
    const settings = { hosts, authenticatedMeans, entriesAlias, artifactUrls, graceS };
    const answer = await created(c, (acting) => createSite(c.get("registry"), acting, name, settings), showSite);
    forgetSiteDirectory();
    return answer;
  });
  app.openapi(list, async (c) => {
    const { q, name, status, ...query } = c.req.valid("query");
    return c.json(
      await pageBody(
        c,
        await listSites(c.get("registry"), { q, name, status }, await pageRequest(c, query, isCreatedKey)),
        showSite,
      ),
      200,
    );
  });
  app.openapi(read, async (c) => one(c, await getSite(c.get("registry"), c.req.valid("param").id), showSite));
  app.openapi(update, async (c) => {
    const { id } = c.req.valid("param");
    const registry = c.get("registry");
    const { status, hosts, authenticatedMeans, entriesAlias, artifactUrls, graceS } = c.req.valid("json");
    refuseOwnHosts(c, hosts ?? []);
    const change = { status, hosts, authenticatedMeans, entriesAlias, artifactUrls, graceS };
    const answer = await changed(
      c,
      () => getSite(registry, id),
      (acting) => updateSite(registry, acting, id, change),
      showSite,
    );
    forgetSiteDirectory();
    const site = await getSite(registry, id);
    tellSite(c, site, site.status === "suspended");
    return answer;
  });
  app.openapi(remove, async (c) => {
    const { id } = c.req.valid("param");
    const registry = c.get("registry");
    const site = await getSite(registry, id);
    await deleteSite(
      registry,
      conditionally(c, () => getSite(registry, id), showSite),
      id,
    );
    forgetSiteDirectory();
    tellSite(c, site, true);
    return c.body(null, 204);
  });
  app.openapi(mismatches, async (c) => {
    const { id } = c.req.valid("param");
    await getSite(c.get("registry"), id);
    return c.json({ items: [...(await listMismatches(c.get("registry"), id))] }, 200);
  });
}

/** The gateway's own hosts have addresses of their own, and the operators' host shares a web origin with nothing else. */
function refuseOwnHosts(c: AdminContext, hosts: readonly string[]): void {
  const { publicHosts, adminHost } = c.get("settings");
  const own = new Set([...publicHosts, adminHost, urlOf(c.req).host]);
  const index = hosts.findIndex((host) => own.has(host));
  if (index !== -1) throw badMember(`hosts.${index}`, "must not be a host of the gateway's own");
}
