import type { Operation, Schema } from "./docs-page.ts";

const MAX_DEPTH = 6;

/** A command to paste: `$API` is the API's address, `$ADMIN` an operator's token, and what stands in braces is to be filled in. */
export function curlOf(
  method: string,
  path: string,
  { parameters = [], requestBody, security }: Operation,
  schemas: Readonly<Record<string, Schema>>,
): string {
  const query = parameters.filter((parameter) => parameter.in === "query" && parameter.required === true);
  const asked = query.map(({ name, schema }) => {
    const example = schema?.example;
    return `${name}=${typeof example === "string" ? encodeURIComponent(example) : `{${name}}`}`;
  });
  const words = ["curl -sS"];
  if (method !== "get") words.push(`-X ${method.toUpperCase()}`);
  words.push(`"$API${path}${asked.length === 0 ? "" : `?${asked.join("&")}`}"`);
  // An operation of its own security is open to everybody.
  if (security === undefined) words.push('-H "Authorization: Bearer $ADMIN"');
  const schema = requestBody?.content["application/json"]?.schema;
  if (schema !== undefined) {
    const text = JSON.stringify(sampleOf(schema, schemas, 0)).replaceAll("'", "'\\''");
    words.push("-H 'Content-Type: application/json'", `-d '${text}'`);
  }
  return words.join(" \\\n    ");
}

/** Something of the schema's shape: its example, else what is required of it. */
function sampleOf(schema: Schema, schemas: Readonly<Record<string, Schema>>, depth: number): unknown {
  const { $ref, example, anyOf, oneOf, allOf, items, properties, required = [], type } = schema;
  if (example !== undefined) return example;
  if (depth > MAX_DEPTH) return null;
  const sample = (one: Schema | undefined) => (one === undefined ? null : sampleOf(one, schemas, depth + 1));
  if ($ref !== undefined) return sample(schemas[$ref.slice($ref.lastIndexOf("/") + 1)]);
  if (schema.const !== undefined) return schema.const;
  if (schema.enum !== undefined) return schema.enum[0];
  const choice = anyOf ?? oneOf ?? allOf;
  if (choice !== undefined) return sample(choice[0]);
  if (items !== undefined) return [sample(items)];
  if (properties !== undefined) {
    // Where nothing must be given, one member shows how.
    const names = required.length > 0 ? required : Object.keys(properties).slice(0, 1);
    return Object.fromEntries(names.map((name) => [name, sample(properties[name])]));
  }
  const first = typeof type === "string" ? type : type?.[0];
  if (first === "integer" || first === "number") return 1;
  if (first === "boolean") return true;
  if (first === "object") return {};
  return first === "array" ? [] : "…";
}
