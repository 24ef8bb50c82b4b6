import type { Release, ReleaseSkill } from "../../core/discovery/release.ts";
import { decodeUtf8 } from "../../core/integrity.ts";
import { isSyntaxNode, nodesOf, parseSyntax } from "../script-syntax.ts";
import type { Finding } from "./finding.ts";

/**
 * What a script that searches its origin's memory should mind (Executable Skills v0.5, E-18): the capability is there only
 * where the skill's scope has a verified snapshot, so a script looks before it calls, and a publisher serves a snapshot.
 */
export function checkMemoryUse(skill: ReleaseSkill, memories: Release["memories"]): Finding[] {
  const use = memoryUse(decodeUtf8(skill.source));
  if (!use.calls) return [];
  const warning = (code: string, message: string): Finding => ({
    level: "warning",
    subject: "memory",
    scope: skill.scope,
    name: skill.name,
    code,
    message,
  });
  const findings: Finding[] = [];
  if (!memories.some(({ scope }) => scope === skill.scope)) {
    const message = "The script calls `host.memorySearch`, but the skill's scope has no verified memory snapshot.";
    findings.push(warning("no_memory", message));
  }
  if (!use.looksFirst) {
    const message = "The script calls `host.memorySearch` without looking whether this runtime has it.";
    findings.push(warning("memory_not_tested", message));
  }
  return findings;
}

interface MemoryUse {
  readonly calls: boolean;
  /** Whether the name is read in any other way than by calling it. */
  readonly looksFirst: boolean;
}

/** Reads a script's syntax; the sandbox has run it before, so what acorn cannot read says nothing. */
function memoryUse(source: string): MemoryUse {
  const use = { calls: false, looksFirst: false };
  const root = source.includes("memorySearch") ? parseSyntax(source) : null;
  if (root === null) return use;
  const called = new Set<unknown>();
  for (const node of nodesOf(root)) {
    if (node.type === "CallExpression" && isMemorySearch(node.callee)) {
      use.calls = true;
      // A node comes before its children, so a callee is known by the time that it comes itself.
      if (node.optional !== true) called.add(node.callee);
    }
    if (isMemorySearch(node) && !called.has(node)) use.looksFirst = true;
    // `"memorySearch" in host`
    if (node.type === "Literal" && node.value === "memorySearch") use.looksFirst = true;
  }
  return use;
}

function isMemorySearch(node: unknown): boolean {
  if (!isSyntaxNode(node) || node.type !== "MemberExpression") return false;
  return isSyntaxNode(node.property) && node.property.name === "memorySearch" && node.computed === false;
}
