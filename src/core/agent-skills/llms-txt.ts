import type { JsonObject } from "../json.ts";
import {
  aggregateSkills,
  artifactUrl,
  type ListedSkill,
  type ManifestView,
  publishedPath,
  shownSkills,
} from "./manifest.ts";
import type { SiteContent } from "./publication.ts";

/**
 * The `llms.txt` of a site (skills in llms.txt v0.10, Executable Skills v0.5) for one caller, from the same version as its manifests. Scripts
 * and snapshots are named by their whole path, which every runtime takes for the same place; recipes by their address.
 */
export function renderLlmsTxt(content: SiteContent, view: ManifestView): string {
  const { title, description, memories } = content;
  const parts = [`# ${plain(title)}`];
  if (description !== "") parts.push(`> ${plain(description)}`);
  const basePath = view.base === "" ? "" : new URL(view.base).pathname.replace(/\/$/, "");
  const snapshots = memories.map(({ path, sha256, scope }) => {
    const fields = {
      snapshot: basePath + publishedPath(path, sha256, view),
      snapshot_sha256: sha256,
      format: "minimemory-okf-v1",
    };
    return `<!-- skills-memory: ${json(scope === null ? fields : { ...fields, scope })} -->`;
  });
  if (snapshots.length > 0) parts.push(snapshots.join("\n"));
  const lines = shownSkills(aggregateSkills(content), view).map((skill) => skillLine(skill, view, basePath));
  parts.push(["## Skills", ...(lines.length > 0 ? [lines.join("\n")] : [])].join("\n\n"));
  return `${parts.join("\n\n")}\n`;
}

function skillLine(listed: ListedSkill, view: ManifestView, basePath: string): string {
  const { name, type, description, version, license, scope, sha256, tool } = listed.skill;
  const fields: Record<string, string> = {
    ...(version === null ? {} : { version }),
    ...(license === null ? {} : { license }),
    // The digest of an archive is not that of the SKILL.md in it.
    ...(type === "skill-md" ? { sha256 } : {}),
    ...(tool === null
      ? {}
      : { tool: basePath + publishedPath(tool.path, tool.sha256, view), tool_sha256: tool.sha256 }),
    ...(scope === null ? {} : { scope }),
  };
  const comment = Object.keys(fields).length === 0 ? "" : ` <!-- skill: ${json(fields)} -->`;
  return `- [${tool?.name ?? name}](${linkTarget(artifactUrl(listed, view))}): ${plain(description)}${comment}`;
}

/** Text that cannot begin or end a comment. */
function plain(text: string): string {
  return text.trim().replaceAll("<!--", "<! --").replaceAll("-->", "-- >");
}

function json(fields: JsonObject): string {
  return JSON.stringify(fields).replaceAll(">", "\\u003e");
}

/** A parenthesis would end the link. */
function linkTarget(url: string): string {
  return url.replaceAll("(", "%28").replaceAll(")", "%29");
}
