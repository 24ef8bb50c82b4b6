import {
  concatBytes,
  encodeI32,
  encodeName,
  encodeU32,
  replaceSection,
  SECTION,
  type Section,
  sectionBody,
  WasmReader,
} from "./binary.ts";
import { readInstruction } from "./instructions.ts";
import { readImports } from "./interface.ts";

/** Bytes of one `memory.copy` or `memory.fill` that count as one step, as a power of two: 2 ** 4 = 16. */
const BULK_SHIFT = 4;

/** Steps of one call of an imported function, which costs up to a microsecond at the border and does its work outside. */
const HOST_CALL_STEPS = 64;

/** The imported function, `() => ()`, that is called when the gas is spent: to throw, or to give more. */
const OUT_OF_GAS = "outOfGas";

/** The stack pointer is the first global of every module that the linker makes. */
const STACK_POINTER = 0;

/** Lowest and highest address that the stack pointer may have. */
export interface StackBounds {
  readonly low: number;
  readonly high: number;
}

export interface Metered {
  readonly sections: Section[];
  readonly loops: number;
  readonly bulkOperations: number;
  readonly hostCalls: number;
}

/**
 * Makes a module count its own work, and keep to its stack. Adds an exported mutable i32 global `gas`, of steps left: each
 * function takes one, each iteration of a loop one, a bulk memory operation one for 16 bytes, a call of the host 64. Below
 * zero the module calls `outOfGas` of the host, and where the stack pointer leaves its bounds it traps (`unreachable`): what lies below the
 * stack is static data, and QuickJS does not look at the stack wherever it recurses.
 */
export function meter(sections: readonly Section[], stack: StackBounds): Metered {
  const imports = readImports(sectionBody(sections, SECTION.import));
  const parameterCounts = functionParameterCounts(sections);

  const globals = new WasmReader(sectionBody(sections, SECTION.global));
  const globalCount = globals.u32();
  const gas = imports.filter((entry) => entry.kind === "global").length + globalCount;
  // The start function runs before anyone can set the gas: begin with the most there is.
  const mutableI32 = [0x7f, 0x01, 0x41, 0xff, 0xff, 0xff, 0xff, 0x07, 0x0b];
  let result = replaceSection(
    sections,
    SECTION.global,
    concatBytes([encodeU32(globalCount + 1), globals.bytes.subarray(globals.position), mutableI32]),
  );

  const exported = new WasmReader(sectionBody(sections, SECTION.export));
  const exportCount = exported.u32();
  result = replaceSection(
    result,
    SECTION.export,
    concatBytes([
      encodeU32(exportCount + 1),
      exported.bytes.subarray(exported.position),
      [...encodeName("gas"), 0x03, ...encodeU32(gas)],
    ]),
  );

  const code = new WasmReader(sectionBody(sections, SECTION.code));
  const bodies: (Uint8Array | number[])[] = [];
  const count = code.u32();
  const importedFunctions = imports.filter((entry) => entry.kind === "function");
  const outOfGas = importedFunctions.findIndex(({ name }) => name === OUT_OF_GAS);
  if (outOfGas < 0) throw new Error(`the module does not import ${OUT_OF_GAS}`);
  const site: Site = {
    gas: { global: gas, outOfGas },
    stack,
    importedFunctions: importedFunctions.length,
    counts: { loops: 0, bulkOperations: 0, hostCalls: 0 },
  };
  for (let index = 0; index < count; index++) {
    const size = code.u32();
    const body = new WasmReader(code.bytes, code.position, code.position + size);
    code.skip(size);
    const metered = meterFunction(body, parameterCounts[index] ?? 0, site);
    bodies.push(encodeU32(metered.length), metered);
  }
  return {
    sections: replaceSection(result, SECTION.code, concatBytes([encodeU32(count), ...bodies])),
    ...site.counts,
  };
}

/** Parameters of each function that the module defines, in order. */
function functionParameterCounts(sections: readonly Section[]): number[] {
  const types = new WasmReader(sectionBody(sections, SECTION.type));
  const parametersOfType: number[] = [];
  for (let count = types.u32(); count > 0; count--) {
    if (types.byte() !== 0x60) throw new Error("only function types are expected");
    const parameters = types.u32();
    types.skip(parameters);
    types.skip(types.u32());
    parametersOfType.push(parameters);
  }
  const functions = new WasmReader(sectionBody(sections, SECTION.function));
  const counts: number[] = [];
  for (let count = functions.u32(); count > 0; count--) counts.push(parametersOfType[functions.u32()] ?? 0);
  return counts;
}

/** Indices of the global and of the function that is called when it is below zero. */
interface GasSite {
  readonly global: number;
  readonly outOfGas: number;
}

/** What is the same for every function of a module. */
interface Site {
  readonly gas: GasSite;
  readonly stack: StackBounds;
  /** Functions with a lower index are the host's. */
  readonly importedFunctions: number;
  readonly counts: { loops: number; bulkOperations: number; hostCalls: number };
}

function meterFunction(reader: WasmReader, parameters: number, { gas, stack, importedFunctions, counts }: Site) {
  const start = reader.position;
  const groups = reader.u32();
  let locals = parameters;
  for (let group = 0; group < groups; group++) {
    locals += reader.u32();
    reader.byte();
  }
  const codeStart = reader.position;
  const sizeLocal = locals;
  const parts: (Uint8Array | number[])[] = [charge(gas, 1)];
  let copied = codeStart;
  let usesSize = false;
  const insert = (position: number, code: number[]) => {
    parts.push(reader.bytes.subarray(copied, position), code);
    copied = position;
  };
  while (!reader.done) {
    const at = reader.position;
    const instruction = readInstruction(reader);
    switch (instruction.kind) {
      case "loop": // inside, after its block type
        insert(reader.position, charge(gas, 1));
        counts.loops++;
        break;
      case "bulk": // before it runs, with its size on top of the stack
        insert(at, chargeBulk(gas, sizeLocal));
        usesSize = true;
        counts.bulkOperations++;
        break;
      case "call":
        if (instruction.target >= importedFunctions) break;
        insert(at, charge(gas, HOST_CALL_STEPS));
        counts.hostCalls++;
        break;
      case "set_global":
        if (instruction.target === STACK_POINTER) insert(reader.position, checkStack(stack));
        break;
    }
  }
  parts.push(reader.bytes.subarray(copied, reader.end));
  // Bulk operations need a local of their own to read the size twice.
  const declarations = reader.bytes.subarray(new WasmReader(reader.bytes, start).position, codeStart);
  const head = usesSize
    ? concatBytes([encodeU32(groups + 1), declarations.subarray(encodeLength(declarations)), [0x01, 0x7f]])
    : declarations;
  return concatBytes([head, ...parts]);
}

/** Bytes that the LEB128 number at the start takes. */
function encodeLength(bytes: Uint8Array): number {
  const reader = new WasmReader(bytes);
  reader.skipLeb();
  return reader.position;
}

const I32_CONST = 0x41;
const I32_LT_S = 0x48;
const I32_GT_U = 0x4b;
const I32_SUB = 0x6b;
const I32_SHR_U = 0x76;
const GLOBAL_GET = 0x23;
const GLOBAL_SET = 0x24;
const LOCAL_GET = 0x20;
const LOCAL_TEE = 0x22;

const IF = 0x04;
const NO_RESULT = 0x40;
const CALL = 0x10;
const END = 0x0b;

/** `if` on what is on top of the stack. */
const TRAP_IF = [IF, NO_RESULT, 0x00, END];

/** Takes steps, which the code given puts on the stack. */
function take({ global, outOfGas }: GasSite, steps: number[]): number[] {
  const index = encodeU32(global);
  return [
    ...[GLOBAL_GET, ...index, ...steps, I32_SUB, GLOBAL_SET, ...index],
    ...[GLOBAL_GET, ...index, I32_CONST, 0, I32_LT_S, IF, NO_RESULT, CALL, ...encodeU32(outOfGas), END],
  ];
}

function charge(gas: GasSite, steps: number): number[] {
  return take(gas, [I32_CONST, ...encodeI32(steps)]);
}

function chargeBulk(gas: GasSite, sizeLocal: number): number[] {
  const local = encodeU32(sizeLocal);
  return [LOCAL_TEE, ...local, ...take(gas, [LOCAL_GET, ...local, I32_CONST, BULK_SHIFT, I32_SHR_U])];
}

/** One comparison for both bounds: below the lower one the difference is huge, unsigned. */
function checkStack({ low, high }: StackBounds): number[] {
  return [
    ...[GLOBAL_GET, STACK_POINTER, I32_CONST, ...encodeI32(low), I32_SUB],
    ...[I32_CONST, ...encodeI32(high - low), I32_GT_U, ...TRAP_IF],
  ];
}
