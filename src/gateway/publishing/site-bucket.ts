import type { Env } from "../env.ts";

/** Where bytes of a site lie. Made of an id and a digest alone, so that no path anybody wrote can lead out of the site. */
function keyOf(siteId: string, sha256: string): string {
  return `sites/${siteId}/${sha256}`;
}

/** Stores bytes whose digest was just taken. */
export async function writeSiteBytes({ SITES }: Env, siteId: string, sha256: string, bytes: Uint8Array): Promise<void> {
  await SITES.put(keyOf(siteId, sha256), bytes);
}

/** The bytes as they are, whatever their digest is now; null where there are none. */
export async function readSiteBytes({ SITES }: Env, siteId: string, sha256: string): Promise<Uint8Array | null> {
  const object = await SITES.get(keyOf(siteId, sha256));
  return object === null ? null : new Uint8Array(await object.arrayBuffer());
}

export async function removeSiteBytes(
  { SITES }: Env,
  blobs: readonly { readonly siteId: string; readonly sha256: string }[],
): Promise<void> {
  if (blobs.length > 0) await SITES.delete(blobs.map(({ siteId, sha256 }) => keyOf(siteId, sha256)));
}
