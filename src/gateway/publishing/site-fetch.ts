import { type CanonicalOrigin, isOwnHost } from "../../core/origin.ts";
import { type Env, readSettings, type Settings } from "../env.ts";
import { describeFailure } from "../log.ts";
import { answerSite, noSuchSite, type SiteAnswer } from "./answer-site.ts";
import { reportMismatch } from "./mismatch.ts";
import { readSite, type SiteName } from "./read-site.ts";
import { readSiteAddress } from "./site-address.ts";
import { FETCHING_MAX_AGE_MS, siteDirectoryOf } from "./site-directory.ts";

/** The site that an address belongs to. */
interface HostedAddress {
  readonly name: SiteName;
  readonly path: string;
  readonly base: string;
}

/**
 * Answers a fetch of a site that this gateway hosts, in-process and as anybody would be answered: what is for authenticated callers is not
 * shown to the gateway either.
 *
 * @returns null for an address of somebody else.
 * @throws for any other address of the gateway's own hosts: it never asks itself.
 */
export async function fetchHostedSite(
  env: Env,
  settings: Settings,
  url: string,
  init: RequestInit,
): Promise<Response | null> {
  const now = Date.now();
  const address = await hostedAddress(env, settings, new URL(url), now);
  if (address === null) return null;
  const site = await readSite(env, address.name, now);
  const pending: Promise<void>[] = [];
  const answer: SiteAnswer =
    site === null
      ? noSuchSite()
      : await answerSite(env, site, {
          method: init.method ?? "GET",
          path: address.path,
          base: address.base,
          headers: new Headers(init.headers),
          requestId: crypto.randomUUID(),
          now,
          isAuthenticated: async () => false,
          onMismatch: (mismatch) => pending.push(reportMismatch(env, mismatch, now)),
        });
  await Promise.all(pending);
  return new Response(answer.body, { status: answer.status, headers: answer.headers });
}

/** Whether an origin is a site that this gateway hosts, as far as is known while the database does not answer. Never rejects. */
export async function isHosted(env: Env, origin: CanonicalOrigin): Promise<boolean> {
  const answer = readSettings(env);
  return answer.ok && (await siteOfOrigin(env, answer.settings, origin, Date.now())) !== null;
}

/**
 * Whether an origin is a site that this gateway hosts and has nothing to serve of at this moment, since it was suspended or published nothing. As
 * far as is known while the database does not answer. Never rejects.
 */
export async function isAtRest(env: Env, origin: CanonicalOrigin): Promise<boolean> {
  const answer = readSettings(env);
  if (!answer.ok) return false;
  const now = Date.now();
  const name = await siteOfOrigin(env, answer.settings, origin, now);
  if (name === null) return false;
  try {
    return (await readSite(env, name, now)) === null;
  } catch (error) {
    console.warn(JSON.stringify({ event: "site_not_read", origin, error: describeFailure(error) }));
    return false;
  }
}

/** The site whose address an origin is; null for the origin of somebody else, or a folder of a site's own host. */
export async function siteOfOrigin(
  env: Env,
  settings: Settings,
  origin: CanonicalOrigin,
  now: number,
): Promise<SiteName | null> {
  const address = await hostedAddress(env, settings, new URL(`${origin}/`), now);
  return address?.path === "/" ? address.name : null;
}

async function hostedAddress(env: Env, settings: Settings, url: URL, now: number): Promise<HostedAddress | null> {
  if (isOwnHost(url, settings.publicHosts)) {
    const address = readSiteAddress(url);
    if (address === null) throw new Error("The gateway does not fetch from itself.");
    const { name, path, base } = address;
    return { name: { name }, path, base };
  }
  const directory = await siteDirectoryOf(env, FETCHING_MAX_AGE_MS, now);
  return directory?.hosts.has(url.host) ? { name: { host: url.host }, path: url.pathname, base: url.origin } : null;
}
