import type { Context } from "hono";
import type { CanonicalOrigin } from "../../core/origin.ts";
import { completeAnswer } from "../answer-headers.ts";
import { authenticate } from "../auth/authenticate.ts";
import { policyOf } from "../auth/policy.ts";
import { inBackground } from "../background.ts";
import { GatewayError } from "../errors.ts";
import { type GatewayContext, type GatewayMiddleware, moment } from "../request-context.ts";
import { urlOf } from "../request-url.ts";
import { answerSite, noSuchSite, type SiteAnswer } from "./answer-site.ts";
import { reportMismatch } from "./mismatch.ts";
import { readSite, type SiteName } from "./read-site.ts";
import { readSiteAddress } from "./site-address.ts";
import { SERVING_MAX_AGE_MS, siteDirectoryOf } from "./site-directory.ts";

/** Answers every request that came to a site's own host, and leaves the others alone. */
export const hostedByHost: GatewayMiddleware = async (c, next) => {
  const { host, pathname, origin } = urlOf(c.req);
  const { publicHosts, adminHost } = c.get("settings");
  if (host === adminHost || publicHosts.includes(host)) return next();
  const directory = await siteDirectoryOf(c.env, SERVING_MAX_AGE_MS, Date.now());
  if (!directory?.hosts.has(host)) return next();
  return answerHosted(c, { host }, pathname, origin);
};

/** Answers `/s/<site>/…`, but never on the operators' host. */
export const hostedByPath: GatewayMiddleware = async (c) => {
  const url = urlOf(c.req);
  const address = url.host === c.get("settings").adminHost ? null : readSiteAddress(url);
  if (address === null) throw new GatewayError("not_found");
  const { name, path, base } = address;
  const directory = await siteDirectoryOf(c.env, SERVING_MAX_AGE_MS, Date.now());
  if (directory?.names.has(name) === false && !directory.isCut) return send(c, noSuchSite());
  return answerHosted(c, { name }, path, base);
};

async function answerHosted(c: Context<GatewayContext>, name: SiteName, path: string, base: string): Promise<Response> {
  const now = Date.now();
  const site = await readSite(c.env, name, now);
  if (site === null) return send(c, noSuchSite());
  const answer = await answerSite(c.env, site, {
    method: c.req.method,
    path,
    base,
    headers: c.req.raw.headers,
    requestId: c.get("requestId"),
    now,
    isAuthenticated: () => isAuthenticated(c, site.site.authenticatedMeans, base as CanonicalOrigin),
    onMismatch: (mismatch) => inBackground(c, reportMismatch(c.env, mismatch, now)),
  });
  return send(c, answer);
}

/**
 * Agent Skills v0.2.0 takes any `Authorization` header for an authenticated caller. A site may ask for more: the token of a client that
 * may use every origin, or the site's own. A token that does not count makes an anonymous caller; too many of them are refused.
 */
async function isAuthenticated(
  c: Context<GatewayContext>,
  means: "header" | "verified",
  base: CanonicalOrigin,
): Promise<boolean> {
  if (c.req.header("Authorization") === undefined) return false;
  if (means === "header") return true;
  try {
    await authenticate(c);
  } catch (error) {
    if (error instanceof GatewayError && error.code === "unauthorized") return false;
    throw error;
  }
  const client = c.get("client");
  return client.grantAll || (await policyOf(c.env.DB).grant(client, base, moment(c))) !== null;
}

function send(c: Context<GatewayContext>, { status, headers, body, part }: SiteAnswer): Response {
  c.get("log").route = `site:${part}`;
  // Who the client is stands in no answer that a cache may keep.
  c.set(
    "answerHeaders",
    c.get("answerHeaders").filter(([name]) => name !== "X-Gw-Client"),
  );
  return completeAnswer(c, body, status, headers);
}
