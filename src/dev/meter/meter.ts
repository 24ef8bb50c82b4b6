import {
  concatBytes,
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

/** Bytes of one `memory.copy` or `memory.fill` that cost one unit of gas, as a power of two: 2 ** 4 = 16. */
const BULK_SHIFT = 4;

export interface Metered {
  readonly sections: Section[];
  readonly loops: number;
  readonly bulkOperations: number;
}

/**
 * Makes a module count its own work. Adds an exported mutable i32 global `gas`; every iteration of every loop takes one
 * unit, every bulk memory operation one unit for 16 bytes; below zero the module traps (`unreachable`). Straight-line code
 * needs no charge: without a loop it is bounded by the code's size and by the stack.
 */
export function meter(sections: readonly Section[]): Metered {
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
  let loops = 0;
  let bulkOperations = 0;
  for (let index = 0; index < count; index++) {
    const size = code.u32();
    const body = new WasmReader(code.bytes, code.position, code.position + size);
    code.skip(size);
    const metered = meterFunction(body, parameterCounts[index] ?? 0, gas);
    loops += metered.loops;
    bulkOperations += metered.bulkOperations;
    bodies.push(encodeU32(metered.body.length), metered.body);
  }
  return {
    sections: replaceSection(result, SECTION.code, concatBytes([encodeU32(count), ...bodies])),
    loops,
    bulkOperations,
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

function meterFunction(reader: WasmReader, parameters: number, gas: number) {
  const start = reader.position;
  const groups = reader.u32();
  let locals = parameters;
  for (let group = 0; group < groups; group++) {
    locals += reader.u32();
    reader.byte();
  }
  const codeStart = reader.position;
  const sizeLocal = locals;
  const parts: (Uint8Array | number[])[] = [];
  let copied = codeStart;
  let loops = 0;
  let bulkOperations = 0;
  while (!reader.done) {
    const at = reader.position;
    const kind = readInstruction(reader);
    if (kind === "other") continue;
    // A loop is charged inside, after its block type; a bulk operation before it runs, with its size on top of the stack.
    const position = kind === "loop" ? reader.position : at;
    parts.push(reader.bytes.subarray(copied, position), kind === "loop" ? chargeOne(gas) : chargeBulk(gas, sizeLocal));
    copied = position;
    if (kind === "loop") loops++;
    else bulkOperations++;
  }
  parts.push(reader.bytes.subarray(copied, reader.end));
  // Bulk operations need a local of their own to read the size twice.
  const declarations = reader.bytes.subarray(new WasmReader(reader.bytes, start).position, codeStart);
  const head =
    bulkOperations === 0
      ? declarations
      : concatBytes([encodeU32(groups + 1), declarations.subarray(encodeLength(declarations)), [0x01, 0x7f]]);
  return { body: concatBytes([head, ...parts]), loops, bulkOperations };
}

/** Bytes that the LEB128 number at the start takes. */
function encodeLength(bytes: Uint8Array): number {
  const reader = new WasmReader(bytes);
  reader.skipLeb();
  return reader.position;
}

const I32_CONST = 0x41;
const I32_SUB = 0x6b;
const I32_SHR_U = 0x76;
const I32_LT_S = 0x48;
const GLOBAL_GET = 0x23;
const GLOBAL_SET = 0x24;
const LOCAL_GET = 0x20;
const LOCAL_TEE = 0x22;

function trapWhenNegative(gas: number): number[] {
  const ifVoid = [0x04, 0x40];
  const unreachableEnd = [0x00, 0x0b];
  return [GLOBAL_GET, ...encodeU32(gas), I32_CONST, 0, I32_LT_S, ...ifVoid, ...unreachableEnd];
}

function chargeOne(gas: number): number[] {
  const index = encodeU32(gas);
  return [GLOBAL_GET, ...index, I32_CONST, 1, I32_SUB, GLOBAL_SET, ...index, ...trapWhenNegative(gas)];
}

function chargeBulk(gas: number, sizeLocal: number): number[] {
  const index = encodeU32(gas);
  const local = encodeU32(sizeLocal);
  const units = [LOCAL_GET, ...local, I32_CONST, BULK_SHIFT, I32_SHR_U];
  return [
    ...[LOCAL_TEE, ...local],
    ...[GLOBAL_GET, ...index, ...units, I32_SUB, GLOBAL_SET, ...index],
    ...trapWhenNegative(gas),
  ];
}
