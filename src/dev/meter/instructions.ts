import type { WasmReader } from "./binary.ts";

/** What metering has to know about an instruction; everything else is `other`. `target` is the index of a function or global. */
export type Instruction =
  | { readonly kind: "loop" | "bulk" | "other" }
  | { readonly kind: "call" | "set_global"; readonly target: number };

const OTHER: Instruction = { kind: "other" };
const BULK: Instruction = { kind: "bulk" };

const LOOP = 0x03;
const GLOBAL_SET = 0x24;
const MISC_PREFIX = 0xfc;

/** Reads one instruction with its immediates. Throws on an opcode that the engines of this project do not use. */
export function readInstruction(reader: WasmReader): Instruction {
  const opcode = reader.byte();
  switch (opcode) {
    case 0x10: // call
    case 0x12: // return_call
      return { kind: "call", target: reader.u32() };
    case GLOBAL_SET:
      return { kind: "set_global", target: reader.u32() };
    case LOOP:
      reader.skipLeb();
      return { kind: "loop" };
    case 0x02: // block
    case 0x04: // if
    case 0x0c: // br
    case 0x0d: // br_if
    case 0x41: // i32.const
    case 0x42: // i64.const
    case 0xd0: // ref.null
    case 0xd2: // ref.func
      reader.skipLeb();
      return OTHER;
    case 0x0e: {
      // br_table: labels and the default one
      for (let labels = reader.u32(); labels >= 0; labels--) reader.skipLeb();
      return OTHER;
    }
    case 0x11: // call_indirect
    case 0x13: // return_call_indirect
      reader.skipLeb();
      reader.skipLeb();
      return OTHER;
    case 0x1c: // select with types
      for (let types = reader.u32(); types > 0; types--) reader.byte();
      return OTHER;
    case 0x3f: // memory.size
    case 0x40: // memory.grow
      reader.byte();
      return OTHER;
    case 0x43: // f32.const
      reader.skip(4);
      return OTHER;
    case 0x44: // f64.const
      reader.skip(8);
      return OTHER;
    case MISC_PREFIX:
      return readMiscInstruction(reader);
  }
  if (opcode >= 0x20 && opcode <= 0x26) {
    // local, global and table access
    reader.skipLeb();
    return OTHER;
  }
  if (opcode >= 0x28 && opcode <= 0x3e) {
    // loads and stores: alignment and offset
    reader.skipLeb();
    reader.skipLeb();
    return OTHER;
  }
  const bare = opcode <= 0x01 || [0x05, 0x0b, 0x0f, 0x1a, 0x1b, 0xd1].includes(opcode);
  if (bare || (opcode >= 0x45 && opcode <= 0xc4)) return OTHER;
  throw new Error(`unknown opcode 0x${opcode.toString(16)} at byte ${reader.position - 1}`);
}

function readMiscInstruction(reader: WasmReader): Instruction {
  const sub = reader.u32();
  if (sub <= 7) return OTHER; // saturating truncations
  switch (sub) {
    case 10: // memory.copy
      reader.skip(2);
      return BULK;
    case 11: // memory.fill
      reader.skip(1);
      return BULK;
  }
  // memory.init and the table operations appear in none of our inputs; refusing them keeps the metering complete.
  throw new Error(`unknown opcode 0xfc ${sub} at byte ${reader.position - 1}`);
}
