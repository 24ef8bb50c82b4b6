import { digestHex, type Sha256Hex, sha256Hex } from "../../core/integrity.ts";
import type { Env } from "../env.ts";

/** Where bytes of a site lie. Made of an id and a digest alone, so that no path anybody wrote can lead out of the site. */
function keyOf(siteId: string, sha256: string): string {
  return `sites/${siteId}/${sha256}`;
}

/** Stores bytes whose digest was just taken. */
export async function writeSiteBytes({ SITES }: Env, siteId: string, sha256: string, bytes: Uint8Array): Promise<void> {
  await SITES.put(keyOf(siteId, sha256), bytes);
}

/** An object as it was when its digest was taken. */
export interface HashedObject {
  readonly sha256: Sha256Hex;
  readonly size: number;
  /** The very bytes of the digest; null where others lie there by now. */
  open(): Promise<Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array> | null>;
}

/** Of one object, while others take its place. */
const HASHINGS = 2;
/** What is smaller is held in memory while it is served; what is larger is read twice, once for its digest. */
const HELD_AT_MOST = 64 * 1024;

/**
 * Takes the digest of what lies under a digest. However large it is, and however slowly it is read, a fixed amount of memory is taken: R2
 * never changes an object, it only replaces it by one of another version.
 *
 * @returns null where there is nothing.
 */
export function hashSiteBytes(env: Env, siteId: string, sha256: string): Promise<HashedObject | null> {
  return hashObject(env, keyOf(siteId, sha256), HASHINGS);
}

async function hashObject({ SITES }: Pick<Env, "SITES">, key: string, hashings: number): Promise<HashedObject | null> {
  const object = await SITES.get(key);
  if (object === null) return null;
  const { size, version } = object;
  if (size <= HELD_AT_MOST) {
    const bytes = new Uint8Array(await object.arrayBuffer());
    return { sha256: await sha256Hex(bytes), size, open: async () => bytes };
  }
  const digest = new crypto.DigestStream("SHA-256");
  await object.body.pipeTo(digest);
  const sha256 = digestHex(new Uint8Array(await digest.digest));
  const open = async () => {
    const again = await SITES.get(key);
    if (again?.version === version) return again.body;
    await again?.body.cancel();
    // The very bytes may have been uploaded again.
    const other = hashings > 1 ? await hashObject({ SITES }, key, hashings - 1) : null;
    return other?.sha256 === sha256 ? other.open() : null;
  };
  return { sha256, size, open };
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
