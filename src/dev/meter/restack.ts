import { encodeU32, replaceSection, SECTION, type Section, sectionBody, WasmReader } from "./binary.ts";

/** Where things lie in linear memory after `restack`, byte addresses. Static data is [0, stackLow). */
export interface StackLayout {
  readonly stackLow: number;
  /** Also the base of the heap. */
  readonly stackTop: number;
  /** Address of the word that holds the end of the heap (`sbrk`). */
  readonly breakWord: number;
}

/** C stack of the input builds (`-sSTACK_SIZE=5MB`). */
const INPUT_STACK_BYTES = 5 * 1024 * 1024;

/**
 * Shrinks the C stack, which lies between static data and heap. Its top appears three times: as the start value of the
 * stack pointer (global 0), as a constant of the allocator and as the start value of the break word in static data.
 */
export function restack(
  sections: readonly Section[],
  stackBytes: number,
): { sections: Section[]; layout: StackLayout } {
  const globals = sectionBody(sections, SECTION.global).slice();
  const reader = new WasmReader(globals);
  reader.u32();
  if (reader.byte() !== 0x7f || reader.byte() !== 0x01 || reader.byte() !== 0x41) {
    throw new Error("global 0 is not a mutable i32 constant");
  }
  const oldTop = reader.u32();
  const stackLow = oldTop - INPUT_STACK_BYTES;
  const stackTop = stackLow + stackBytes;
  if (stackLow <= 0 || stackTop >= oldTop) throw new Error(`unexpected stack top ${oldTop}`);

  const code = sectionBody(sections, SECTION.code).slice();
  const width = encodeU32(oldTop).length;
  const constant = [0x41, ...encodeU32(oldTop)];
  const newConstant = [0x41, ...encodeU32(stackTop, width)];
  expectCount("stack pointer", replaceAll(globals, constant, newConstant), 1);
  expectCount("heap base in code", replaceAll(code, constant, newConstant), 1);

  const data = sectionBody(sections, SECTION.data).slice();
  const segments = readDataSegments(data);
  const positions: number[] = [];
  for (const segment of segments) {
    for (const at of occurrences(data, littleEndian(oldTop), segment.start, segment.end)) {
      const address = segment.address + at - segment.start;
      if (address % 4 !== 0) continue;
      data.set(littleEndian(stackTop), at);
      positions.push(address);
    }
  }
  expectCount("break word", positions.length, 1);
  const [breakWord = 0] = positions;

  let result = replaceSection(sections, SECTION.global, globals);
  result = replaceSection(result, SECTION.code, code);
  result = replaceSection(result, SECTION.data, data);
  return { sections: result, layout: { stackLow, stackTop, breakWord } };
}

interface DataSegment {
  /** Address in linear memory. */
  readonly address: number;
  /** Position of the bytes in the section. */
  readonly start: number;
  readonly end: number;
}

function readDataSegments(body: Uint8Array): DataSegment[] {
  const reader = new WasmReader(body);
  const segments: DataSegment[] = [];
  for (let count = reader.u32(); count > 0; count--) {
    if (reader.u32() !== 0 || reader.byte() !== 0x41) throw new Error("only active data segments are expected");
    const address = reader.u32();
    if (reader.byte() !== 0x0b) throw new Error("a data segment's offset is not a constant");
    const length = reader.u32();
    const start = reader.position;
    reader.skip(length);
    segments.push({ address, start, end: start + length });
  }
  return segments;
}

/** The three low bytes: addresses here are below 16 MiB, and the linker leaves trailing zeros out of a data segment. */
function littleEndian(value: number): number[] {
  return [value & 0xff, (value >>> 8) & 0xff, (value >>> 16) & 0xff];
}

function occurrences(bytes: Uint8Array, pattern: readonly number[], start = 0, end = bytes.length): number[] {
  const found: number[] = [];
  for (let at = start; at + pattern.length <= end; at++) {
    if (pattern.every((byte, index) => bytes[at + index] === byte)) found.push(at);
  }
  return found;
}

function replaceAll(bytes: Uint8Array, pattern: readonly number[], replacement: readonly number[]): number {
  const found = occurrences(bytes, pattern);
  for (const at of found) bytes.set(replacement, at);
  return found.length;
}

function expectCount(what: string, actual: number, expected: number): void {
  if (actual !== expected) throw new Error(`unexpected memory layout: ${actual} times the ${what}, not ${expected}`);
}
