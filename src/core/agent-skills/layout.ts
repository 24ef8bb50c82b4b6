import type { Sha256Hex } from "../integrity.ts";
import { JSON_TYPE, SCRIPT_TYPE } from "./media-types.ts";
import { listingPath } from "./place.ts";
import type { PublishedSkill, SiteContent, Visibility } from "./publication.ts";

/** Bytes that a site serves itself. */
export interface HostedArtifact {
  readonly sha256: Sha256Hex;
  readonly bytes: number;
  readonly mediaType: string;
  readonly visibility: Visibility;
  /** The entry whose artifact or tool it is; null for other files. */
  readonly skill: string | null;
  readonly listing: string | null;
}

/** What lies where in a site, by canonical path. Manifests and `llms.txt`, which are made when they are asked for, are not in it. */
export function layOut(content: SiteContent): ReadonlyMap<string, HostedArtifact> {
  const artifacts = new Map<string, HostedArtifact>();
  const addSkills = (skills: readonly PublishedSkill[], listing: string | null) => {
    for (const { name: skill, place, sha256, bytes, mediaType, visibility, tool } of skills) {
      if (place.kind === "hosted") {
        artifacts.set(listingPath(listing, place.path), { sha256, bytes, mediaType, visibility, skill, listing });
      }
      if (tool !== null) {
        const { path, ...script } = tool;
        artifacts.set(path, {
          sha256: script.sha256,
          bytes: script.bytes,
          mediaType: SCRIPT_TYPE,
          visibility,
          skill,
          listing,
        });
      }
    }
  };
  addSkills(content.skills, null);
  for (const { name, skills } of content.listings) addSkills(skills, name);
  for (const { path, ...file } of content.files) artifacts.set(path, { ...file, skill: null, listing: null });
  for (const { path, sha256, bytes } of content.memories) {
    artifacts.set(path, { sha256, bytes, mediaType: JSON_TYPE, visibility: "public", skill: null, listing: null });
  }
  return artifacts;
}

/** Whether some of a site is not for everybody, so that its answers depend on who asks. */
export function isVisibilityMixed(content: SiteContent): boolean {
  const isHidden = ({ visibility }: { readonly visibility: Visibility }) => visibility === "authenticated";
  return (
    content.skills.some(isHidden) ||
    content.files.some(isHidden) ||
    content.listings.some(({ skills }) => skills.some(isHidden))
  );
}
