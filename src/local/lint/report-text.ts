import { printable, table } from "../terminal.ts";
import type { Finding } from "./finding.ts";
import type { LintReport } from "./lint.ts";

/** A report for people. Everything in it that the publisher wrote is made fit for a terminal. */
export function reportText(report: LintReport): string {
  const { origin, skills, memories, links, findings, failures, warnings } = report;
  const parts = [printable(origin)];
  if (skills.length > 0) {
    const rows = skills.map(({ publicName, version, toolSha256, bytes, recipe, verdict }) => [
      publicName,
      version ?? "-",
      toolSha256.slice(0, 12),
      String(bytes),
      recipe ? "yes" : "no",
      verdict ?? "-",
    ]);
    parts.push(table(["skill", "version", "tool_sha256", "bytes", "recipe", "attestation"], rows));
  }
  if (memories.length > 0) {
    const rows = memories.map(({ scope, sha256, bytes }) => [scope ?? "(none)", sha256.slice(0, 12), String(bytes)]);
    parts.push(table(["memory of scope", "snapshot", "bytes"], rows));
  }
  if (links.length > 0) parts.push(`${counted(links.length, "link")} for people: ${names(links)}`);
  if (findings.length > 0) {
    const rows = findings.map((finding) => [finding.level, about(finding), finding.code, finding.message]);
    parts.push(table(["level", "about", "code", "what"], rows));
  }
  const counts = [counted(skills.length, "skill"), counted(failures, "failure"), counted(warnings, "warning")].join(
    ", ",
  );
  parts.push(`${failures === 0 ? "PASS" : "FAIL"}: ${counts}`);
  return parts.join("\n\n");
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? "" : "s"}`;
}

function about({ subject, scope, name }: Finding): string {
  const skill = scope === null ? name : `${scope}__${name}`;
  return skill === "" ? subject : `${subject} ${skill}`;
}

function names(links: LintReport["links"]): string {
  const shown = links.slice(0, 10).map(({ name }) => printable(name));
  return links.length > shown.length ? `${shown.join(", ")}, …` : shown.join(", ");
}
