import { printable } from "../terminal.ts";
import type { CallEnd } from "./tool-caller.ts";

/** An answer for a terminal or a pipe: JSON stays the same JSON, and nothing in it can rewrite the screen. */
export function answerText(answer: Extract<CallEnd, { ok: true }>["answer"]): string {
  if ("text" in answer) return answer.text.split("\n").map(printable).join("\n");
  // The only line breaks are those of the layout; in strings they are escaped already.
  return JSON.stringify(answer.value, null, 2).replace(/(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, escapeUnits);
}

function escapeUnits(character: string): string {
  return character
    .split("")
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
    .join("");
}
