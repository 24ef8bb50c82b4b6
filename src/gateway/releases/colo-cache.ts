import type { Release } from "../../core/discovery/release.ts";
import { isSha256Hex, type Sha256Hex, sha256Hex } from "../../core/integrity.ts";
import type { CanonicalOrigin } from "../../core/origin.ts";
import { SERVABLE_MS } from "../durable/origin-hub.ts";
import { type PackedRelease, packedBytes, type ReleaseHead, unpackRelease } from "./packed-release.ts";

/** Of what the entries mean; entries of another format are never found. */
const FORMAT = 5;
/** Bytes of a release are named after their hash and never change; this is how long they may lie there, seconds. */
const BYTES_MAX_AGE_S = 3_600;
/** Larger releases are left to the hub: writing and reading an entry each take a second copy of it in the memory of an isolate. */
export const MAX_ENTRY_BYTES = 4 * 1_048_576;
/** An address that no one else can have (RFC 2606). */
const BASE = `https://skillgate.invalid/release/${FORMAT}`;

export interface Loaded {
  readonly release: Release;
  /** What it occupies in memory, about. */
  readonly bytes: number;
}

/** What precedes the bytes of an entry: one line of JSON. */
interface Contents {
  readonly manifest: number;
  readonly artifacts: readonly (readonly [Sha256Hex, number])[];
}

/**
 * Releases in the Cache API: shared by the isolates of one data centre, between their memories and the hubs.
 *
 * Two entries a release: its head under its origin, which is small and replaced with every refresh, and its bytes under its version,
 * which are written once. Whatever is read is hashed again; what is altered, incomplete or of another origin is discarded. A platform
 * where the Cache API is absent, does nothing (`workers.dev`) or fails is a platform where nothing is ever found.
 */
export class ColoCache {
  readonly #platform: () => Cache | undefined;

  constructor(platform = platformCache) {
    this.#platform = platform;
  }

  /** The head of the origin's release, where it is of a servable age. */
  async head(origin: CanonicalOrigin): Promise<ReleaseHead | null> {
    const response = await this.#match(headUrl(origin));
    if (response === undefined) return null;
    try {
      const { version, fetchedAt, policyVersion } = (await response.json()) as ReleaseHead;
      const age = Date.now() - fetchedAt;
      const isHead = isSha256Hex(version) && age >= 0 && age <= SERVABLE_MS && Number.isSafeInteger(policyVersion);
      return isHead ? { version, fetchedAt, policyVersion } : null;
    } catch {
      return null;
    }
  }

  /** The release that a head names, every byte of it hashed again; `null` where there is none, or not this one. */
  async load(origin: CanonicalOrigin, head: ReleaseHead): Promise<Loaded | null> {
    const url = bytesUrl(head.version);
    const response = await this.#match(url);
    const loaded = response === undefined ? null : await parse(head, response);
    if (loaded?.release.origin === origin) return loaded;
    await this.#discard([url, headUrl(origin)]);
    return null;
  }

  /**
   * Stores a head, and the bytes where they are given. Never fails.
   *
   * @param packed `null` where whoever asks knows that its bytes were stored.
   */
  async store(
    origin: CanonicalOrigin,
    { version, fetchedAt, policyVersion }: ReleaseHead,
    packed: PackedRelease | null,
  ): Promise<void> {
    const left = Math.floor((fetchedAt + SERVABLE_MS - Date.now()) / 1_000);
    if (left <= 0) return;
    if (packed !== null && packedBytes(packed) > MAX_ENTRY_BYTES) return;
    if (packed !== null) await this.#put(bytesUrl(version), serialise(packed), BYTES_MAX_AGE_S);
    await this.#put(headUrl(origin), JSON.stringify({ version, fetchedAt, policyVersion }), left);
  }

  /** Forgets an origin that withdrew what it offered. Never fails. */
  forget(origin: CanonicalOrigin): Promise<void> {
    return this.#discard([headUrl(origin)]);
  }

  async #match(url: string): Promise<Response | undefined> {
    try {
      return await this.#platform()?.match(url);
    } catch {
      return undefined;
    }
  }

  async #put(url: string, body: BodyInit, maxAgeS: number): Promise<void> {
    try {
      const headers = { "Cache-Control": `public, max-age=${maxAgeS}` };
      await this.#platform()?.put(url, new Response(body, { headers }));
    } catch {
      // A cache that takes nothing is no reason to fail: the hub has the release.
    }
  }

  async #discard(urls: readonly string[]): Promise<void> {
    try {
      await Promise.all(urls.map((url) => this.#platform()?.delete(url)));
    } catch {
      // What cannot be discarded is discarded again by the next who reads it.
    }
  }
}

function platformCache(): Cache | undefined {
  return (globalThis as { caches?: CacheStorage }).caches?.default;
}

function headUrl(origin: CanonicalOrigin): string {
  return `${BASE}/head?origin=${encodeURIComponent(origin)}`;
}

function bytesUrl(version: Sha256Hex): string {
  return `${BASE}/bytes/${version}`;
}

function serialise(packed: PackedRelease): Uint8Array<ArrayBuffer> {
  const artifacts = [...packed.artifacts].map(([sha256, bytes]) => [sha256, bytes.length] as const);
  const contents: Contents = { manifest: packed.manifest.length, artifacts };
  const line = new TextEncoder().encode(`${JSON.stringify(contents)}\n`);
  const whole = new Uint8Array(line.length + packedBytes(packed));
  let offset = 0;
  for (const part of [line, packed.manifest, ...packed.artifacts.values()]) {
    whole.set(part, offset);
    offset += part.length;
  }
  return whole;
}

/** Trusts nothing: the entry may have been altered, or cut. */
async function parse(head: ReleaseHead, response: Response): Promise<Loaded | null> {
  try {
    const whole = new Uint8Array(await response.arrayBuffer());
    const lineEnd = whole.indexOf(0x0a);
    const contents = JSON.parse(new TextDecoder().decode(whole.subarray(0, lineEnd))) as Contents;
    let offset = lineEnd + 1;
    const take = async (length: number, sha256: Sha256Hex): Promise<Uint8Array> => {
      const bytes = whole.slice(offset, offset + length);
      offset += length;
      if ((await sha256Hex(bytes)) !== sha256) throw new Error("The bytes have another hash.");
      return bytes;
    };
    const manifest = await take(contents.manifest, head.version);
    const artifacts = new Map<Sha256Hex, Uint8Array>();
    for (const [sha256, length] of contents.artifacts) artifacts.set(sha256, await take(length, sha256));
    const packed = { ...head, manifest, artifacts };
    return { release: unpackRelease(packed), bytes: packedBytes(packed) };
  } catch {
    return null;
  }
}
