import type { CatalogSkill } from "./catalog.ts";
import type { ReleaseSkill } from "./discovery/release.ts";
import { isJsonObject, type Json, type JsonObject } from "./json.ts";
import type { ListedTool } from "./mcp/provider.ts";
import { plainSchema } from "./schema/plain.ts";
import type { ToolDefinition } from "./skill.ts";

/** A release lives as long as its isolate's cache keeps it, and what was made of its skills with it. */
const described = new WeakMap<ReleaseSkill, ListedTool>();
/** Verdicts change while the release stays. */
const listed = new WeakMap<CatalogSkill, ListedTool>();

/**
 * How a skill is listed. A publisher's definition must not cost a client the whole list, so what official clients refuse
 * is put in an equivalent form: a root without a type, boolean schemas of properties, annotations of a wrong type; an
 * `outputSchema` that some cannot compile is left out, though results are checked against it. A non-object `outputSchema`
 * stays here; the MCP core leaves it out for legacy clients. What the gateway has to say of the skill ends its description:
 * ` [attestation: <verdict>]` where verdicts are shown, ` [not approved]` where the operator has warnings shown.
 */
export function listTool(entry: CatalogSkill): ListedTool {
  let tool = listed.get(entry);
  if (tool === undefined) {
    const base = described.get(entry.skill) ?? describeTool(entry.skill.publicName, entry.skill.definition);
    described.set(entry.skill, base);
    const remarks = remarksOn(entry);
    // A publisher's own remark of this form must not be the last word.
    tool = remarks === "" ? base : { ...base, description: `${base.description ?? ""}${remarks}`.trimStart() };
    listed.set(entry, tool);
  }
  return tool;
}

function remarksOn({ verdict, flag }: CatalogSkill): string {
  return `${verdict === null ? "" : ` [attestation: ${verdict}]`}${flag === "unapproved" ? " [not approved]" : ""}`;
}

/** A definition in the form in which official clients take it. */
export function describeTool(name: string, definition: ToolDefinition): ListedTool {
  const { title, description, inputSchema, outputSchema, annotations } = definition;
  const plainOutput = outputSchema === undefined ? null : plainSchema(outputSchema);
  return {
    name,
    ...(title === undefined ? {} : { title }),
    ...(description === undefined ? {} : { description }),
    inputSchema: { ...withObjectProperties(inputSchema), type: "object" },
    ...(plainOutput === null ? {} : { outputSchema: withObjectProperties(plainOutput) }),
    ...(annotations === undefined ? {} : { annotations: cleanAnnotations(annotations) }),
  };
}

function withObjectProperties(schema: JsonObject): JsonObject {
  const { properties } = schema;
  if (!isJsonObject(properties)) return schema;
  const entries = Object.entries(properties).map(([key, value]): [string, Json] => [key, asObjectSchema(value)]);
  return { ...schema, properties: Object.fromEntries(entries) };
}

function asObjectSchema(schema: Json): Json {
  if (schema === true) return {};
  return schema === false ? { not: {} } : schema;
}

const ANNOTATION_TYPES: ReadonlyMap<string, "string" | "boolean"> = new Map([
  ["title", "string"],
  ["readOnlyHint", "boolean"],
  ["destructiveHint", "boolean"],
  ["idempotentHint", "boolean"],
  ["openWorldHint", "boolean"],
]);

function cleanAnnotations(annotations: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(annotations).filter(([key, value]) => {
      const type = ANNOTATION_TYPES.get(key);
      return type === undefined || typeof value === type;
    }),
  );
}
