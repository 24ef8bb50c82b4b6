import ts from "typescript";
import { expect, it } from "vitest";

// The console's own types of what the admin API answers say the same as its OpenAPI document.

interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly additionalProperties?: boolean | Schema;
}

const FILE = "dashboard/api/types.ts";

/** What the document calls otherwise than the console. */
const OTHER_NAMES: Readonly<Record<string, string>> = { Discovery: "DiscoveryOutcome" };
/** Of no schema with a name of its own: frames of lists, parts of others (which are compared there), and rows that the console makes. */
const UNNAMED = new Set([
  "Page",
  "SkillId",
  "StrayAttestation",
  "Because",
  "ProbedSkill",
  "HiddenCharacter",
  "DiffHunk",
  "ReadSiteVersion",
  "SiteMismatch",
  "ReleaseSkill",
  "ToolRule",
  "Setting",
]);

async function schemasOfDocument(): Promise<Readonly<Record<string, Schema>>> {
  const load = (path: string) => import(new URL(path, import.meta.url).href);
  const { createAdminApp } = await load("../../src/gateway/admin/app.ts");
  const { openApiDocument } = await load("../../src/gateway/admin/document.ts");
  return openApiDocument(createAdminApp()).components.schemas;
}

class Comparison {
  readonly differences: string[] = [];
  readonly #schemas: Readonly<Record<string, Schema>>;
  readonly #checker: ts.TypeChecker;

  constructor(schemas: Readonly<Record<string, Schema>>, checker: ts.TypeChecker) {
    this.#schemas = schemas;
    this.#checker = checker;
  }

  compare(at: string, type: ts.Type, schema: Schema, depth = 0): void {
    if (depth > 8) return;
    const kinds = this.#kindsOfSchema(schema);
    // Any JSON.
    if (kinds.size === 0) return;
    const found = this.#kindsOfType(type);
    // Any text will do where the console shows it as it is.
    const isText = (kind: string) => kind === "string" || kind.startsWith('"');
    const missing = [...kinds.keys()].filter((kind) => !found.has(kind) && !(isText(kind) && found.has("string")));
    const more = [...found.keys()].filter(
      (kind) => !kinds.has(kind) && !(kind === "string" && [...kinds.keys()].some(isText)),
    );
    if (missing.length > 0) this.differences.push(`${at} lacks ${missing.join(", ")}`);
    if (more.length > 0) this.differences.push(`${at} has ${more.join(", ")}, which is never answered`);
    const [object, list] = [kinds.get("object"), kinds.get("array")];
    const [objectType, listType] = [found.get("object"), found.get("array")];
    if (object?.anyOf !== undefined) this.#compareNames(at, type, object.anyOf);
    else if (object !== undefined && objectType !== undefined) this.#compareMembers(at, objectType, object, depth);
    if (list?.items !== undefined && listType !== undefined) {
      const [item] = this.#checker.getTypeArguments(listType as ts.TypeReference);
      if (item !== undefined) this.compare(`${at}[]`, item, list.items, depth + 1);
    }
  }

  /** Of one of several shapes, every member is one of some shape. */
  #compareNames(at: string, type: ts.Type, shapes: readonly Schema[]): void {
    const known = new Set(shapes.flatMap(({ properties }) => Object.keys(properties ?? {})));
    for (const one of type.isUnion() ? type.types : [type]) {
      for (const { name } of one.getProperties()) {
        if (one.flags & ts.TypeFlags.Object && !known.has(name))
          this.differences.push(`${at}.${name} is not documented`);
      }
    }
  }

  #compareMembers(at: string, type: ts.Type, schema: Schema, depth: number): void {
    if (schema.properties === undefined) return;
    for (const member of type.getProperties()) {
      const known = schema.properties[member.name];
      if (known === undefined) {
        this.differences.push(`${at}.${member.name} is not documented`);
        continue;
      }
      const isOptional = (member.flags & ts.SymbolFlags.Optional) !== 0;
      if (!isOptional && schema.required?.includes(member.name) !== true) {
        this.differences.push(`${at}.${member.name} may be left out`);
      }
      this.compare(`${at}.${member.name}`, this.#checker.getTypeOfSymbol(member), known, depth + 1);
    }
  }

  /** What may be answered, by kind: a JSON type, or a literal. */
  #kindsOfSchema(schema: Schema): Map<string, Schema> {
    const kinds = new Map<string, Schema>();
    const { $ref, enum: values, const: value, type } = schema;
    if ($ref !== undefined) return this.#kindsOfSchema(this.#schemas[$ref.split("/").at(-1) ?? ""] ?? {});
    const parts = schema.anyOf ?? schema.oneOf;
    if (parts !== undefined) {
      for (const [kind, of] of parts.flatMap((part) => [...this.#kindsOfSchema(part)])) {
        const before = kinds.get(kind);
        kinds.set(
          kind,
          kind === "object" && before !== undefined ? { anyOf: [...(before.anyOf ?? [before]), of] } : of,
        );
      }
      return kinds;
    }
    if (schema.allOf !== undefined) return new Map([["object", this.#merged(schema)]]);
    if (values !== undefined) for (const one of values) kinds.set(JSON.stringify(one), schema);
    else if (value !== undefined) kinds.set(JSON.stringify(value), schema);
    else
      for (const one of typeof type === "string" ? [type] : (type ?? []))
        kinds.set(one === "integer" ? "number" : one, schema);
    return kinds;
  }

  #merged(schema: Schema): Schema {
    const parts = (schema.allOf ?? []).map((part) => [...this.#kindsOfSchema(part).values()][0] ?? {});
    const all = [...parts, schema];
    return {
      type: "object",
      properties: Object.assign({}, ...all.map(({ properties }) => properties ?? {})),
      required: all.flatMap(({ required }) => required ?? []),
    };
  }

  #kindsOfType(type: ts.Type): Map<string, ts.Type> {
    const kinds = new Map<string, ts.Type>();
    for (const one of type.isUnion() ? type.types : [type]) {
      if (one.flags & ts.TypeFlags.Null) kinds.set("null", one);
      else if (one.isStringLiteral() || one.isNumberLiteral()) kinds.set(JSON.stringify(one.value), one);
      else if (one.flags & ts.TypeFlags.BooleanLiteral) kinds.set("boolean", one);
      else if (one.flags & ts.TypeFlags.String) kinds.set("string", one);
      else if (one.flags & ts.TypeFlags.Number) kinds.set("number", one);
      else if (this.#checker.isArrayType(one) || one.symbol?.name === "ReadonlyArray") kinds.set("array", one);
      else if (one.flags & ts.TypeFlags.Object) kinds.set("object", one);
    }
    return kinds;
  }
}

it("what the console takes an answer for is what the document says of it", async () => {
  const schemas = await schemasOfDocument();
  const program = ts.createProgram([FILE], {
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    allowImportingTsExtensions: true,
    module: ts.ModuleKind.ESNext,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
    target: ts.ScriptTarget.ESNext,
  });
  const checker = program.getTypeChecker();
  const source = program.getSourceFile(FILE);
  const comparison = new Comparison(schemas, checker);
  const unknown: string[] = [];
  let compared = 0;
  source?.forEachChild((node) => {
    if (!ts.isInterfaceDeclaration(node)) return;
    const name = node.name.text;
    if (UNNAMED.has(name)) return;
    const schema = schemas[OTHER_NAMES[name] ?? name];
    compared += 1;
    if (schema === undefined) unknown.push(name);
    else comparison.compare(name, checker.getTypeAtLocation(node.name), schema);
  });
  expect({ unknown, differences: comparison.differences }).toEqual({ unknown: [], differences: [] });
  expect(compared).toBeGreaterThan(25);
});
