import { isSyntaxNode, nodesOf, parseSyntax, type SyntaxNode } from "../script-syntax.ts";

export interface WorkerStrings {
  /** Every string literal, and every template without substitutions. */
  readonly all: readonly string[];
  /** Those that a constant of this name is initialised with. */
  readonly named: (name: string) => string | undefined;
}

/** The strings that stand in a script as they are; `null` where it is no script. */
export function stringsOf(source: string): WorkerStrings | null {
  const root = parseSyntax(source);
  if (root === null) return null;
  const all: string[] = [];
  const byName = new Map<string, string>();
  for (const node of nodesOf(root)) {
    const text = textOf(node);
    if (text !== null) all.push(text);
    if (node.type !== "VariableDeclarator" || !isSyntaxNode(node.id) || !isSyntaxNode(node.init)) continue;
    const value = textOf(node.init);
    if (value !== null) byName.set(String(node.id.name), value);
  }
  return { all, named: (name) => byName.get(name) };
}

function textOf(node: SyntaxNode): string | null {
  if (node.type === "Literal") return typeof node.value === "string" ? node.value : null;
  if (node.type !== "TemplateLiteral" || !Array.isArray(node.quasis) || node.quasis.length !== 1) return null;
  const { cooked } = (node.quasis[0] as { value: { cooked?: string | null } }).value;
  return cooked ?? null;
}
