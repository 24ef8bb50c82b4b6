/** Where sites lie on the gateway's own hosts, each under its name. */
export const SITES_PATH = "/s/";

/** A path of the gateway's own that leads into a site. */
export interface SiteAddress {
  readonly name: string;
  /** Inside the site. */
  readonly path: string;
  /** Of the site, without a slash at its end. */
  readonly base: string;
}

/** Reads `/s/<site>/…`; null for every other path. */
export function readSiteAddress({ pathname, origin }: URL): SiteAddress | null {
  const [, name, path] = /^\/s\/([a-z0-9-]{1,64})(\/.*)$/.exec(pathname) ?? [];
  return name === undefined || path === undefined ? null : { name, path, base: `${origin}${SITES_PATH}${name}` };
}
