const f32 = Math.fround;

const LN2_HIGH = f32(0.69313812255859375);
const LN2_LOW = f32(9.0580006144591607e-6);
/** Coefficients of the even polynomial R in log(1 + f) = f − f²/2 + s·(f²/2 + R), s = f / (2 + f). */
const R1 = f32(0xaaaaaa / 2 ** 24);
const R2 = f32(0xccce13 / 2 ** 25);
const R3 = f32(0x91e9ee / 2 ** 25);
const R4 = f32(0xf89e26 / 2 ** 26);

const SQRT_HALF = 0x3f3504f3;
const ONE = 0x3f800000;
const word = new Uint32Array(1);
const single = new Float32Array(word.buffer);

/**
 * Natural logarithm in single precision, each operation rounded to a float32, in the order of FreeBSD's `e_logf.c`, so that
 * scores equal those of the format's first implementation bit for bit. The ranking itself would not need it.
 *
 * @param x a normal, positive, finite float32.
 */
export function logf(x: number): number {
  single[0] = x;
  const bits = word[0] as number;
  if (bits === ONE) return 0;
  // x = 2^k · (1 + f) with 1 + f between √½ and √2.
  const shifted = bits + (ONE - SQRT_HALF);
  const k = (shifted >>> 23) - 0x7f;
  word[0] = (shifted & 0x007fffff) + SQRT_HALF;
  const f = f32((single[0] as number) - 1);
  const s = f32(f / f32(2 + f));
  const z = f32(s * s);
  const w = f32(z * z);
  const even = f32(w * f32(R2 + f32(w * R4)));
  const odd = f32(z * f32(R1 + f32(w * R3)));
  const r = f32(odd + even);
  const half = f32(f32(0.5 * f) * f);
  const small = f32(f32(s * f32(half + r)) + f32(k * LN2_LOW));
  return f32(f32(f32(small - half) + f) + f32(k * LN2_HIGH));
}
