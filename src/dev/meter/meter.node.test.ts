import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { encodeI32, encodeU32, joinSections, SECTION, splitSections, WasmReader } from "./binary.ts";
import { build, buildOutputs, readManifest, sha256 } from "./build.ts";
import { INPUTS } from "./inputs.ts";
import { readInstruction } from "./instructions.ts";
import { readExports, readImports, renameInterface } from "./interface.ts";
import { meter } from "./meter.ts";
import { restack } from "./restack.ts";
import { compile, functionBody, tinyModule, vector } from "./wasm-fixtures.ts";

interface TinyExports {
  readonly l: (n: number) => void;
  readonly c: (n: number) => void;
  readonly h: (n: number) => void;
  readonly s: (n: number) => void;
  readonly gas: WebAssembly.Global;
}

const STACK = { low: 500, high: 1000 };

function spent(): never {
  throw new Error("the gas is spent");
}

function instantiateMetered(host: () => void = () => {}, outOfGas: () => void = spent): TinyExports {
  const module = compile(meter(tinyModule(), STACK).sections);
  const imports = { a: { m: new WebAssembly.Memory({ initial: 1 }), f: host, outOfGas } };
  return new WebAssembly.Instance(module, imports).exports as unknown as TinyExports;
}

it("reads and writes LEB128 numbers of every length", () => {
  for (const value of [0, 1, 127, 128, 16_383, 16_384, 2_097_151, 2 ** 28, 2 ** 32 - 1]) {
    expect(new WasmReader(Uint8Array.from(encodeU32(value))).u32()).toBe(value);
    expect(new WasmReader(Uint8Array.from(encodeU32(value, 5))).u32()).toBe(value);
  }
  expect(encodeU32(3, 4)).toEqual([0x83, 0x80, 0x80, 0x00]);
  expect([0, 63, 64, 127, 128, 8191, 8192].map(encodeI32)).toEqual([
    [0],
    [63],
    [0xc0, 0],
    [0xff, 0],
    [0x80, 1],
    [0xff, 0x3f],
    [0x80, 0xc0, 0],
  ]);
});

it("splits a module into sections and joins them to the same bytes", () => {
  const bytes = joinSections(tinyModule());
  expect(joinSections(splitSections(bytes))).toEqual(bytes);
  expect(() => splitSections(Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8))).toThrow("not a WebAssembly 1 binary");
  expect(() => splitSections(bytes.subarray(0, bytes.length - 1))).toThrow("ends unexpectedly");
});

it("steps over the immediates of each kind of instruction", () => {
  const cases: [number[], string][] = [
    [[0x03, 0x40], "loop"],
    [[0x02, 0x7f], "other"],
    [[0x10, 0x81, 0x01], "call 129"],
    [[0x12, 0x05], "call 5"],
    [[0x24, 0x00], "set_global 0"],
    [[0x23, 0x00], "other"],
    [[0x0e, 0x02, 0x00, 0x01, 0x80, 0x01], "other"],
    [[0x11, 0x81, 0x00, 0x00], "other"],
    [[0x1c, 0x01, 0x7f], "other"],
    [[0x28, 0x02, 0x90, 0x01], "other"],
    [[0x41, 0xff, 0xff, 0xff, 0xff, 0x07], "other"],
    [[0x43, 1, 2, 3, 4], "other"],
    [[0x44, 1, 2, 3, 4, 5, 6, 7, 8], "other"],
    [[0x6a], "other"],
    [[0xfc, 0x00], "other"],
    [[0xfc, 0x0a, 0x00, 0x00], "bulk"],
    [[0xfc, 0x0b, 0x00], "bulk"],
  ];
  for (const [bytes, kind] of cases) {
    const reader = new WasmReader(Uint8Array.from(bytes));
    const instruction = readInstruction(reader);
    expect("target" in instruction ? `${instruction.kind} ${instruction.target}` : instruction.kind).toBe(kind);
    expect(reader.done, `0x${bytes[0]?.toString(16)}`).toBe(true);
  }
});

it("refuses opcodes that it could leave unmetered", () => {
  for (const bytes of [[0xfd, 0x00], [0x06], [0xfc, 0x08, 0x00, 0x00], [0xfc, 0x0e, 0x00, 0x00], [0xff]]) {
    expect(() => readInstruction(new WasmReader(Uint8Array.from(bytes)))).toThrow("unknown opcode");
  }
});

it("counts one step for a function and one for each iteration, and asks the host below zero", () => {
  const { l, gas } = instantiateMetered();
  gas.value = 100;
  l(40);
  expect(gas.value).toBe(59);
  l(58);
  expect(gas.value).toBe(0);
  expect(() => l(1)).toThrow("the gas is spent");
  expect(gas.value).toBe(-1);
});

it("goes on where the host gives it more gas", () => {
  let asked = 0;
  const { l, gas } = instantiateMetered(undefined, () => {
    asked++;
    gas.value += 10;
  });
  gas.value = 0;
  l(40);
  expect([asked, gas.value]).toEqual([5, 9]);
});

it("needs a function to ask for more gas", () => {
  const renamed = tinyModule().map((section) =>
    section.id === SECTION.import ? { ...section, body: vector([[1, 0x61, 1, 0x6d, 0x02, 0x00, 0x01]]) } : section,
  );
  expect(() => meter(renamed, STACK)).toThrow("does not import outOfGas");
});

it("counts one step for 16 bytes copied, before they are copied", () => {
  const { c, gas } = instantiateMetered();
  const cost = (bytes: number) => {
    gas.value = 100;
    c(bytes);
    return 99 - gas.value;
  };
  expect([15, 16, 1024].map(cost)).toEqual([0, 1, 64]);
  gas.value = 11;
  expect(() => c(176)).toThrow("the gas is spent");
  // A size that no memory has traps, whichever way the charge goes.
  gas.value = 0x7fffffff;
  expect(() => c(-1)).toThrow(WebAssembly.RuntimeError);
});

it("counts 64 steps for a call of the host, before it is made", () => {
  let calls = 0;
  const { h, gas } = instantiateMetered(() => calls++);
  gas.value = 65;
  h(1);
  expect([gas.value, calls]).toEqual([0, 1]);
  gas.value = 64;
  expect(() => h(1)).toThrow("the gas is spent");
  expect(calls).toBe(1);
});

it("traps as soon as the stack pointer leaves the stack, at either end", () => {
  for (const inside of [500, 501, 999, 1000]) instantiateMetered().s(inside);
  for (const outside of [499, 0, -1, -0x80000000, 1001, 0x7fffffff]) {
    expect(() => instantiateMetered().s(outside), `${outside}`).toThrow(WebAssembly.RuntimeError);
  }
});

it("counts what it charges", () => {
  expect(meter(tinyModule(), STACK)).toMatchObject({ loops: 1, bulkOperations: 1, hostCalls: 1 });
});

it("renames imports and exports, drops the others and bounds the memory", () => {
  const sections = renameInterface(
    tinyModule(),
    {
      imports: new Map([
        ["m", "memory"],
        ["f", "callFunction"],
        ["outOfGas", "outOfGas"],
      ]),
      exports: new Map([["l", "countDown"]]),
    },
    new Map([["stackPointer", 0]]),
    { initial: 2, maximum: 3 },
  );
  const module = compile(sections);
  expect(WebAssembly.Module.imports(module).map(({ module: from, name }) => `${from}.${name}`)).toEqual([
    "host.memory",
    "host.callFunction",
    "host.outOfGas",
  ]);
  expect(WebAssembly.Module.exports(module).map(({ name }) => name)).toEqual(["countDown", "stackPointer"]);
  const imports = (maximum: number) => ({
    host: { memory: new WebAssembly.Memory({ initial: 2, maximum }), callFunction: () => {}, outOfGas: () => {} },
  });
  expect(() => new WebAssembly.Instance(module, imports(4))).toThrow(WebAssembly.LinkError);
  expect(new WebAssembly.Instance(module, imports(3)).exports.countDown).toBeTypeOf("function");
  expect(() =>
    renameInterface(tinyModule(), { imports: new Map(), exports: new Map() }, new Map(), { initial: 1, maximum: 1 }),
  ).toThrow("no known name");
});

it("moves the stack top in the stack pointer, the allocator and the break word, and nowhere else", () => {
  const oldTop = 5 * 1024 * 1024 + 65_536;
  const constant = [0x41, ...encodeU32(oldTop)];
  const address = [oldTop & 0xff, (oldTop >> 8) & 0xff, (oldTop >> 16) & 0xff, 0];
  const segment = [0x00, 0x41, ...encodeU32(1024), 0x0b, 0x08, 9, 9, 9, 9, ...address];
  const module = (data: readonly number[][]) => [
    { id: SECTION.global, body: vector([[0x7f, 0x01, ...constant, 0x0b]]) },
    { id: SECTION.code, body: vector([functionBody([0x00], [...constant, 0x1a])]) },
    { id: SECTION.data, body: vector(data) },
  ];
  const { layout } = restack(module([segment]), 4096);
  expect(layout).toEqual({ stackLow: 65_536, stackTop: 69_632, breakWord: 1028 });
  expect(() => restack(module([]), 4096)).toThrow("0 times the break word");
  expect(() => restack(module([segment, segment]), 4096)).toThrow("2 times the break word");
});

it("gives both engines the interface that the driver expects", async () => {
  const outputs = await buildOutputs();
  for (const kind of ["jspi", "asyncify"]) {
    const sections = splitSections(outputs.get(`quickjs-${kind}.wasm`) ?? new Uint8Array());
    const body = (id: number) => sections.find((section) => section.id === id)?.body ?? new Uint8Array();
    const imports = readImports(body(SECTION.import)).map(({ name }) => name);
    expect(imports).toEqual(expect.arrayContaining(["memory", "callFunction", "shouldInterrupt", "outOfGas"]));
    const exports = readExports(body(SECTION.export)).map(({ name }) => name);
    expect(exports).toEqual(expect.arrayContaining(["gas", "stackPointer", "QTS_Call", "malloc"]));
    expect(exports.every((name) => name.length > 2)).toBe(true);
  }
});

// A change of these is a change of what runs: review it, then write the new hash here.
const PINNED_INPUTS = {
  "@jitl/quickjs-wasmfile-release-sync": "105c3bed22d457e43e3d1c3c1c6959fda62a8fe06f0fc8a985303c3a2be72232",
  "@jitl/quickjs-wasmfile-release-asyncify": "b790f3842eef48d154984cea48d35303b5c3c3696fedab4dc79f314bde005dba",
};
const PINNED_OUTPUTS = {
  "quickjs-jspi.wasm": "319c3a68e4568053ee45eaf0cfb8703bce226b2c4b7d29b892a1ade08dd8db37",
  "quickjs-asyncify.wasm": "9a0e48320da2d1d39a39cf6f8e3391040f1e3f92e41c99d3812695e2f2b296c8",
  "layout.ts": "b0b49215be343aaac271e94065b6810f294c7e6114f596c8e9cbc936ce9d7431",
};

it("builds the pinned outputs from the pinned inputs, byte for byte, every time", async () => {
  expect(Object.fromEntries(INPUTS.map((input) => [input.package, input.sha256]))).toEqual(PINNED_INPUTS);
  for (let run = 0; run < 2; run++) {
    const outputs = await buildOutputs();
    expect(Object.fromEntries([...outputs].map(([name, bytes]) => [name, sha256(bytes)]))).toEqual(PINNED_OUTPUTS);
  }
});

it("writes outputs with a manifest, and does nothing while they are current", async () => {
  const folder = await mkdtemp(join(tmpdir(), "skillgate-engines-"));
  try {
    expect(await build(folder)).toBe(true);
    expect(await build(folder)).toBe(false);
    expect(await readManifest(folder)).toMatchObject({ inputs: PINNED_INPUTS, outputs: PINNED_OUTPUTS });
    for (const [name, hash] of Object.entries(PINNED_OUTPUTS)) {
      expect(sha256(await readFile(join(folder, name)))).toBe(hash);
    }
    await rm(join(folder, "layout.ts"));
    expect(await build(folder)).toBe(true);
  } finally {
    await rm(folder, { recursive: true });
  }
});
