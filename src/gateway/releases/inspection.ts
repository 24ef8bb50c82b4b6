import type { Release, ReleaseSkill } from "../../core/discovery/release.ts";
import { fetchPaths } from "../../core/fetch-paths.ts";
import { decodeUtf8, type Sha256Hex } from "../../core/integrity.ts";

/** What is worth knowing of a script without its text. */
export interface ScriptFacts {
  readonly bytes: number;
  readonly fetches: ReturnType<typeof fetchPaths>;
}

/** A release for people who look at it: as it is, but without the bytes of its files, which may be many megabytes. */
export interface InspectedRelease {
  /** Its sources, recipes and memories are empty. */
  readonly release: Release;
  /** By `toolSha256`. */
  readonly scripts: ReadonlyMap<Sha256Hex, ScriptFacts>;
  /** Bytes of each of its memories, in its order. */
  readonly memoryBytes: readonly number[];
}

export function inspectRelease(release: Release): InspectedRelease {
  const scripts = new Map<Sha256Hex, ScriptFacts>();
  const light = (skill: ReleaseSkill): ReleaseSkill => {
    const { toolSha256, source, recipe } = skill;
    if (!scripts.has(toolSha256)) {
      scripts.set(toolSha256, { bytes: source.length, fetches: fetchPaths(decodeUtf8(source)) });
    }
    return { ...skill, source: NOTHING, recipe: recipe === null ? null : { ...recipe, text: "" } };
  };
  const { skills, held, memories } = release;
  return {
    release: {
      ...release,
      skills: skills.map(light),
      held: held.map(light),
      memories: memories.map((memory) => ({ ...memory, bytes: NOTHING })),
    },
    scripts,
    memoryBytes: memories.map(({ bytes }) => bytes.length),
  };
}

const NOTHING = new Uint8Array(0);
