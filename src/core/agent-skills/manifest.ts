import { INDEX_PATH, INDEX_SCHEMA } from "../discovery/skills-index.ts";
import type { Sha256Hex } from "../integrity.ts";
import { listingPath, pinnedPath } from "./place.ts";
import type { PublishedSkill, SiteContent } from "./publication.ts";

/** A skill of a site with the listing that publishes it. */
export interface ListedSkill {
  readonly skill: PublishedSkill;
  readonly listing: string | null;
}

/** The facts of one request, and the site's settings. */
export interface ManifestView {
  /** `https://host` or `https://host/s/<site>`; empty where the authority is not known, so that addresses are path-absolute. */
  readonly base: string;
  /** Whether the caller is shown what is for authenticated callers alone. */
  readonly showsAll: boolean;
  /** Whether addresses name their bytes (`…@<digest>`), so that no publish between manifest and artifact can part the two. */
  readonly isPinned: boolean;
  /** Whether `skills` is repeated as `entries`, as early readers of v0.2.0 expect. */
  readonly hasEntriesAlias: boolean;
  /** Whether these bytes were found to be others than published, several times. */
  readonly isQuarantined: (sha256: Sha256Hex) => boolean;
}

/** Where the aggregate manifest is, for `base` as in {@link ManifestView}. */
export function manifestUrl(base: string): string {
  return `${base}${INDEX_PATH}`;
}

/**
 * The skills of the aggregate manifest: the site's own, then its listings' in the order of their names; the first of a name counts, for all
 * callers alike. One that is not for everybody leaves its name to no other: a name is the same skill for whoever reads it.
 */
export function aggregateSkills(content: SiteContent): readonly ListedSkill[] {
  const names = new Set<string>();
  const found: ListedSkill[] = [];
  const add = (skills: readonly PublishedSkill[], listing: string | null) => {
    for (const skill of skills) {
      if (names.has(skill.name)) continue;
      names.add(skill.name);
      found.push({ skill, listing });
    }
  };
  add(content.skills, null);
  const byName = (a: { readonly name: string }, b: { readonly name: string }) => (a.name < b.name ? -1 : 1);
  for (const { name, skills } of content.listings.toSorted(byName)) add(skills, name);
  return found;
}

/** The skills of one listing; null where there is none of this name. */
export function listingSkills(content: SiteContent, name: string): readonly ListedSkill[] | null {
  const listing = content.listings.find((one) => one.name === name);
  return listing === undefined ? null : listing.skills.map((skill) => ({ skill, listing: name }));
}

/** Those of these that a caller is shown. */
export function shownSkills(skills: readonly ListedSkill[], view: ManifestView): readonly ListedSkill[] {
  return skills.filter(
    ({ skill }) => (view.showsAll || skill.visibility === "public") && !view.isQuarantined(skill.sha256),
  );
}

/** Where a skill's artifact is fetched: always absolute, but where the authority is not known. */
export function artifactUrl({ skill, listing }: ListedSkill, view: ManifestView): string {
  const { place, sha256 } = skill;
  if (place.kind === "external") return place.url;
  return view.base + publishedPath(listingPath(listing, place.path), sha256, view);
}

/** The path by which a site names bytes of its own. */
export function publishedPath(path: string, sha256: Sha256Hex, { isPinned }: ManifestView): string {
  return isPinned ? pinnedPath(path, sha256) : path;
}

/**
 * The manifest of Agent Skills Discovery v0.2.0 for one caller, pretty-printed JSON: `$schema`, and rows of `name`, `type`,
 * `description`, `url`, `digest` in the order of publication. Nothing tells how visible a skill is.
 */
export function renderManifest(skills: readonly ListedSkill[], view: ManifestView): string {
  const rows = shownSkills(skills, view).map((listed) => {
    const { name, type, description, sha256 } = listed.skill;
    return { name, type, description, url: artifactUrl(listed, view), digest: `sha256:${sha256}` };
  });
  const manifest = { $schema: INDEX_SCHEMA, skills: rows, ...(view.hasEntriesAlias ? { entries: rows } : {}) };
  return `${JSON.stringify(manifest, null, 2)}\n`;
}
