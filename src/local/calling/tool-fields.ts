import { isJsonObject, type Json, type JsonObject } from "../../core/json.ts";

type Kind = "string" | "number" | "integer" | "boolean" | "null" | "object" | "array";

const KINDS: readonly string[] = ["string", "number", "integer", "boolean", "null", "object", "array"];

/** One argument of a tool, as it is asked for. The tool's own schema judges the whole of them afterwards. */
export interface ToolField {
  readonly name: string;
  readonly required: boolean;
  readonly description: string | null;
  /** What it may be; empty: anything. */
  readonly kinds: readonly Kind[];
  /** The values that there are; `null`: any of its kinds. */
  readonly choices: readonly Json[] | null;
  /** Taken where nothing is answered; `undefined`: there is none. */
  readonly fallback: Json | undefined;
}

/** `value: undefined`: the argument is left out. */
export type FieldAnswer =
  | { readonly ok: true; readonly value: Json | undefined }
  | { readonly ok: false; readonly message: string };

/**
 * The arguments that a schema names, in its order. `null`: it does not name them one by one, so they are asked for as one
 * JSON object.
 */
export function toolFields(schema: JsonObject): readonly ToolField[] | null {
  const { properties, required, additionalProperties } = schema;
  const combines = ["$ref", "allOf", "anyOf", "oneOf", "if", "patternProperties"].some(
    (key) => schema[key] !== undefined,
  );
  const named = isJsonObject(properties) ? Object.entries(properties) : [];
  if (named.length === 0) return additionalProperties === false || isEmptySchema(schema) ? [] : null;
  if (combines) return null;
  const needed = new Set(Array.isArray(required) ? required : []);
  return named.map(([name, property]) => fieldOf(name, needed.has(name), resolved(property, schema)));
}

/** Of a tool that declares no arguments at all. */
function isEmptySchema(schema: JsonObject): boolean {
  return Object.keys(schema).every((key) => ["type", "$schema", "title", "description", "properties"].includes(key));
}

function fieldOf(name: string, required: boolean, schema: JsonObject): ToolField {
  const { type, description, enum: values, const: only, default: fallback } = schema;
  const kinds = (Array.isArray(type) ? type : [type]).filter((each): each is Kind => KINDS.includes(String(each)));
  const choices = only !== undefined ? [only] : Array.isArray(values) ? values : null;
  const implied: readonly Kind[] =
    schema.properties !== undefined ? ["object"] : schema.items !== undefined ? ["array"] : [];
  return {
    ...{ name, required, fallback, choices },
    description: typeof description === "string" && description !== "" ? description : null,
    kinds: kinds.length > 0 ? kinds : implied,
  };
}

const MOST_HOPS = 8;

/** A property, with a reference into its own document followed. */
function resolved(property: Json, root: JsonObject): JsonObject {
  let schema: Json | undefined = property;
  for (let hop = 0; hop < MOST_HOPS && isJsonObject(schema) && typeof schema.$ref === "string"; hop += 1) {
    const [start, ...path] = schema.$ref.split("/").map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
    if (start !== "#") break;
    let target: Json | undefined = root;
    for (const part of path) {
      target = isJsonObject(target) && Object.hasOwn(target, part) ? target[part] : undefined;
    }
    schema = target;
  }
  return isJsonObject(schema) ? schema : {};
}

/** Such as `style (warm, formal; default "warm"): How to greet.` */
export function fieldQuestion({ name, required, description, kinds, choices, fallback }: ToolField): string {
  const what =
    choices !== null ? choices.map(shown).join(", ") : kinds.map((kind) => NAMES[kind]).join(" or ") || "JSON";
  const rest = fallback !== undefined ? `; default ${JSON.stringify(fallback)}` : required ? "" : "; optional";
  return `${name} (${what}${rest})${description === null ? "" : `: ${description}`}`;
}

const NAMES: Readonly<Record<Kind, string>> = {
  string: "text",
  number: "number",
  integer: "whole number",
  boolean: "yes or no",
  null: "null",
  object: "JSON object",
  array: "JSON array",
};

/** Reads what somebody typed. Text needs no quotes; in quotes it is read as JSON, which is how an empty text is given. */
export function readAnswer(field: ToolField, typed: string): FieldAnswer {
  const text = typed.trim();
  if (text === "") {
    if (field.fallback !== undefined || !field.required) return { ok: true, value: field.fallback };
    const hint = field.kinds.includes("string") ? ' Type "" for an empty text.' : "";
    return { ok: false, message: `${field.name} is required.${hint}` };
  }
  const { choices, kinds } = field;
  const value = parsed(text);
  if (choices !== null) {
    const choice = choices.find((each) => shown(each) === text || JSON.stringify(each) === JSON.stringify(value));
    if (choice !== undefined) return { ok: true, value: choice };
    return { ok: false, message: `${field.name} must be one of ${choices.map(shown).join(", ")}.` };
  }
  if (kinds.includes("boolean") && /^(?:y|yes|n|no)$/i.test(text)) return { ok: true, value: /^y/i.test(text) };
  if (value !== undefined && (kinds.length === 0 || kinds.some((kind) => isOf(kind, value))))
    return { ok: true, value };
  if (kinds.includes("string") || (kinds.length === 0 && value === undefined)) return { ok: true, value: text };
  return { ok: false, message: `${field.name} must be ${kinds.map((kind) => NAMES[kind]).join(" or ")}.` };
}

function shown(choice: Json): string {
  return typeof choice === "string" ? choice : JSON.stringify(choice);
}

/** `undefined` for what is no JSON, and for numbers that JSON cannot carry. */
function parsed(text: string): Json | undefined {
  try {
    const value = JSON.parse(text) as Json;
    return typeof value === "number" && !Number.isFinite(value) ? undefined : value;
  } catch {
    return undefined;
  }
}

function isOf(kind: Kind, value: Json): boolean {
  switch (kind) {
    case "null":
      return value === null;
    case "array":
      return Array.isArray(value);
    case "object":
      return isJsonObject(value);
    case "integer":
      return Number.isInteger(value);
    default:
      return typeof value === kind;
  }
}
