import { constants, deflateRawSync } from "node:zlib";
import { buildZip } from "./build.ts";

const MIB = 1_048_576;

/** A DEFLATE stream of so many MiB of zeros, a thousandth of that long, made without inflating it. */
export function deflatedZeros(mib: number): Uint8Array {
  const one = deflateRawSync(new Uint8Array(MIB), { finishFlush: constants.Z_FULL_FLUSH, level: 9 });
  return Buffer.concat([...new Array<Uint8Array>(mib).fill(one), deflateRawSync(new Uint8Array(0))]);
}

/** A gzip file that inflates to so many MiB; its trailer is never reached. */
export function gzipBomb(mib: number): Uint8Array<ArrayBuffer> {
  const header = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 2, 3]);
  return new Uint8Array(Buffer.concat([header, deflatedZeros(mib), new Uint8Array(8)]));
}

/** The same in a zip that says its one file is short. */
export function zipBomb(mib: number): Uint8Array<ArrayBuffer> {
  return buildZip([{ name: "SKILL.md", body: "# Skill\n", data: deflatedZeros(mib) }]);
}
