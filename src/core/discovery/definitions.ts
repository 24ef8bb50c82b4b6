import { decodeUtf8, IntegrityError, type Sha256Hex } from "../integrity.ts";
import { isWithinDepth } from "../json-depth.ts";
import type { GuestFailure } from "../sandbox/outcome.ts";
import { PoolExhausted } from "../sandbox/outcome.ts";
import type { Sandbox, Tenant } from "../sandbox/sandbox.ts";
import { checkHeaderDeclarations } from "../schema/mcp-header.ts";
import { SchemaError } from "../schema/schema-error.ts";
import { checkSchema } from "../schema/validate.ts";
import type { ToolDefinition } from "../skill.ts";
import { type Checked, passed, type Refused, refused } from "./checked.ts";
import type { DiscoveryCache } from "./discovery-cache.ts";
import type { RejectionCode } from "./release.ts";

/** Deepest nesting of a definition's annotations. */
const ANNOTATIONS_DEPTH = 16;

/** Shares of a load's gas in the rounds before the last; an ordinary script takes 0.0001 of it (measured: 4,273 units). */
const QUICK_SHARES = [0.002, 0.02];

/**
 * Gas after which the reader lets others run, about 25 ms. Nothing in it waits by itself, so that neither the deadline's
 * timer nor another request of the isolate would have a turn; a clock is no measure, since Workers stop it between waits.
 */
const GAS_PER_TURN = 1_000_000;

/** A definition whose JSON is at most this long is always kept; an ordinary one has a few hundred characters. */
export const SMALL_DEFINITION = 8_192;

/** Characters of JSON that all larger definitions of one release have together: a script of a hundred bytes can make 256 KiB. */
export const LARGE_DEFINITIONS = 2_097_152;

export interface DefinitionReaderOptions {
  readonly sandbox: Pick<Sandbox, "load" | "evaluate">;
  /** For all definitions of one discovery. */
  readonly gas: number;
  /** For one. */
  readonly loadGas: number;
  /** For the regular expressions of one schema. */
  readonly schemaGas: number;
  readonly tenant: Tenant;
  readonly signal: AbortSignal;
  /** What earlier discoveries read is not read again, and costs no gas. */
  readonly cache?: DiscoveryCache | undefined;
}

export interface DefinitionSource {
  readonly sha256: Sha256Hex;
  readonly bytes: Uint8Array;
  /** The skill's name within its scope, which the script must register. */
  readonly name: string;
}

/**
 * Reads tool definitions, one after the other, under one budget of gas and the discovery's deadline. What neither covers
 * is `deferred`: it says nothing about the skill. The same bytes under the same name are read once, whatever their scopes.
 */
export class DefinitionReader {
  readonly #options: DefinitionReaderOptions;
  readonly #known = new Map<string, Checked<ToolDefinition>>();
  #gasLeft: number;
  #largeLeft = LARGE_DEFINITIONS;
  #gasInTurn = 0;

  constructor(options: DefinitionReaderOptions) {
    this.#options = options;
    this.#gasLeft = options.gas;
  }

  /**
   * Reads what can be read with little gas, first with very little, so that endless scripts and costly schemas at the head
   * of a document do not use up what all others need. Those that need more are left for {@link read}.
   */
  async readQuickly(tools: readonly DefinitionSource[]): Promise<void> {
    for (const share of QUICK_SHARES) {
      const gas = Math.floor(this.#options.loadGas * share);
      for (const tool of tools) {
        const key = keyOf(tool);
        if (this.#known.has(key)) continue;
        const result = await this.#readOrDefer(tool, gas);
        if (result.ok || result.code !== "deferred") this.#known.set(key, result);
      }
    }
  }

  async read(tool: DefinitionSource): Promise<Checked<ToolDefinition>> {
    const key = keyOf(tool);
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const result = await this.#readOrDefer(tool, this.#options.loadGas);
    this.#known.set(key, result);
    return result;
  }

  /** @param mostGas for the script, and again for each schema. */
  async #readOrDefer(tool: DefinitionSource, mostGas: number): Promise<Checked<ToolDefinition>> {
    const { cache } = this.#options;
    const key = keyOf(tool);
    const known = cache?.definition(key);
    if (known !== undefined) return known.ok ? this.#takeSize(known.value) : known;
    // Without this, what is left over would be tried with little gas again and again, and never come to its end.
    if (mostGas <= (cache?.tooLittleGas(key) ?? 0)) return this.#outOfGas();
    const gasLeft = this.#gasLeft;
    const result = await this.#run(tool, mostGas);
    if (!result.ok) {
      if (result.code !== "deferred") cache?.keepDefinition(key, result);
      else if (gasLeft - this.#gasLeft >= mostGas) cache?.keepTooLittleGas(key, mostGas);
      return result;
    }
    const sized = this.#takeSize(result.value);
    if (sized.ok) cache?.keepDefinition(key, result);
    return sized;
  }

  async #run(tool: DefinitionSource, mostGas: number): Promise<Checked<ToolDefinition>> {
    const source = decode(tool.bytes);
    if (!source.ok) return source;
    try {
      const loaded = await this.#load({ sha256: tool.sha256, name: tool.name, source: source.value }, mostGas);
      if (!loaded.ok) return loaded;
      return await this.#check(loaded.value, mostGas);
    } catch (error) {
      if (error instanceof PoolExhausted) return refused("deferred", "No sandbox was free to read the definition.");
      throw error;
    }
  }

  async #load(
    tool: { sha256: Sha256Hex; name: string; source: string },
    mostGas: number,
  ): Promise<Checked<ToolDefinition>> {
    const { sandbox, loadGas, tenant, signal } = this.#options;
    await this.#letOthersRun();
    const gas = Math.min(mostGas, this.#gasLeft);
    if (gas <= 0) return this.#outOfGas();
    if (signal.aborted) return outOfTime();
    const outcome = await sandbox.load(tool, { gas, signal, tenant });
    this.#spend(outcome.gasUsed);
    if (outcome.ok) return passed(outcome.definition);
    if (outcome.code === "gas_exhausted" && gas < loadGas) return this.#outOfGas();
    if (signal.aborted) return outOfTime();
    return refused(rejectionCode(outcome), asSentence(`The script tool.js cannot be loaded: ${outcome.message}`));
  }

  /** Definitions are held in every copy of a release, and are not bounded by the sizes of the scripts that make them. */
  #takeSize(definition: ToolDefinition): Checked<ToolDefinition> {
    const { length } = JSON.stringify(definition);
    if (length <= SMALL_DEFINITION) return passed(definition);
    if (length > this.#largeLeft) {
      return refused(
        "release_too_large",
        `With this definition, those of more than ${SMALL_DEFINITION} characters would exceed ${LARGE_DEFINITIONS} in sum, the limit.`,
      );
    }
    this.#largeLeft -= length;
    return passed(definition);
  }

  async #check(definition: ToolDefinition, mostGas: number): Promise<Checked<ToolDefinition>> {
    const annotations = checkAnnotations(definition);
    if (!annotations.ok) return annotations;
    const { sandbox, schemaGas, tenant, signal } = this.#options;
    for (const { field, schema } of schemasOf(definition)) {
      const gas = Math.max(0, Math.min(mostGas, schemaGas, this.#gasLeft));
      const check = await checkSchema(schema, { sandbox, tenant, signal, gas });
      this.#spend(check.gasUsed);
      if (check.ok) continue;
      if (check.code === "gas_exhausted" && gas < schemaGas) return this.#outOfGas();
      if (signal.aborted) return outOfTime();
      return badSchema(field, check.path, check.message);
    }
    return checkInputRoot(definition);
  }

  #spend(gas: number): void {
    this.#gasLeft -= gas;
    this.#gasInTurn += gas;
  }

  async #letOthersRun(): Promise<void> {
    if (this.#gasInTurn < GAS_PER_TURN) return;
    this.#gasInTurn = 0;
    await new Promise((resolve) => setTimeout(resolve, 0));
  }

  #outOfGas(): Refused {
    return refused(
      "deferred",
      `The ${this.#options.gas} units of gas for reading the definitions of one discovery were used up before this one.`,
    );
  }
}

function keyOf({ sha256, name }: DefinitionSource): string {
  return `${sha256} ${name}`;
}

function asSentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

function decode(bytes: Uint8Array): Checked<string> {
  try {
    return passed(decodeUtf8(bytes));
  } catch (error) {
    if (error instanceof IntegrityError) return refused("bad_encoding", "The file tool.js is not valid UTF-8.");
    throw error;
  }
}

/** The schemas that a definition has. */
export function schemasOf({ inputSchema, outputSchema }: ToolDefinition) {
  const input = { field: "inputSchema", schema: inputSchema };
  return outputSchema === undefined ? [input] : [input, { field: "outputSchema", schema: outputSchema }];
}

export function checkAnnotations(definition: ToolDefinition): Checked<ToolDefinition> {
  if (definition.annotations === undefined || isWithinDepth(definition.annotations, ANNOTATIONS_DEPTH)) {
    return passed(definition);
  }
  return refused("bad_definition", `The \`annotations\` are nested more than ${ANNOTATIONS_DEPTH} deep.`);
}

/** What the `inputSchema` of a tool must be besides a schema that can be evaluated, which must be known already. */
export function checkInputRoot(definition: ToolDefinition): Checked<ToolDefinition> {
  const { type } = definition.inputSchema;
  // Arguments are always an object; some clients refuse a whole list for one schema that says otherwise.
  if (type !== undefined && type !== "object")
    return badSchema("inputSchema", "/type", "The root's type must be object");
  try {
    checkHeaderDeclarations(definition.inputSchema);
  } catch (error) {
    if (error instanceof SchemaError) return badSchema("inputSchema", error.path, error.message);
    throw error;
  }
  return passed(definition);
}

export function badSchema(field: string, path: string, message: string): Refused {
  const shown = path.length > 200 ? `${path.slice(0, 200)}…` : path;
  return refused("bad_schema", `The \`${field}\` is not usable at ${path === "" ? "its root" : shown}: ${message}.`);
}

function outOfTime(): Refused {
  return refused("deferred", "The discovery's deadline passed before this definition was read.");
}

const SAME_CODE = new Set<string>([
  "gas_exhausted",
  "out_of_memory",
  "image_too_large",
  "no_registration",
  "several_registrations",
  "name_mismatch",
  "bad_definition",
]);

function rejectionCode({ code }: GuestFailure): RejectionCode {
  return SAME_CODE.has(code) ? (code as RejectionCode) : "load_failed";
}
