import { ARCHIVE_LIMIT_RANGES } from "../archive/limits.ts";
import type { Sha256Hex } from "../integrity.ts";
import { toPublicName } from "../skill.ts";
import { fileMediaType } from "./media-types.ts";
import { isDescription, isLine, isScope, isSkillName, isToolName, MAX_DESCRIPTION_CHARS } from "./names.ts";
import { hostedPath, listingPath, parsePlace } from "./place.ts";
import {
  type Place,
  PUBLICATION_LIMITS,
  type Publication,
  type PublicationSkill,
  type PublicationTool,
  type Visibility,
} from "./publication.ts";
import { PublicationError } from "./publication-error.ts";

const NAME_RULE = "must be 1 to 64 lower-case letters, digits and single hyphens, with no hyphen at an end";
const DESCRIPTION_RULE = `must be one line of 1 to ${MAX_DESCRIPTION_CHARS} characters, none of them hidden`;
const MAX_WORD_CHARS = 64;

/** A skill whose place is known, and not yet its bytes. */
export interface PlannedSkill {
  readonly entry: PublicationSkill;
  readonly listing: string | null;
  readonly place: Place;
  readonly tool: { readonly name: string; readonly path: string; readonly sha256: Sha256Hex } | null;
  /** Of the publication. */
  readonly field: string;
}

export interface PlannedFile {
  readonly path: string;
  readonly sha256: Sha256Hex;
  readonly visibility: Visibility;
  readonly mediaType: string;
}

export interface PlannedMemory {
  readonly path: string;
  readonly sha256: Sha256Hex;
  readonly scope: string | null;
}

/** What a publication amounts to, before anything is read. */
export interface Plan {
  /** The site's own, then each listing's. */
  readonly skills: readonly PlannedSkill[];
  readonly files: readonly PlannedFile[];
  readonly memories: readonly PlannedMemory[];
  /** The digests that must have been uploaded, each with the first member that names it and the most bytes it may have. */
  readonly needed: ReadonlyMap<Sha256Hex, { readonly field: string; readonly maxBytes: number }>;
}

/**
 * Judges all of a publication that needs no bytes: names, descriptions, places, bounds, and that no two entries meet.
 *
 * @throws {PublicationError} for the first member that is wrong.
 */
export function planPublication(publication: Publication): Plan {
  return new Planner(publication).plan();
}

class Planner {
  readonly #publication: Publication;
  readonly #needed = new Map<Sha256Hex, { field: string; maxBytes: number }>();
  /** What lies at each address. */
  readonly #taken = new Map<
    string,
    { readonly sha256: string; readonly isShared: boolean; readonly visibility: Visibility }
  >();
  readonly #publicNames = new Set<string>();

  constructor(publication: Publication) {
    this.#publication = publication;
  }

  plan(): Plan {
    const { title, description, skills, listings, files, memories } = this.#publication;
    if (!isLine(title, 100) || title.trim() === "") {
      throw new PublicationError("bad_name", "title", "must be one line of 1 to 100 characters, none of them hidden");
    }
    if (!isLine(description, MAX_DESCRIPTION_CHARS)) {
      throw new PublicationError(
        "bad_description",
        "description",
        `must be one line of at most ${MAX_DESCRIPTION_CHARS} characters`,
      );
    }
    atMost("listings", listings.length, PUBLICATION_LIMITS.listings);
    atMost("files", files.length, PUBLICATION_LIMITS.files);
    atMost("memories", memories.length, PUBLICATION_LIMITS.memories);
    const count = listings.reduce((sum, listing) => sum + listing.skills.length, skills.length);
    atMost("skills", count, PUBLICATION_LIMITS.skills);

    const planned = this.#skills(skills, null, "skills");
    const names = new Set<string>();
    for (const [index, listing] of listings.entries()) {
      const field = `listings.${index}`;
      if (!isSkillName(listing.name)) throw new PublicationError("bad_name", `${field}.name`, NAME_RULE);
      if (names.has(listing.name)) throw duplicateName(`${field}.name`, listing.name);
      names.add(listing.name);
      planned.push(...this.#skills(listing.skills, listing.name, `${field}.skills`));
    }
    refuseBorrowedNames(planned);
    return { skills: planned, files: this.#files(), memories: this.#memories(), needed: this.#needed };
  }

  #skills(entries: readonly PublicationSkill[], listing: string | null, list: string): PlannedSkill[] {
    const names = new Set<string>();
    return entries.map((entry, index) => {
      const field = `${list}.${index}`;
      if (!isSkillName(entry.name)) throw new PublicationError("bad_name", `${field}.name`, NAME_RULE);
      if (names.has(entry.name)) throw duplicateName(`${field}.name`, entry.name);
      names.add(entry.name);
      if (!isDescription(entry.description)) {
        throw new PublicationError("bad_description", `${field}.description`, DESCRIPTION_RULE);
      }
      checkWords(entry, field);
      checkLimits(entry, field);
      const place = parsePlace(entry.url, `${field}.url`);
      if (listing !== null && place.kind === "hosted" && !place.path.startsWith("/skills/")) {
        throw new PublicationError("bad_url", `${field}.url`, "of a listing must be /skills/… or an https address");
      }
      if (place.kind === "hosted") this.#take(listingPath(listing, place.path), entry, `${field}.url`);
      if (entry.sha256 !== null && place.kind === "hosted") {
        const { archiveBytes, skillMdBytes } = PUBLICATION_LIMITS;
        this.#need(entry.sha256, field, entry.type === "archive" ? archiveBytes : skillMdBytes);
      }
      if (entry.sha256 === null && place.kind === "hosted") {
        throw new PublicationError(
          "missing_digest",
          `${field}.sha256`,
          "must name the artifact's bytes, which were uploaded before",
        );
      }
      return { entry, listing, place, field, tool: this.#tool(entry, listing, field) };
    });
  }

  #tool(entry: PublicationSkill, listing: string | null, field: string): PlannedSkill["tool"] {
    const { tool, scope, visibility } = entry;
    if (scope !== null && (tool === null || !isScope(scope))) {
      throw new PublicationError("bad_scope", `${field}.scope`, "must match ^[a-z][a-z0-9_-]*$, and needs a tool");
    }
    if (tool === null) return null;
    if (listing !== null)
      throw new PublicationError("bad_url", `${field}.tool`, "must be of a skill of the site's own list");
    const name = tool.name ?? entry.name;
    if (!isToolName(name)) {
      throw new PublicationError(
        "bad_name",
        `${field}.tool.name`,
        "must be 1 to 64 letters, digits, hyphens and underscores",
      );
    }
    const publicName = toPublicName({ scope, name });
    if (this.#publicNames.has(publicName)) throw duplicateName(`${field}.tool.name`, publicName);
    this.#publicNames.add(publicName);
    return { name, ...this.#hosted(tool, `${field}.tool`, PUBLICATION_LIMITS.toolBytes, visibility) };
  }

  #files(): PlannedFile[] {
    return this.#publication.files.map((file, index) => {
      const place = this.#hosted(file, `files.${index}`, PUBLICATION_LIMITS.fileBytes, file.visibility);
      return { ...place, visibility: file.visibility, mediaType: fileMediaType(place.path) };
    });
  }

  #memories(): PlannedMemory[] {
    const scopes = new Set<string | null>();
    return this.#publication.memories.map((memory, index) => {
      const field = `memories.${index}`;
      const { scope } = memory;
      if (scope !== null && !isScope(scope)) {
        throw new PublicationError("bad_scope", `${field}.scope`, "must match ^[a-z][a-z0-9_-]*$");
      }
      if (scopes.has(scope)) throw duplicateName(`${field}.scope`, scope ?? "");
      scopes.add(scope);
      return { ...this.#hosted(memory, field, PUBLICATION_LIMITS.snapshotBytes, "public"), scope };
    });
  }

  /** A file that may be named again with the same bytes, as skills of several scopes share a script. */
  #hosted(
    { url, sha256 }: Pick<PublicationTool, "url" | "sha256">,
    field: string,
    maxBytes: number,
    visibility: Visibility,
  ) {
    const path = hostedPath(url, `${field}.url`);
    this.#take(path, { sha256, visibility }, `${field}.url`, true);
    this.#need(sha256, field, maxBytes);
    return { path, sha256 };
  }

  /** Two entries at one address: clients would get the bytes of the one under the digest of the other. */
  #take(
    path: string,
    { sha256, visibility }: Pick<PublicationSkill, "sha256" | "visibility">,
    field: string,
    isShared = false,
  ): void {
    const other = this.#taken.get(path);
    const isSame = other?.isShared && isShared && other.sha256 === sha256 && other.visibility === visibility;
    if (other !== undefined && !isSame) {
      throw new PublicationError("duplicate_url", field, `must not be ${path}, where another entry lies`);
    }
    this.#taken.set(path, { sha256: sha256 ?? "", isShared, visibility });
  }

  #need(sha256: Sha256Hex, field: string, maxBytes: number): void {
    const known = this.#needed.get(sha256);
    if (known === undefined) this.#needed.set(sha256, { field, maxBytes });
    else known.maxBytes = Math.min(known.maxBytes, maxBytes);
  }
}

/**
 * A tool is listed by its name in `llms.txt`, and its skill by its own in manifests: where that is another entry's, readers compare the recipe of the
 * one with the digest of the other, and give up both.
 */
function refuseBorrowedNames(planned: readonly PlannedSkill[]): void {
  const names = new Set(planned.map(({ entry }) => entry.name));
  for (const { entry, tool, field } of planned) {
    if (tool === null || entry.scope !== null || tool.name === entry.name || !names.has(tool.name)) continue;
    throw new PublicationError(
      "duplicate_name",
      `${field}.tool.name`,
      `must not be ${JSON.stringify(tool.name)}, which is the name of another skill`,
    );
  }
}

function checkWords(entry: PublicationSkill, field: string): void {
  for (const name of ["version", "license"] as const) {
    const word = entry[name];
    if (word === null || (isLine(word, MAX_WORD_CHARS) && word !== "")) continue;
    throw new PublicationError(
      "bad_name",
      `${field}.${name}`,
      `must be 1 to ${MAX_WORD_CHARS} characters, none of them hidden`,
    );
  }
}

function checkLimits({ limits }: PublicationSkill, field: string): void {
  for (const [name, [min, max]] of Object.entries(ARCHIVE_LIMIT_RANGES)) {
    const value = limits[name as keyof typeof limits];
    if (value === undefined || (Number.isInteger(value) && value >= min && value <= max)) continue;
    throw new PublicationError("bad_limit", `${field}.limits.${name}`, `must be an integer from ${min} to ${max}`);
  }
}

function atMost(field: string, count: number, max: number): void {
  if (count <= max) return;
  const what = field === "skills" ? `${max}, those of listings included` : `${max}`;
  throw new PublicationError("too_many", field, `must be at most ${what}`);
}

function duplicateName(field: string, name: string): PublicationError {
  return new PublicationError("duplicate_name", field, `must not be ${JSON.stringify(name)} again`);
}
