import type { VNode } from "preact";

/** What tests look at: the elements that a piece of the console would show, without a document. Components with state are not opened. */
export interface Shown {
  readonly type: string;
  readonly props: Readonly<Record<string, unknown>>;
  readonly text: string;
}

/** All elements below, outermost first; the first stands for all of it. */
export function shownIn(node: unknown): readonly Shown[] {
  const elements: Shown[] = [];
  const text = collect(node, elements);
  return [{ type: "", props: {}, text }, ...elements];
}

function collect(node: unknown, elements: Shown[]): string {
  if (node === null || node === undefined || typeof node === "boolean") return "";
  if (Array.isArray(node)) return node.map((child) => collect(child, elements)).join("");
  if (typeof node !== "object") return String(node);
  const { type, props } = node as VNode<Record<string, unknown>>;
  if (typeof type === "function") {
    if ("text" in props && "language" in props) return String(props.text);
    return collect((type as (given: object) => unknown)(props), elements);
  }
  const at = elements.length;
  elements.push({ type: String(type), props, text: "" });
  const text = collect(props.children, elements);
  elements[at] = { type: String(type), props, text };
  return text;
}
