import type {
  PublishedFile,
  PublishedMemory,
  PublishedSkill,
  SiteContent,
  Visibility,
} from "../../src/core/agent-skills/publication.ts";

/** One thing that a version of a site publishes. */
export interface Published {
  /** Of this thing in every version. */
  readonly key: string;
  readonly kind: "skill" | "script" | "file" | "memory";
  readonly name: string;
  /** The listing that it is part of; null for what is the site's own. */
  readonly listing: string | null;
  readonly description: string;
  /** A path of the site, or an address elsewhere. */
  readonly address: string;
  readonly visibility: Visibility;
  readonly bytes: number;
  readonly sha256: string;
  /** What else is said of it, by what people call it. */
  readonly about: Readonly<Record<string, string>>;
}

/** All that a version publishes: its own skills in their order, those of its listings, memories and files. */
export function publishedOf({ skills, listings, memories, files }: SiteContent): readonly Published[] {
  return [
    ...skills.flatMap((skill) => ofSkill(skill, null)),
    ...listings.flatMap(({ name, skills: listed }) => listed.flatMap((skill) => ofSkill(skill, name))),
    ...memories.map(ofMemory),
    ...files.map(ofFile),
  ];
}

function ofSkill(skill: PublishedSkill, listing: string | null): readonly Published[] {
  const { name, type, description, place, visibility, bytes, sha256, version, license, scope, tool, limits } = skill;
  const about = {
    type,
    version: version ?? "",
    license: license ?? "",
    scope: scope ?? "",
    limits: limitsText(limits),
  };
  const artifact: Published = {
    ...{ key: JSON.stringify(["skill", listing, name]), kind: "skill", name, listing, description },
    ...{ address: place.kind === "hosted" ? place.path : place.url, visibility, bytes, sha256, about },
  };
  if (tool === null) return [artifact];
  const script: Published = {
    ...{ key: JSON.stringify(["script", listing, name]), kind: "script", name: tool.name, listing, description: "" },
    ...{ address: tool.path, visibility, bytes: tool.bytes, sha256: tool.sha256, about: {} },
  };
  return [artifact, script];
}

function limitsText(limits: object): string {
  return Object.entries(limits)
    .map(([name, value]) => `${name} ${value}`)
    .sort()
    .join(", ");
}

function ofMemory({ path, sha256, bytes, scope }: PublishedMemory): Published {
  return {
    ...{ key: JSON.stringify(["memory", path]), kind: "memory", name: fileName(path), listing: null, description: "" },
    ...{ address: path, visibility: "public", bytes, sha256, about: { scope: scope ?? "" } },
  };
}

function fileName(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

function ofFile({ path, sha256, bytes, mediaType, visibility }: PublishedFile): Published {
  return {
    ...{ key: JSON.stringify(["file", path]), kind: "file", name: fileName(path), listing: null, description: "" },
    ...{ address: path, visibility, bytes, sha256, about: { type: mediaType } },
  };
}

/** One fact that differs; empty where there is none. */
export interface Difference {
  readonly fact: string;
  readonly was: string;
  readonly is: string;
}

export interface PublishedChange {
  readonly key: string;
  readonly change: "added" | "removed" | "changed";
  /** Null: the site as a whole. */
  readonly thing: Published | null;
  readonly differences: readonly Difference[];
}

/** What becomes another thing when one version takes the place of another. @param before null: there was none. */
export function changesBetween(before: SiteContent | null, after: SiteContent): readonly PublishedChange[] {
  const was = new Map((before === null ? [] : publishedOf(before)).map((thing) => [thing.key, thing]));
  const is = new Map(publishedOf(after).map((thing) => [thing.key, thing]));
  const changes: PublishedChange[] = before === null ? [] : ofWhole(before, after);
  for (const [key, thing] of is) {
    const old = was.get(key);
    if (old === undefined) changes.push({ key, change: "added", thing, differences: [] });
    else {
      const differences = differencesOf(factsOf(old), factsOf(thing));
      if (differences.length > 0) changes.push({ key, change: "changed", thing, differences });
    }
  }
  for (const [key, thing] of was) {
    if (!is.has(key)) changes.push({ key, change: "removed", thing, differences: [] });
  }
  return changes;
}

function ofWhole(before: SiteContent, after: SiteContent): PublishedChange[] {
  const facts = (content: SiteContent, other: SiteContent) => ({
    title: content.title,
    description: content.description,
    ...Object.fromEntries(orders(content, other)),
  });
  const differences = differencesOf(facts(before, after), facts(after, before));
  return differences.length === 0 ? [] : [{ key: "site", change: "changed", thing: null, differences }];
}

/** In which order manifests list what both versions have. */
function orders(content: SiteContent, other: SiteContent): readonly (readonly [string, string])[] {
  const common = (skills: readonly PublishedSkill[], others: readonly PublishedSkill[]) => {
    const names = new Set(others.map(({ name }) => name));
    return skills.flatMap(({ name }) => (names.has(name) ? [name] : [])).join(", ");
  };
  return [
    ["order", common(content.skills, other.skills)],
    ...content.listings.map(({ name, skills }) => {
      const others = other.listings.find((listing) => listing.name === name)?.skills ?? [];
      return [`order of ${name}`, common(skills, others)] as const;
    }),
  ];
}

function factsOf({
  address,
  description,
  visibility,
  sha256,
  name,
  about,
}: Published): Readonly<Record<string, string>> {
  return { name, address, description, visibility, ...about, bytes: sha256 };
}

function differencesOf(
  was: Readonly<Record<string, string>>,
  is: Readonly<Record<string, string>>,
): readonly Difference[] {
  const facts = new Set([...Object.keys(was), ...Object.keys(is)]);
  return [...facts].flatMap((fact) => {
    const [old, now] = [was[fact] ?? "", is[fact] ?? ""];
    return old === now ? [] : [{ fact, was: old, is: now }];
  });
}
