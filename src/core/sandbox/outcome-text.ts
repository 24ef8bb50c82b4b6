import type { Json } from "../json.ts";
import type { GuestErrorCode } from "./outcome.ts";
import { FAILURES, isFailureLetter, VALUE } from "./protocol.ts";

/** Bytes of UTF-8 of a guest's message that a client can see. */
export const MESSAGE_BYTES = 2048;

export type GuestAnswer =
  | { readonly ok: true; readonly json: string }
  | { readonly ok: false; readonly code: GuestErrorCode; readonly message: string };

/** Reads what the prelude delivers. The text comes out of a guest: anything unexpected in it is a crash, not a value. */
export function readAnswer(text: string | null): GuestAnswer {
  if (text === null) return { ok: false, code: "out_of_memory", message: "out of memory" };
  const letter = text.charAt(0);
  if (letter === VALUE) return { ok: true, json: text.slice(1) };
  if (isFailureLetter(letter)) {
    const message = parseJson(text.slice(1));
    if (typeof message === "string") return { ok: false, code: FAILURES[letter], message: capMessage(message) };
  }
  return { ok: false, code: "crashed", message: "the sandbox gave an unreadable answer" };
}

/** `undefined` for text that is not JSON. */
export function parseJson(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

/** Cuts a message to `MESSAGE_BYTES` on a code-point boundary. */
export function capMessage(message: string): string {
  if (!exceedsBytes(message, MESSAGE_BYTES)) return message;
  const kept = new Uint8Array(MESSAGE_BYTES - 3);
  const { read } = new TextEncoder().encodeInto(message, kept);
  return `${message.slice(0, read)}…`;
}

/** Whether a text has more bytes than that in UTF-8, in which a lone surrogate takes the three of U+FFFD. */
export function exceedsBytes(text: string, maximum: number): boolean {
  // A UTF-16 unit takes one to three bytes: most texts need no counting.
  if (text.length * 3 <= maximum) return false;
  return text.length > maximum || new TextEncoder().encode(text).length > maximum;
}
