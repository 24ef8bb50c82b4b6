import { isAdmitted, publishedFolder } from "../../core/agent-skills/admitted-skills.ts";
import { aggregateSkills, type ListedSkill, manifestUrl } from "../../core/agent-skills/manifest.ts";
import type { SkillFile, SkillFolder } from "../../core/agent-skills/skill-folder.ts";
import type { AgentSkills } from "../../core/agent-skills/skills-provider.ts";
import { archiveLimits, readArchive } from "../../core/archive/archive.ts";
import { zlibInflater } from "../../core/archive/zlib-inflater.ts";
import type { Catalog, ToolRules } from "../../core/catalog.ts";
import { sha256Hex } from "../../core/integrity.ts";
import type { Env } from "../env.ts";
import { GatewayError } from "../errors.ts";
import type { Hold } from "./held-bytes.ts";
import type { Mismatch } from "./mismatch.ts";
import type { ServedSite } from "./read-site.ts";
import { readSiteBytes } from "./site-bucket.ts";

/** For whom, and of which request. */
export interface SkillsRequest {
  readonly catalog: Catalog;
  readonly rules: ToolRules | null;
  readonly pointer: AgentSkills["pointer"];
  readonly requestId: string;
  /** Asked before a file is read. @throws {GatewayError} where there is no room for it. */
  readonly hold: HoldBytes;
  /** Told of bytes that are others than published, before the read is refused. */
  readonly onMismatch: (mismatch: Mismatch) => void;
}

/**
 * The Agent Skills of a site for a client that may use its origin, and is thereby one of the authenticated callers: what its manifest shows
 * them, less what was not admitted. Bytes are hashed anew for every read.
 */
export function siteSkills(env: Env, served: ServedSite, request: SkillsRequest): AgentSkills {
  const { catalog, rules, pointer } = request;
  const published = new Map<SkillFolder, ListedSkill>();
  let isIndexed = false;
  for (const listed of aggregateSkills(served.content)) {
    if (served.quarantined.has(listed.skill.sha256) || !isAdmitted(listed.skill, catalog, rules)) continue;
    isIndexed = true;
    const folder = publishedFolder(listed);
    if (folder !== null) published.set(folder, listed);
  }
  return {
    folders: [...published.keys()],
    manifestUrl: isIndexed ? manifestUrl(catalog.origin) : null,
    pointer,
    async read(folder, file) {
      const listed = published.get(folder);
      if (listed === undefined) throw new Error("A folder of another site was asked for.");
      const hold = await request.hold(bytesToRead(listed, folder, file));
      const bytes = await readFile(await readArtifact(env, served, listed, request), listed, file);
      // From here on there is the answer alone.
      hold?.keep(textBytes(file));
      return bytes;
    },
  };
}

/** Makes room for a read, until its answer has left; null where so few need none. */
export type HoldBytes = (bytes: number) => Promise<Hold | null>;

/** What a read of one file holds at most: the artifact, all files of an archive, and the answer. */
function bytesToRead({ skill }: ListedSkill, { files }: SkillFolder, file: SkillFile): number {
  const expanded = skill.type === "archive" ? files.reduce((sum, { bytes }) => sum + bytes, 0) : 0;
  return skill.bytes + expanded + textBytes(file);
}

/** As text in JSON a file takes a third more than its bytes, and once more that much where it is encoded. */
function textBytes({ bytes }: SkillFile): number {
  return 2 * Math.ceil((bytes * 4) / 3);
}

async function readArtifact(
  env: Env,
  { site }: ServedSite,
  { skill, listing }: ListedSkill,
  { catalog, requestId, onMismatch }: SkillsRequest,
): Promise<Uint8Array> {
  let bytes: Uint8Array | null;
  try {
    bytes = await readSiteBytes(env, site.id, skill.sha256);
  } catch (cause) {
    throw new GatewayError("skill_unavailable", { cause });
  }
  const observed = bytes === null ? null : await sha256Hex(bytes);
  if (bytes !== null && observed === skill.sha256) return bytes;
  onMismatch({
    siteId: site.id,
    site: site.name,
    skillName: skill.name,
    listing,
    hostname: new URL(catalog.origin).host,
    expected: skill.sha256,
    observed: observed ?? "absent",
    caller: "authenticated",
    requestId,
    isNews: true,
  });
  throw new GatewayError("skill_unavailable");
}

/** What an archive of the right digest holds was listed when it was published; that the two agree is checked all the same. */
async function readFile(artifact: Uint8Array, { skill }: ListedSkill, file: SkillFile): Promise<Uint8Array> {
  if (skill.type === "skill-md") return artifact;
  const { files } = readArchive(artifact, archiveLimits(skill.limits), zlibInflater);
  const bytes = files.find(({ path }) => path === file.path)?.bytes;
  if (bytes === undefined || (await sha256Hex(bytes)) !== file.sha256) throw new GatewayError("skill_unavailable");
  return bytes;
}
