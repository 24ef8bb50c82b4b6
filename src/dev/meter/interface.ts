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

export interface ImportEntry {
  readonly module: string;
  readonly name: string;
  readonly kind: "function" | "table" | "memory" | "global";
  /** The encoded description, kind byte included. */
  readonly description: Uint8Array;
}

export interface ExportEntry {
  readonly name: string;
  /** 0 function, 1 table, 2 memory, 3 global. */
  readonly kind: number;
  readonly index: number;
}

const KINDS = ["function", "table", "memory", "global"] as const;

export function readImports(body: Uint8Array): ImportEntry[] {
  const reader = new WasmReader(body);
  const entries: ImportEntry[] = [];
  for (let count = reader.u32(); count > 0; count--) {
    const module = reader.name();
    const name = reader.name();
    const start = reader.position;
    const kind = KINDS[reader.byte()];
    if (kind === undefined) throw new Error(`import ${name} has an unknown kind`);
    if (kind === "function") reader.skipLeb();
    else if (kind === "global") reader.skip(2);
    else {
      if (kind === "table") reader.byte();
      const hasMaximum = (reader.byte() & 1) === 1;
      reader.skipLeb();
      if (hasMaximum) reader.skipLeb();
    }
    entries.push({ module, name, kind, description: body.slice(start, reader.position) });
  }
  return entries;
}

export function readExports(body: Uint8Array): ExportEntry[] {
  const reader = new WasmReader(body);
  const entries: ExportEntry[] = [];
  for (let count = reader.u32(); count > 0; count--) {
    entries.push({ name: reader.name(), kind: reader.byte(), index: reader.u32() });
  }
  return entries;
}

/** Minified name → readable name. Imports must all be named; an export without a name is dropped. */
export interface Names {
  readonly imports: ReadonlyMap<string, string>;
  readonly exports: ReadonlyMap<string, string>;
}

/** Pages of 64 KiB of the imported memory. */
export interface MemoryPages {
  readonly initial: number;
  readonly maximum: number;
}

/**
 * Gives imports (all under the module name `host`) and exports readable names, so that nothing at run time depends on a
 * loader's minified ones; exports the mutable globals of `globals`; sets the bounds of the imported memory.
 */
export function renameInterface(
  sections: readonly Section[],
  names: Names,
  globals: ReadonlyMap<string, number>,
  pages: MemoryPages,
): Section[] {
  const imports = readImports(sectionBody(sections, SECTION.import)).map((entry) => {
    const name = names.imports.get(entry.name);
    if (name === undefined) throw new Error(`import ${entry.name} has no known name`);
    const description =
      entry.kind === "memory"
        ? [0x02, 0x01, ...encodeU32(pages.initial), ...encodeU32(pages.maximum)]
        : entry.description;
    return concatBytes([encodeName("host"), encodeName(name), description]);
  });
  const exports = readExports(sectionBody(sections, SECTION.export)).flatMap((entry) => {
    const name = names.exports.get(entry.name);
    return name === undefined ? [] : [encodeExport(name, entry.kind, entry.index)];
  });
  if (exports.length !== names.exports.size) throw new Error("an expected export is missing");
  for (const [name, index] of globals) exports.push(encodeExport(name, 3, index));
  const renamed = replaceSection(sections, SECTION.import, concatBytes([encodeU32(imports.length), ...imports]));
  return replaceSection(renamed, SECTION.export, concatBytes([encodeU32(exports.length), ...exports]));
}

function encodeExport(name: string, kind: number, index: number): number[] {
  return [...encodeName(name), kind, ...encodeU32(index)];
}
