import type { JsonObject } from "../json.ts";
import { excerpt, invalidParams, McpError, RPC } from "./errors.ts";
import type { Invocation } from "./methods.ts";
import { paginate } from "./pages.ts";
import type { Provider, SkillEntry } from "./provider.ts";
import { cacheable } from "./results.ts";

/** A page holds whole skills, and as many files as other pages have entries. */
export function listSkills({ params, provider, pageSize }: Invocation): JsonObject {
  const all = skillsOf(provider);
  const page = paginate(
    "skills",
    all,
    ({ uri }) => uri,
    params.cursor,
    pageSize,
    (skill) => skill.resources.length,
  );
  const { entries, ...rest } = page;
  return complete(provider, { skills: entries.map(showSkill), ...rest });
}

/** @throws McpError -32602, in both eras. */
export function getSkill({ params: { uri }, provider }: Invocation): JsonObject {
  if (typeof uri !== "string") throw invalidParams("params.uri must be a string.");
  const skill = skillsOf(provider).find((entry) => entry.uri === uri);
  if (skill === undefined) {
    const message = `There is no skill of this uri: ${excerpt(uri)}`;
    throw new McpError({ status: 200, rpcCode: RPC.invalidParams, message, data: { uri } });
  }
  return complete(provider, { skill: showSkill(skill) });
}

function skillsOf({ skills }: Provider): readonly SkillEntry[] {
  return skills?.entries ?? [];
}

function showSkill({ uri, frontmatter, resources }: SkillEntry): JsonObject {
  return { uri, frontmatter, resources: resources.map((resource) => ({ ...resource })) };
}

/** The extension knows no era: its results say to everybody what others say in the modern one. */
function complete(provider: Provider, result: JsonObject): JsonObject {
  return cacheable("modern", provider, { resultType: "complete", ...result });
}
