import type { JsonSchema } from "../api/mcp.ts";
import { jsonText, textOfValue } from "../text/value.ts";
import { Visible } from "../text/visible.tsx";
import { Select, TextArea, TextField, textOf } from "../ui/form.tsx";

/** A schema with more members than this is filled in as JSON. */
const MAX_FIELDS = 60;

type FieldKind = "text" | "number" | "choice" | "truth" | "json";

/** Whether a form can be made of a schema; else its arguments are written as JSON. */
export function hasForm(schema: JsonSchema | undefined): boolean {
  return Object.keys(schema?.properties ?? {}).length <= MAX_FIELDS;
}

function kindOf(schema: JsonSchema): FieldKind {
  if (Array.isArray(schema.enum) && schema.enum.length > 0 && schema.enum.length <= 200) return "choice";
  if (schema.type === "string") return "text";
  if (schema.type === "number" || schema.type === "integer") return "number";
  if (schema.type === "boolean") return "truth";
  return "json";
}

const fieldName = (name: string) => `argument:${name}`;

/** A field for each member of a tool's arguments, as its publisher's schema describes it. */
export function SchemaFields({ schema }: { readonly schema: JsonSchema | undefined }) {
  const members = Object.entries(schema?.properties ?? {});
  const required = new Set(Array.isArray(schema?.required) ? schema.required : []);
  if (members.length === 0) return <p class="quiet">It takes no arguments.</p>;
  return (
    <>
      {members.map(([name, member]) => {
        const about = isObject(member) ? member : {};
        const label = `${name}${required.has(name) ? "" : " (may be left out)"}`;
        const hint =
          typeof about.description === "string" ? <Visible text={about.description} most={400} /> : undefined;
        const shared = { name: fieldName(name), label, ...(hint === undefined ? {} : { hint }) };
        const preset = about.default === undefined ? "" : about.default;
        switch (kindOf(about)) {
          case "choice":
            return (
              <Select
                key={name}
                {...shared}
                value={preset === "" ? "" : jsonText(preset, 0)}
                options={[
                  ["", "left out"],
                  ...(about.enum ?? []).map((value) => [jsonText(value, 0), textOfValue(value)] as const),
                ]}
              />
            );
          case "truth":
            return (
              <Select
                key={name}
                {...shared}
                value={textOfValue(preset)}
                options={[
                  ["", "left out"],
                  ["true", "true"],
                  ["false", "false"],
                ]}
              />
            );
          case "number":
            return <TextField key={name} {...shared} inputMode="decimal" defaultValue={textOfValue(preset)} />;
          case "text":
            return <TextField key={name} {...shared} defaultValue={textOfValue(preset)} />;
          default:
            return (
              <TextArea
                key={name}
                {...shared}
                class="code"
                rows={3}
                placeholder="JSON"
                defaultValue={preset === "" ? "" : jsonText(preset, 0)}
              />
            );
        }
      })}
    </>
  );
}

/** The arguments that a filled-in form stands for; empty fields are left out. What is no number is sent as text, for the schema to refuse. */
export function argumentsOf(schema: JsonSchema | undefined, form: FormData): Readonly<Record<string, unknown>> {
  const values: Record<string, unknown> = Object.create(null);
  for (const [name, member] of Object.entries(schema?.properties ?? {})) {
    const raw = form.get(fieldName(name));
    const text = typeof raw === "string" ? raw : "";
    if (text === "") continue;
    const kind = kindOf(isObject(member) ? member : {});
    if (kind === "text") values[name] = text;
    else if (kind === "number") values[name] = Number.isFinite(Number(text)) ? Number(text) : text;
    else values[name] = parseMember(name, textOf(form, fieldName(name)));
  }
  return values;
}

function parseMember(name: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`${name} is not JSON: ${(error as Error).message}`);
  }
}

function isObject(value: unknown): value is JsonSchema {
  return typeof value === "object" && value !== null;
}
