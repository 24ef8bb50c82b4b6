import { chmod, open, rename, rm, stat } from "node:fs/promises";
import { resolve } from "node:path";
import { z } from "zod";
import { encodeBase64 } from "../../core/attestation/base64.ts";
import { isAttester } from "../../core/attestation/read.ts";
import { CommandError } from "../command-error.ts";
import { errorCode, readJsonFile } from "../files.ts";
import type { Terminal } from "../terminal.ts";

/** A reviewer's own key pair. */
export interface ReviewerKeyPair {
  readonly attester: string;
  /** Standard base64 of the 32 raw bytes. */
  readonly publicKey: string;
  readonly privateKey: CryptoKey;
}

/** For its owner alone. */
const PRIVATE_MODE = 0o600;
const OTHERS = 0o077;

const KEY_FILE = z.object({
  attester: z.string().refine(isAttester, "must be type:name, such as human:ada"),
  public_key: z.string(),
  private_jwk: z.object({ kty: z.literal("OKP"), crv: z.literal("Ed25519"), x: z.string(), d: z.string() }),
});

/**
 * Makes a key pair and writes it to a new file that its owner alone can read.
 *
 * @param force replaces a file that is there.
 * @returns the public key, standard base64.
 * @throws {CommandError} `file_exists`, `bad_file`.
 */
export async function createKeyFile(
  file: string,
  attester: string,
  { force, cwd }: { force: boolean } & Pick<Terminal, "cwd">,
): Promise<string> {
  const pair = (await crypto.subtle.generateKey("Ed25519", true, ["sign", "verify"])) as CryptoKeyPair;
  const publicKey = encodeBase64(new Uint8Array(await crypto.subtle.exportKey("raw", pair.publicKey)));
  const { kty, crv, x, d } = await crypto.subtle.exportKey("jwk", pair.privateKey);
  const text = `${JSON.stringify({ attester, public_key: publicKey, private_jwk: { kty, crv, x, d } }, null, 2)}\n`;
  const path = resolve(cwd, file);
  try {
    if (force) await replacePrivately(path, text);
    else await writeNew(path, text);
  } catch (error) {
    if (errorCode(error) === "EEXIST") {
      throw new CommandError("file_exists", `The file ${file} is there already; --force replaces it, for good.`);
    }
    throw new CommandError("bad_file", `The file ${file} cannot be written (${errorCode(error)}).`);
  }
  return publicKey;
}

async function writeNew(path: string, text: string): Promise<void> {
  await using handle = await open(path, "wx", PRIVATE_MODE);
  await handle.writeFile(text);
}

async function replacePrivately(path: string, text: string): Promise<void> {
  // A name that nobody else has: what is found under it must not be another process's.
  const partial = `${path}.${crypto.randomUUID()}.partial`;
  try {
    await writeNew(partial, text);
    // A umask can only have taken from the mode.
    await chmod(partial, PRIVATE_MODE);
    await rename(partial, path);
  } finally {
    await rm(partial, { force: true });
  }
}

/**
 * Reads a key file that {@link createKeyFile} wrote.
 *
 * @throws {CommandError} `key_exposed` where others can read it, `bad_key`, `bad_file`.
 */
export async function readKeyFile(file: string, terminal: Pick<Terminal, "cwd">): Promise<ReviewerKeyPair> {
  const content = await readJsonFile(file, terminal);
  const { mode } = await stat(resolve(terminal.cwd, file));
  // Windows has no such modes and shows them all.
  if (process.platform !== "win32" && (mode & OTHERS) !== 0) {
    throw new CommandError("key_exposed", `Others can read the key file ${file}: run chmod 600 on it.`);
  }
  const read = KEY_FILE.safeParse(content);
  if (!read.success) throw badKey(file, `${read.error.issues[0]?.path.join(".")}: ${read.error.issues[0]?.message}`);
  const { attester, public_key: publicKey, private_jwk: jwk } = read.data;
  if (Buffer.from(jwk.x, "base64url").toString("base64") !== publicKey) {
    throw badKey(file, "public_key is not the public half of private_jwk");
  }
  let privateKey: CryptoKey;
  try {
    privateKey = await crypto.subtle.importKey("jwk", jwk, "Ed25519", false, ["sign"]);
  } catch {
    throw badKey(file, "private_jwk is not an Ed25519 key");
  }
  if (!(await belongTogether(privateKey, jwk))) throw badKey(file, "the halves of private_jwk do not belong together");
  return { attester, publicKey, privateKey };
}

/** Tried out, since importing a key does not compare its halves. */
async function belongTogether(privateKey: CryptoKey, { kty, crv, x }: JsonWebKey): Promise<boolean> {
  const publicKey = await crypto.subtle.importKey("jwk", { kty, crv, x } as JsonWebKey, "Ed25519", false, ["verify"]);
  const text = new TextEncoder().encode("skillgate");
  return crypto.subtle.verify("Ed25519", publicKey, await crypto.subtle.sign("Ed25519", privateKey, text), text);
}

function badKey(file: string, why: string): CommandError {
  return new CommandError("bad_key", `The file ${file} is not a key file of skillgate (${why}).`);
}
