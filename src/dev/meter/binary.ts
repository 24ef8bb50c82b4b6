/** Cursor over a WebAssembly binary (WebAssembly Core Specification, chapter 5). Throws on anything truncated. */
export class WasmReader {
  readonly bytes: Uint8Array;
  position: number;
  readonly end: number;

  constructor(bytes: Uint8Array, start = 0, end = bytes.length) {
    this.bytes = bytes;
    this.position = start;
    this.end = end;
  }

  get done(): boolean {
    return this.position >= this.end;
  }

  byte(): number {
    const value = this.bytes[this.position];
    if (value === undefined || this.done) throw new Error(`wasm ends unexpectedly at byte ${this.position}`);
    this.position++;
    return value;
  }

  /** Unsigned LEB128 of at most 32 bits. */
  u32(): number {
    let result = 0;
    let shift = 0;
    for (;;) {
      const byte = this.byte();
      result |= (byte & 0x7f) << shift;
      if ((byte & 0x80) === 0) return result >>> 0;
      shift += 7;
    }
  }

  skipLeb(): void {
    while ((this.byte() & 0x80) !== 0);
  }

  skip(count: number): void {
    if (this.position + count > this.end) throw new Error(`wasm ends unexpectedly at byte ${this.end}`);
    this.position += count;
  }

  name(): string {
    const length = this.u32();
    const start = this.position;
    this.skip(length);
    return new TextDecoder().decode(this.bytes.subarray(start, this.position));
  }
}

/** Unsigned LEB128; with `width`, padded to exactly that many bytes. */
export function encodeU32(value: number, width = 0): number[] {
  const bytes: number[] = [];
  let rest = value >>> 0;
  do {
    bytes.push(rest & 0x7f);
    rest >>>= 7;
  } while (rest !== 0);
  while (bytes.length < width) bytes.push(0);
  return bytes.map((byte, index) => (index < bytes.length - 1 ? byte | 0x80 : byte));
}

/** Signed LEB128 of a number that is not negative. */
export function encodeI32(value: number): number[] {
  const bytes = encodeU32(value);
  const last = bytes.at(-1) ?? 0;
  return last < 0x40 ? bytes : [...bytes.slice(0, -1), last | 0x80, 0];
}

export function encodeName(name: string): number[] {
  const bytes = new TextEncoder().encode(name);
  return [...encodeU32(bytes.length), ...bytes];
}

export function concatBytes(parts: readonly (Uint8Array | readonly number[])[]): Uint8Array {
  const result = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let offset = 0;
  for (const part of parts) {
    result.set(part, offset);
    offset += part.length;
  }
  return result;
}

export const SECTION = { type: 1, import: 2, function: 3, global: 6, export: 7, code: 10, data: 11 } as const;

export interface Section {
  readonly id: number;
  readonly body: Uint8Array;
}

const HEADER = [0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00];

export function splitSections(wasm: Uint8Array): Section[] {
  if (!HEADER.every((byte, index) => wasm[index] === byte)) throw new Error("not a WebAssembly 1 binary");
  const reader = new WasmReader(wasm, HEADER.length);
  const sections: Section[] = [];
  while (!reader.done) {
    const id = reader.byte();
    const length = reader.u32();
    const start = reader.position;
    reader.skip(length);
    sections.push({ id, body: wasm.slice(start, reader.position) });
  }
  return sections;
}

export function joinSections(sections: readonly Section[]): Uint8Array {
  return concatBytes([HEADER, ...sections.flatMap(({ id, body }) => [[id, ...encodeU32(body.length)], body])]);
}

/** The body of a section, which must exist. */
export function sectionBody(sections: readonly Section[], id: number): Uint8Array {
  const section = sections.find((candidate) => candidate.id === id);
  if (section === undefined) throw new Error(`wasm has no section ${id}`);
  return section.body;
}

/** The same sections with one body replaced. */
export function replaceSection(sections: readonly Section[], id: number, body: Uint8Array): Section[] {
  return sections.map((section) => (section.id === id ? { id, body } : section));
}
