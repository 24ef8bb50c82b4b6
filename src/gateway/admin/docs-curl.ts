import type { Operation, Schema } from "./docs-page.ts";

const MAX_DEPTH = 6;

type Schemas = Readonly<Record<string, Schema>>;

/**
 * A command to paste: `$API` is the API's address, `$ADMIN` an operator's token, and what stands in braces is to be filled in. Nothing is
 * filled in for the reader that changes what is served, and a body that may be left out is.
 */
export function curlOf(
  method: string,
  path: string,
  { parameters = [], requestBody, security }: Operation,
  schemas: Schemas,
): string {
  const asked = parameters.filter((parameter) => parameter.in === "query" && parameter.required === true);
  const isGet = method === "get";
  const words = ["curl -sS"];
  if (!isGet) words.push(`-X ${method.toUpperCase()}`);
  const query = isGet || asked.length === 0 ? "" : `?${asked.map(({ name }) => `${name}={${name}}`).join("&")}`;
  words.push(`"$API${path}${query}"`);
  // An operation of its own security is open to everybody.
  if (security === undefined) words.push('-H "Authorization: Bearer $ADMIN"');
  if (isGet && asked.length > 0) {
    words.push(`-G ${asked.map(({ name }) => `--data-urlencode '${name}={${name}}'`).join(" ")}`);
  }
  const [type, content] = requestBody?.required === true ? (Object.entries(requestBody.content)[0] ?? []) : [];
  if (type !== undefined) {
    const text = type === "application/json" ? bodyOf(content?.schema ?? {}, schemas, "body", 0) : null;
    words.push(`-H 'Content-Type: ${type}'`);
    words.push(text === null ? "--data-binary '@{file}'" : `-d '${text.replaceAll("'", "'\\''")}'`);
  }
  return words.join(" \\\n    ");
}

/** JSON of the schema's shape, with braces for what is to be filled in; `null`: its shape is free, so that it comes from a file. */
function bodyOf(schema: Schema, schemas: Schemas, name: string, depth: number): string | null {
  const { $ref, example, anyOf, oneOf, allOf, items, properties, required = [] } = schema;
  if (depth > MAX_DEPTH) return null;
  const inside = (one: Schema, of = name) => bodyOf(one, schemas, of, depth + 1);
  if ($ref !== undefined) return inside(schemas[$ref.slice($ref.lastIndexOf("/") + 1)] ?? {});
  // What a whole body looks like; of a single value the page's table has the example.
  if (depth <= 1 && typeof example === "object") return JSON.stringify(example);
  const words = schema.const === undefined ? schema.enum?.filter((word) => word !== null) : [schema.const];
  if (words?.length === 1) return JSON.stringify(words[0]);
  const choices = anyOf ?? oneOf ?? allOf;
  if (choices !== undefined) {
    const structured = choices.find((choice) => choice.items ?? choice.properties ?? choice.$ref);
    return inside(structured ?? choices[0] ?? {});
  }
  if (items !== undefined) {
    const item = inside(items);
    return item === null ? null : `[${item}]`;
  }
  if (properties !== undefined) {
    // Where nothing must be given, one member shows how.
    const names = required.length > 0 ? required : Object.keys(properties).slice(0, 1);
    const members = names.map((member) => [member, inside(properties[member] ?? {}, member)] as const);
    if (members.some(([, value]) => value === null)) return null;
    return `{${members.map(([member, value]) => `${JSON.stringify(member)}:${value}`).join(",")}}`;
  }
  if (words !== undefined) return `"{${words.join("|")}}"`;
  const types = typeof schema.type === "string" ? [schema.type] : schema.type;
  const kind = types?.find((one) => one !== "null");
  if (kind === undefined || kind === "object") return null;
  return kind === "string" ? `"{${name}}"` : `{${name}}`;
}
