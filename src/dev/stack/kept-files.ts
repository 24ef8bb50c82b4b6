import { randomBytes } from "node:crypto";
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname } from "node:path";

/** Secrets that a local stack keeps between two starts. */
export interface Credentials {
  readonly adminToken: string;
  readonly clientToken?: string;
}

/** Reads the kept credentials, or makes an admin token where there are none that can be read. */
export async function readCredentials(path: string): Promise<Credentials> {
  try {
    const kept = JSON.parse(await readFile(path, "utf8")) as Partial<Record<keyof Credentials, unknown>>;
    if (typeof kept.adminToken === "string") {
      return {
        adminToken: kept.adminToken,
        ...(typeof kept.clientToken === "string" ? { clientToken: kept.clientToken } : {}),
      };
    }
  } catch {
    // None yet, or half a file of an older version: both start afresh.
  }
  return { adminToken: `adm_${randomBytes(24).toString("base64url")}` };
}

/** Writes a JSON file that only its owner can read, whole or not at all. */
export async function writePrivateJson(path: string, value: object): Promise<void> {
  const fresh = `${path}.${process.pid}`;
  await mkdir(dirname(path), { recursive: true });
  try {
    await writeFile(fresh, `${JSON.stringify(value, null, 2)}\n`, { mode: 0o600 });
    await rename(fresh, path);
  } finally {
    await rm(fresh, { force: true });
  }
}
