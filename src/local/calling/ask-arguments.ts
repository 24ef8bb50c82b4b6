import { isJsonObject, type Json, type JsonObject } from "../../core/json.ts";
import type { ListedTool } from "../../core/mcp/provider.ts";
import { fieldQuestion, readAnswer, toolFields } from "./tool-fields.ts";

/** Asks the person at the terminal one thing. `null`: nobody answers any more. */
export type Ask = (question: string) => Promise<string | null>;

/**
 * Asks for the arguments of a tool, one by one as its `inputSchema` names them; an answer that cannot be one is asked for
 * again.
 *
 * @param complain told what is wrong with an answer.
 * @returns `null` where the answers ended.
 */
export async function askArguments(
  { inputSchema }: ListedTool,
  ask: Ask,
  complain: (sentence: string) => void,
): Promise<JsonObject | null> {
  const fields = toolFields(inputSchema);
  if (fields === null) return askObject(ask, complain);
  const entries: [string, Json][] = [];
  for (const field of fields) {
    for (;;) {
      const typed = await ask(fieldQuestion(field));
      if (typed === null) return null;
      const answer = readAnswer(field, typed);
      if (answer.ok) {
        if (answer.value !== undefined) entries.push([field.name, answer.value]);
        break;
      }
      complain(answer.message);
    }
  }
  return Object.fromEntries(entries);
}

async function askObject(ask: Ask, complain: (sentence: string) => void): Promise<JsonObject | null> {
  for (;;) {
    const typed = await ask("arguments (JSON object)");
    if (typed === null) return null;
    try {
      const value: unknown = typed.trim() === "" ? {} : JSON.parse(typed);
      if (isJsonObject(value)) return value;
    } catch {
      // Said below.
    }
    complain('The arguments must be a JSON object, such as {"a": 1}.');
  }
}
