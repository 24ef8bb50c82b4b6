import { manifestUrl } from "../../core/agent-skills/manifest.ts";
import type { SkillFolder } from "../../core/agent-skills/skill-folder.ts";
import type { AgentSkills } from "../../core/agent-skills/skills-provider.ts";
import { mayUse, type ToolRules } from "../../core/catalog.ts";
import type { Release, ReleaseAgentSkill, UnverifiedRecipes } from "../../core/discovery/release.ts";
import { sha256Hex } from "../../core/integrity.ts";
import { GatewayError } from "../errors.ts";

/** The Agent Skills that a discovery read of an origin's index, for one client. Bytes are hashed anew for every read. */
export function releaseSkills(
  { origin, agentSkills = [] }: Release,
  rules: ToolRules | null,
  unverified: UnverifiedRecipes,
  pointer: AgentSkills["pointer"],
): AgentSkills {
  const shown = agentSkills.filter(
    ({ name, verified }) => (verified || unverified === "offer") && (rules === null || mayUse(rules, name)),
  );
  const skills = new Map<SkillFolder, ReleaseAgentSkill>(shown.map((skill) => [folderOf(skill), skill]));
  return {
    folders: [...skills.keys()],
    // A manifest of v0.1.0 is not what the handshake promises.
    manifestUrl: shown.some(({ verified }) => verified) ? manifestUrl(origin) : null,
    pointer,
    async read(folder, { path, sha256 }) {
      const bytes = skills.get(folder)?.files.find((file) => file.path === path)?.bytes;
      if (bytes === undefined || (await sha256Hex(bytes)) !== sha256) throw new GatewayError("skill_unavailable");
      return bytes;
    },
  };
}

function folderOf({ name, description, frontmatter, verified, files }: ReleaseAgentSkill): SkillFolder {
  const listed = files.map(({ path, sha256, bytes }) => ({ path, sha256, bytes: bytes.length }));
  return { name, description, frontmatter, files: listed, ...(verified ? {} : { isUnverified: true }) };
}
