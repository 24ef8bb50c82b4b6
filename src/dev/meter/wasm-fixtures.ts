import { concatBytes, encodeName, encodeU32, joinSections, type Section } from "./binary.ts";

/** Tiny modules made by hand, for the tests of the build step. */

const I32 = 0x7f;

export function vector(items: readonly (readonly number[] | Uint8Array)[]): Uint8Array {
  return concatBytes([encodeU32(items.length), ...items]);
}

export function functionBody(locals: readonly number[], code: readonly number[]): number[] {
  const body = [...locals, ...code, 0x0b];
  return [...encodeU32(body.length), ...body];
}

/**
 * A module that imports `a.m` (memory, 1 page), `a.f` and `a.outOfGas` (functions), has a stack pointer as global 0 and exports functions:
 * `l` counts its parameter down in a loop, `c` copies `n` bytes from 0 to 1024, `h` passes its parameter to `a.f`, `s` sets
 * the stack pointer.
 */
export function tinyModule(): Section[] {
  const typeI32 = [0x60, 0x01, I32, 0x00];
  const typeNothing = [0x60, 0x00, 0x00];
  const loop = functionBody(
    [0x00],
    [
      ...[0x03, 0x40], // loop
      ...[0x20, 0x00, 0x41, 0x01, 0x6b, 0x22, 0x00], // n = n - 1
      ...[0x0d, 0x00, 0x0b], // br_if 0
    ],
  );
  const copy = functionBody([0x00], [0x41, 0x80, 0x08, 0x41, 0x00, 0x20, 0x00, 0xfc, 0x0a, 0x00, 0x00]);
  const callHost = functionBody([0x00], [0x20, 0x00, 0x10, 0x00]);
  const setStackPointer = functionBody([0x00], [0x20, 0x00, 0x24, 0x00]);
  return [
    { id: 1, body: vector([typeI32, typeNothing]) },
    {
      id: 2,
      body: vector([
        [...encodeName("a"), ...encodeName("m"), 0x02, 0x00, 0x01],
        [...encodeName("a"), ...encodeName("f"), 0x00, 0x00],
        [...encodeName("a"), ...encodeName("outOfGas"), 0x00, 0x01],
      ]),
    },
    { id: 3, body: vector([[0x00], [0x00], [0x00], [0x00]]) },
    { id: 6, body: vector([[I32, 0x01, 0x41, ...encodeU32(1000), 0x0b]]) },
    {
      id: 7,
      body: vector([
        [...encodeName("l"), 0x00, 0x02],
        [...encodeName("c"), 0x00, 0x03],
        [...encodeName("h"), 0x00, 0x04],
        [...encodeName("s"), 0x00, 0x05],
      ]),
    },
    { id: 10, body: vector([loop, copy, callHost, setStackPointer]) },
  ];
}

export function compile(sections: readonly Section[]): WebAssembly.Module {
  return new WebAssembly.Module(joinSections(sections) as BufferSource);
}
