import { crc32 } from "node:zlib";
import { sha256Hex } from "../../core/integrity.ts";

/**
 * Client tokens: `sg_<random>_<checksum>`; operators' tokens begin with `sgo_`. The random part is 160 bits in 32 characters of Crockford's base 32, the checksum the CRC-32 of
 * what stands before it in 7 characters of the same alphabet. It lets junk and typing errors be refused without a database read; it is no secret
 * and proves nothing.
 */
const ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz";
const RANDOM_BYTES = 20;
const SHAPE = /^(sgo?)_[0-9a-hjkmnp-tv-z]{32}_[0-9a-hjkmnp-tv-z]{7}$/;
/** RFC 6750 §2.1 `b64token`, with a bound: a token of ours has 43 characters. */
const BEARER = /^bearer +([A-Za-z0-9\-._~+/]{1,512}=*) *$/i;
const MAX_HEADER_CHARS = 1024;

/** Whose token it is: a client's, or an operator's. */
type TokenPrefix = "sg" | "sgo";

/** A fresh token. Show it once; store only its {@link tokenSha256}. */
export function createToken(prefix: TokenPrefix = "sg"): string {
  const body = `${prefix}_${base32(crypto.getRandomValues(new Uint8Array(RANDOM_BYTES)))}`;
  return `${body}_${checksum(body)}`;
}

/** True when the text has the shape of a token and its checksum is right. Says nothing about whether the token exists. */
export function isWellFormedToken(text: string, prefix: TokenPrefix = "sg"): boolean {
  if (SHAPE.exec(text)?.[1] !== prefix) return false;
  const cut = text.lastIndexOf("_");
  return constantTimeEqual(checksum(text.slice(0, cut)), text.slice(cut + 1));
}

/** SHA-256 of the token's UTF-8 bytes, lower-case hex: the only form in which a token is stored or looked up. */
export function tokenSha256(token: string): Promise<string> {
  return sha256Hex(new TextEncoder().encode(token));
}

/**
 * The credential of an `Authorization: Bearer` header (RFC 6750 §2.1), or `null` where the header is absent, longer than 1,024
 * characters, of another scheme or malformed. The scheme is case-insensitive (RFC 9110 §11.1).
 */
export function parseBearer(header: string | null | undefined): string | null {
  if (header === null || header === undefined || header.length > MAX_HEADER_CHARS) return null;
  return BEARER.exec(header)?.[1] ?? null;
}

/** Visible ASCII, with spaces inside: what other gateways accept as a token. */
const FOREIGN_BEARER = /^bearer +([\x21-\x7e](?:[\x20-\x7e]{0,510}[\x21-\x7e])?) *$/i;

/** As {@link parseBearer}, for a token that another gateway issued, which may have other characters. */
export function parseForeignBearer(header: string): string | null {
  return header.length > MAX_HEADER_CHARS ? null : (FOREIGN_BEARER.exec(header)?.[1] ?? null);
}

/** Compares two texts in a time that depends on their lengths alone. */
export function constantTimeEqual(left: string, right: string): boolean {
  let difference = left.length ^ right.length;
  // Beyond the end of the other text `charCodeAt` is not a number, which counts as 0 here.
  for (let i = 0; i < left.length; i++) difference |= left.charCodeAt(i) ^ right.charCodeAt(i);
  return difference === 0;
}

function checksum(body: string): string {
  const value = crc32(body);
  return base32(Uint8Array.of(value >>> 24, (value >>> 16) & 255, (value >>> 8) & 255, value & 255));
}

/** Most significant bits first; the last character is padded with zero bits. */
function base32(bytes: Uint8Array): string {
  let text = "";
  let pending = 0;
  let bits = 0;
  for (const byte of bytes) {
    pending = ((pending << 8) | byte) & 0xfff;
    bits += 8;
    for (; bits >= 5; bits -= 5) text += ALPHABET.charAt((pending >>> (bits - 5)) & 31);
  }
  return bits === 0 ? text : text + ALPHABET.charAt((pending << (5 - bits)) & 31);
}
