import type { HostedArtifact } from "../../core/agent-skills/layout.ts";
import { renderLlmsTxt } from "../../core/agent-skills/llms-txt.ts";
import {
  aggregateSkills,
  type ListedSkill,
  listingSkills,
  type ManifestView,
  renderManifest,
} from "../../core/agent-skills/manifest.ts";
import { canonicalPath, LLMS_TXT_PATH, readPinnedPath, WELL_KNOWN } from "../../core/agent-skills/place.ts";
import { type Sha256Hex, sha256Hex } from "../../core/integrity.ts";
import type { Env } from "../env.ts";
import { ERRORS, GatewayError } from "../errors.ts";
import { describeFailure } from "../log.ts";
import type { Mismatch } from "./mismatch.ts";
import { isHeld, lastModified, type Validators } from "./preconditions.ts";
import type { ServedSite } from "./read-site.ts";
import { findReplaced } from "./replaced.ts";
import { type HashedObject, hashSiteBytes } from "./site-bucket.ts";

/** One request to a site, by whatever way it came. */
export interface SiteRequest {
  readonly method: string;
  /** Inside the site, as it was spelled: `/skills/a.md`. */
  readonly path: string;
  /** `https://host`, or `https://host/s/<site>`. */
  readonly base: string;
  readonly headers: Headers;
  readonly requestId: string;
  readonly now: number;
  /** Whether the caller is one that is shown what is for authenticated callers. Asked where it matters only. */
  readonly isAuthenticated: () => Promise<boolean>;
  /** Told once a request, before the answer. */
  readonly onMismatch: (mismatch: Mismatch) => void;
}

/** Says which part of the site answered, for the log. */
export type SitePart = "index" | "listing" | "llms_txt" | "artifact" | "none";

type Body = string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>;

/** What an answer would carry, if it carries it. */
interface Content {
  /** Bytes. */
  readonly size: number;
  /** Null where it is not to be had any more. */
  open(): Promise<Body | null>;
}

export interface SiteAnswer {
  readonly status: 200 | 204 | 304 | 404 | 405 | 503;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Body | null;
  readonly part: SitePart;
}

const ALLOWED = "GET, HEAD, OPTIONS";
const INDEX = "index.json";
const encoder = new TextEncoder();
const HEX_PAIR = /../g;

/** What an answer of a site says to browsers: nothing of it ever runs, whatever it says it is, and no page of it shares an origin with ours. */
const SANDBOXED: Readonly<Record<string, string>> = {
  "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; sandbox",
  "X-Content-Type-Options": "nosniff",
  // The gateway's own asks this of all subdomains, of which a tenant's host may have some that are none of our business.
  "Strict-Transport-Security": "max-age=15552000",
};
/** For what everybody may read. */
const PUBLIC: Readonly<Record<string, string>> = {
  "Access-Control-Allow-Origin": "*",
  "Access-Control-Expose-Headers": "ETag, Content-Digest, Last-Modified, X-Request-Id",
  "Cross-Origin-Resource-Policy": "cross-origin",
};
const FOR_KNOWN_CALLERS = "private, no-cache, no-transform";
const FOR_A_MINUTE = "public, max-age=60";
const FOR_FIVE_MINUTES = "public, max-age=300, must-revalidate, no-transform";
const FOREVER = "public, max-age=31536000, immutable, no-transform";

/**
 * Answers as a static publisher would: manifests, `llms.txt`, artifacts and files of one version of the site. Artifacts are hashed anew for
 * every answer, also for `304` and `HEAD`, and never served where the hash is another one.
 *
 * @throws {GatewayError} `policy_unavailable`; whatever `isAuthenticated` throws.
 */
export async function answerSite(env: Env, site: ServedSite, request: SiteRequest): Promise<SiteAnswer> {
  if (request.method === "OPTIONS") return preflight();
  if (request.method !== "GET" && request.method !== "HEAD") return refused("method_not_allowed", { Allow: ALLOWED });
  const answer = await new Answering(env, site, request).answer();
  if (request.method === "GET" || typeof answer.body !== "string") return answer;
  const length = String(encoder.encode(answer.body).length);
  return { ...answer, body: null, headers: { ...answer.headers, "Content-Length": length } };
}

/** The answer for a site that does not exist, is suspended or has published nothing: that of an address that does not exist. */
export function noSuchSite(): SiteAnswer {
  return refused("not_found");
}

class Answering {
  readonly #env: Env;
  readonly #site: ServedSite;
  readonly #request: SiteRequest;
  #caller: Promise<boolean> | null = null;

  constructor(env: Env, site: ServedSite, request: SiteRequest) {
    this.#env = env;
    this.#site = site;
    this.#request = request;
  }

  async answer(): Promise<SiteAnswer> {
    const path = canonicalPath(this.#request.path);
    if (path === LLMS_TXT_PATH) return this.#llmsTxt();
    const listed = path === null ? null : this.#findManifest(path);
    if (listed !== null && listed.skills.length > 0) return this.#manifest(listed.skills, listed.part);
    return this.#artifact(path);
  }

  /** Who asks, found out once. Where nothing can be hidden nobody is asked. */
  #isKnown(canBeHidden = this.#site.isMixed): Promise<boolean> {
    this.#caller ??= canBeHidden ? this.#request.isAuthenticated() : Promise.resolve(false);
    return this.#caller;
  }

  #findManifest(path: string): { readonly skills: readonly ListedSkill[]; readonly part: SitePart } | null {
    if (!path.startsWith(WELL_KNOWN) || !path.endsWith(INDEX)) return null;
    const { content } = this.#site;
    const inner = path.slice(WELL_KNOWN.length, -INDEX.length);
    if (inner === "") return { skills: aggregateSkills(content), part: "index" };
    if (!/^[^/]+\/$/.test(inner)) return null;
    const skills = listingSkills(content, inner.slice(0, -1));
    return skills === null ? null : { skills, part: "listing" };
  }

  async #view(): Promise<ManifestView> {
    const { site, quarantined } = this.#site;
    return {
      base: this.#request.base,
      showsAll: await this.#isKnown(),
      isPinned: site.artifactUrls === "pinned",
      hasEntriesAlias: site.entriesAlias,
      isQuarantined: (sha256) => quarantined.has(sha256),
    };
  }

  async #manifest(skills: readonly ListedSkill[], part: SitePart): Promise<SiteAnswer> {
    return this.#document(renderManifest(skills, await this.#view()), "application/json", part);
  }

  async #llmsTxt(): Promise<SiteAnswer> {
    const text = renderLlmsTxt(this.#site.content, await this.#view());
    return this.#document(text, "text/plain; charset=utf-8", "llms_txt");
  }

  /** A document that is made for this caller. */
  async #document(text: string, mediaType: string, part: SitePart): Promise<SiteAnswer> {
    const isKnown = await this.#isKnown();
    const encoded = encoder.encode(text);
    const sha256 = await sha256Hex(encoded);
    const caching = {
      "Cache-Control": isKnown ? FOR_KNOWN_CALLERS : FOR_A_MINUTE,
      ...(this.#site.isMixed ? { Vary: "Authorization" } : {}),
      ...(isKnown ? {} : PUBLIC),
    };
    const validators = { etag: etagOf(sha256), modifiedAt: documentModifiedAt(this.#site) };
    const content = { size: encoded.length, open: async () => text };
    return this.#conditional(validators, { ...caching, "Content-Type": mediaType }, content, part);
  }

  async #conditional(
    validators: Validators,
    headers: Readonly<Record<string, string>>,
    content: Content,
    part: SitePart,
  ): Promise<SiteAnswer> {
    const { method, now } = this.#request;
    const all = { ...SANDBOXED, ...headers, ETag: validators.etag, ...lastModified(validators, now) };
    if (!isHeld(this.#request.headers, validators, now)) {
      const length = String(content.size);
      if (method === "HEAD") return { status: 200, headers: { ...all, "Content-Length": length }, body: null, part };
      const body = await content.open();
      return body === null ? unavailable() : { status: 200, headers: all, body, part };
    }
    const { "Content-Type": _, "Content-Digest": __, ...kept } = all as Record<string, string>;
    return { status: 304, headers: kept, body: null, part };
  }

  async #artifact(path: string | null): Promise<SiteAnswer> {
    const found = path === null ? null : await this.#findArtifact(path);
    // Asked also where nothing is found: whether a hidden artifact lies there must not show. What was replaced may have been hidden.
    const canBeHidden = this.#site.isMixed || (path !== null && readPinnedPath(path) !== null);
    if (found?.artifact.visibility !== "public" && !(await this.#isKnown(canBeHidden))) return refused("not_found");
    if (found === null) return refused("not_found");
    return this.#serve(found.artifact, found.isPinned, found.path);
  }

  async #findArtifact(path: string) {
    const { layout } = this.#site;
    const current = layout.get(path);
    if (current !== undefined) return { artifact: current, isPinned: false, path };
    const pinned = readPinnedPath(path);
    if (pinned === null) return null;
    const present = layout.get(pinned.path);
    if (present?.sha256 === pinned.sha256) return { artifact: present, isPinned: true, path: pinned.path };
    const replaced = await findReplaced(this.#env, this.#site, pinned.path, pinned.sha256, this.#request.now);
    return replaced === null ? null : { artifact: replaced, isPinned: true, path: pinned.path };
  }

  async #serve(artifact: HostedArtifact, isPinned: boolean, path: string): Promise<SiteAnswer> {
    const { site, quarantined } = this.#site;
    const { sha256, mediaType, visibility } = artifact;
    let object: HashedObject | null;
    try {
      object = await hashSiteBytes(this.#env, site.id, sha256);
    } catch (error) {
      return this.#notRead(sha256, error);
    }
    const isQuarantined = quarantined.has(sha256);
    if (object?.sha256 !== sha256) {
      await this.#report(artifact, path, object?.sha256 ?? null, !isQuarantined);
      return unavailable();
    }
    if (isQuarantined) return unavailable();
    const caching = visibility === "public" ? (isPinned ? FOREVER : FOR_FIVE_MINUTES) : FOR_KNOWN_CALLERS;
    const headers = {
      "Content-Type": mediaType,
      "Content-Digest": `sha-256=:${base64(sha256)}:`,
      "Cache-Control": caching,
      ...(visibility === "public" ? PUBLIC : { Vary: "Authorization" }),
    };
    const validators = { etag: etagOf(sha256), modifiedAt: this.#site.switchedAt };
    try {
      return await this.#conditional(validators, headers, object, "artifact");
    } catch (error) {
      return this.#notRead(sha256, error);
    }
  }

  #notRead(sha256: string, error: unknown): SiteAnswer {
    const { name } = this.#site.site;
    console.error(JSON.stringify({ event: "site_bytes_not_read", site: name, sha256, error: describeFailure(error) }));
    return unavailable();
  }

  async #report(artifact: HostedArtifact, path: string, observed: string | null, isNews: boolean): Promise<void> {
    const { site } = this.#site;
    this.#request.onMismatch({
      siteId: site.id,
      site: site.name,
      skillName: artifact.skill ?? path,
      listing: artifact.listing,
      hostname: new URL(this.#request.base).host,
      expected: artifact.sha256,
      observed: observed ?? "absent",
      caller: (await this.#isKnown()) ? "authenticated" : "anonymous",
      requestId: this.#request.requestId,
      isNews,
    });
  }
}

function etagOf(sha256: Sha256Hex): string {
  return `"sha256-${sha256}"`;
}

/**
 * When what manifests and `llms.txt` say was last changed: by a publish, or by a setting of the site, from the second after it on. No date
 * tells what two callers are shown apart, nor when bytes went into quarantine.
 */
function documentModifiedAt({ site, switchedAt, isMixed, quarantined }: ServedSite): number | null {
  if (isMixed || quarantined.size > 0) return null;
  return site.updatedAt > switchedAt ? Math.floor(site.updatedAt / 1_000) * 1_000 + 1_000 : switchedAt;
}

function preflight(): SiteAnswer {
  const headers = {
    ...SANDBOXED,
    ...PUBLIC,
    Allow: ALLOWED,
    "Access-Control-Allow-Methods": ALLOWED,
    "Access-Control-Allow-Headers": "Accept, If-None-Match, If-Modified-Since",
    "Access-Control-Max-Age": "86400",
  };
  return { status: 204, headers, body: null, part: "none" };
}

function refused(code: "not_found" | "method_not_allowed", headers: Readonly<Record<string, string>> = {}): SiteAnswer {
  const { status } = ERRORS[code];
  const body = JSON.stringify(new GatewayError(code).body());
  const said = { "Content-Type": "application/json", "Cache-Control": "no-store", "Access-Control-Allow-Origin": "*" };
  return { status: status as 404 | 405, headers: { ...SANDBOXED, ...said, ...headers }, body, part: "none" };
}

/** Says nothing of what was found: the digests are for operators. */
function unavailable(): SiteAnswer {
  const said = {
    "Content-Type": "application/json",
    "Cache-Control": "no-store",
    "Retry-After": "60",
    "Access-Control-Allow-Origin": "*",
  };
  return { status: 503, headers: { ...SANDBOXED, ...said }, body: '{"error":"service unavailable"}', part: "artifact" };
}

function base64(sha256: Sha256Hex): string {
  return btoa(String.fromCharCode(...(sha256.match(HEX_PAIR) ?? []).map((pair) => Number.parseInt(pair, 16))));
}
