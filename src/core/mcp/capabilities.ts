import type { JsonObject } from "../json.ts";
import type { Dialect } from "./eras.ts";
import type { ProvidedSkills, Provider } from "./provider.ts";
import { OBJECTS_SINCE } from "./revisions.ts";

/** What a client speaks, by its own words or by what the handshake agreed on. */
export type Spoken = Pick<Dialect, "era" | "protocolVersion">;

/**
 * What both `initialize` and `server/discover` promise. Only on a connection that stays can lists be told to have changed; resources and
 * Agent Skills are promised only where there are some.
 *
 * @param spoken with the revision that this very answer agrees on.
 */
export function capabilitiesOf(provider: Provider, { protocolVersion }: Spoken): JsonObject {
  const { listChanged = false, skills } = provider;
  const hasResources =
    provider.promisesResources ?? (provider.resources.length > 0 || provider.resourceTemplates.length > 0);
  return {
    tools: { listChanged },
    ...(hasResources ? { resources: { listChanged } } : {}),
    prompts: {},
    ...(skills === undefined ? {} : skillCapabilities(skills, protocolVersion)),
  };
}

/** The extension of SEP-2640. It is specified against MCP 2026-07-28; its methods answer legacy clients that ask for them too. */
const SKILLS_EXTENSION = "io.modelcontextprotocol/skills";

function skillCapabilities({ entries, manifestUrl, pointer }: ProvidedSkills, version: string): JsonObject {
  const wantsObjects = version >= OBJECTS_SINCE;
  const form = pointer ?? (wantsObjects ? "object" : "string");
  return {
    ...(manifestUrl === null || form === "off" ? {} : { experimental: experimentalPointer(manifestUrl, form) }),
    ...(entries.length > 0 && wantsObjects ? { extensions: { [SKILLS_EXTENSION]: {} } } : {}),
  };
}

function experimentalPointer(url: string, form: "string" | "object"): JsonObject {
  return form === "string" ? { agentSkillsUrl: url } : { agentSkills: { url } };
}
