import { checkArtifact, type PublicationWarning } from "../../core/agent-skills/check-artifact.ts";
import { type Plan, type PlannedSkill, planPublication } from "../../core/agent-skills/plan.ts";
import {
  PUBLICATION_LIMITS,
  type Publication,
  type PublishedSkill,
  type SiteContent,
} from "../../core/agent-skills/publication.ts";
import { PublicationError } from "../../core/agent-skills/publication-error.ts";
import { zlibInflater } from "../../core/archive/zlib-inflater.ts";
import { sha256Hex } from "../../core/integrity.ts";
import type { OriginRules } from "../../core/origin.ts";
import type { Env } from "../env.ts";
import type { Registry } from "../registry/database.ts";
import { claimBlobs } from "../registry/site-blobs.ts";
import { MAX_CONTENT_CHARS } from "../registry/sites.ts";
import { publisherFetch } from "../releases/publisher-fetch.ts";
import { fetchExternalArtifact } from "./external-artifact.ts";
import { readSiteBytes } from "./site-bucket.ts";

/** A publication that may be published as it is. */
export interface CheckedPublication {
  readonly content: SiteContent;
  readonly warnings: readonly PublicationWarning[];
}

/**
 * Checks all of a publication: its entries, that the bytes it names were uploaded, and what these bytes say.
 *
 * @param rules which hosts artifacts elsewhere may lie on.
 * @throws {PublicationError} for the first entry that must not be published.
 */
export async function checkPublication(
  env: Env,
  registry: Registry,
  siteId: string,
  publication: Publication,
  rules: OriginRules,
): Promise<CheckedPublication> {
  const plan = planPublication(publication);
  const lengths = await claimAll(registry, siteId, plan);
  const warnings: PublicationWarning[] = [];
  const skills: PublishedSkill[] = [];
  // One after the other: an archive is read in memory, and several at once would not fit.
  for (const planned of plan.skills) {
    const { skill, warnings: found } = await checkSkill(env, siteId, planned, lengths, rules);
    skills.push(skill);
    warnings.push(...found);
  }
  const of = (listing: string | null) => skills.filter((_, index) => plan.skills[index]?.listing === listing);
  const bytesOf = (sha256: string) => lengths.get(sha256) ?? 0;
  const content: SiteContent = {
    title: publication.title,
    description: publication.description,
    skills: of(null),
    listings: publication.listings.map(({ name }) => ({ name, skills: of(name) })),
    files: plan.files.map((file) => ({ ...file, bytes: bytesOf(file.sha256) })),
    memories: plan.memories.map((memory) => ({ ...memory, bytes: bytesOf(memory.sha256) })),
  };
  if (JSON.stringify(content).length > MAX_CONTENT_CHARS) {
    throw new PublicationError(
      "too_large",
      "skills",
      `must take at most ${MAX_CONTENT_CHARS} characters together, as JSON`,
    );
  }
  return { content, warnings };
}

async function claimAll(registry: Registry, siteId: string, plan: Plan): Promise<ReadonlyMap<string, number>> {
  const lengths = await claimBlobs(registry, siteId, [...plan.needed.keys()], Date.now());
  let total = 0;
  for (const [sha256, { field, maxBytes }] of plan.needed) {
    const bytes = lengths.get(sha256);
    if (bytes === undefined) {
      throw new PublicationError("unknown_digest", field, `names bytes that were not uploaded, ${sha256}`);
    }
    if (bytes > maxBytes)
      throw new PublicationError("too_large", field, `names ${bytes} bytes; the limit is ${maxBytes}`);
    total += bytes;
  }
  if (total > PUBLICATION_LIMITS.totalBytes) {
    throw new PublicationError(
      "too_large",
      "skills",
      `and files must have at most ${PUBLICATION_LIMITS.totalBytes} bytes together`,
    );
  }
  return lengths;
}

async function checkSkill(
  env: Env,
  siteId: string,
  { entry, place, tool, field }: PlannedSkill,
  lengths: ReadonlyMap<string, number>,
  rules: OriginRules,
): Promise<{ readonly skill: PublishedSkill; readonly warnings: readonly PublicationWarning[] }> {
  const bytes =
    place.kind === "external"
      ? await fetchExternalArtifact(place.url, entry.type, field, rules, publisherFetch(env))
      : await storedBytes(env, siteId, entry.sha256 ?? "", field);
  const sha256 = await sha256Hex(bytes);
  if (entry.sha256 !== null && entry.sha256 !== sha256) {
    throw new PublicationError("digest_differs", `${field}.sha256`, `is not the digest of what lies there, ${sha256}`);
  }
  const { mediaType, members, frontmatter, warnings } = await checkArtifact(entry, bytes, field, zlibInflater);
  const { name, type, description, visibility, limits, version, license, scope } = entry;
  const script = tool === null ? null : { ...tool, bytes: lengths.get(tool.sha256) ?? 0 };
  const facts = { place, sha256, bytes: bytes.length, mediaType, members, frontmatter };
  return {
    skill: { name, type, description, visibility, limits, version, license, scope, ...facts, tool: script },
    warnings,
  };
}

async function storedBytes(env: Env, siteId: string, sha256: string, field: string): Promise<Uint8Array> {
  const bytes = await readSiteBytes(env, siteId, sha256);
  if (bytes !== null) return bytes;
  throw new PublicationError(
    "unknown_digest",
    field,
    `names bytes that are not stored any more, ${sha256}; upload them again`,
  );
}
