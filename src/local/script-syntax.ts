import { type Node, parse } from "acorn";

/** A node of a script's syntax tree, whose fields are looked at one by one. */
export type SyntaxNode = Readonly<Record<string, unknown>> & Pick<Node, "type">;

/** The syntax of a module or, where it is none, of a script; `null` for what is neither. */
export function parseSyntax(source: string): SyntaxNode | null {
  for (const sourceType of ["module", "script"] as const) {
    try {
      return parse(source, { ecmaVersion: "latest", sourceType, allowHashBang: true }) as unknown as SyntaxNode;
    } catch {
      // The other kind may be the right one.
    }
  }
  return null;
}

/** Every node below one, itself first, each before its children; deep nesting costs no stack. */
export function* nodesOf(root: SyntaxNode): Generator<SyntaxNode> {
  const open = [root];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    yield node;
    for (const child of Object.values(node).flat()) if (isSyntaxNode(child)) open.push(child);
  }
}

export function isSyntaxNode(value: unknown): value is SyntaxNode {
  return typeof value === "object" && value !== null && "type" in value && typeof value.type === "string";
}
