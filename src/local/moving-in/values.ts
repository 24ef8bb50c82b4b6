import { sha256Hex } from "../../core/integrity.ts";
import type { Json, JsonObject } from "../../core/json.ts";
import { isJsonObject } from "../../core/json.ts";
import { CommandError } from "../command-error.ts";
import { readTextFile } from "../files.ts";
import type { Terminal } from "../terminal.ts";

/** Settings of the reference gateway, as its operator wrote them: each the value itself, or `@` and the name of a file. */
export interface ImportFlags {
  readonly clients?: string;
  readonly authToken?: string;
  readonly allowedOrigins?: string;
  readonly reviewers?: string;
}

/**
 * What `POST /admin/api/v1/import` takes. What is not moved is left out. The entries of each are judged by the gateway,
 * which says of every one what becomes of it.
 */
export interface ImportRequest extends JsonObject {
  /** CLIENTS: by the SHA-256 of a client's token, `{client_id, rpm?}`. */
  readonly clients?: JsonObject;
  /** Of AUTH_TOKEN, which itself never leaves the machine of its operator. */
  readonly authTokenSha256?: string;
  /** ALLOWED_ORIGINS: a list with commas. */
  readonly allowedOrigins?: readonly string[];
  /** REVIEWERS: by attester, `{public_key, registered_at?}`. */
  readonly reviewers?: JsonObject;
}

/** @throws {CommandError} `usage` when nothing is given; `bad_file`, `bad_value` for what cannot be read. */
export async function readImport(flags: ImportFlags, terminal: Pick<Terminal, "cwd">): Promise<ImportRequest> {
  const read = async (value: string) => (value.startsWith("@") ? readTextFile(value.slice(1), terminal) : value);
  const given: Record<string, Json> = {};
  const { clients, authToken, allowedOrigins, reviewers } = flags;
  if (clients !== undefined) given.clients = readObject("--clients", await read(clients));
  if (authToken !== undefined) given.authTokenSha256 = await hashOf((await read(authToken)).trim());
  if (allowedOrigins !== undefined) given.allowedOrigins = readList(await read(allowedOrigins));
  if (reviewers !== undefined) given.reviewers = readObject("--reviewers", await read(reviewers));
  if (Object.keys(given).length > 0) return given;
  const all = "--clients, --auth-token, --allowed-origins or --reviewers";
  throw new CommandError("usage", `There is nothing to move in: give ${all}.`);
}

/** The old gateway took what it could not read for an empty registry, and let nobody in; here somebody is told. */
function readObject(option: string, text: string): JsonObject {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new CommandError("bad_value", `${option} is not valid JSON; a file is named with @ before its name.`);
  }
  if (isJsonObject(value)) return value;
  throw new CommandError("bad_value", `${option} is not a JSON object.`);
}

function readList(text: string): readonly string[] {
  return text
    .split(/[,\n]/)
    .map((item) => item.trim())
    .filter((item) => item !== "");
}

async function hashOf(token: string): Promise<string> {
  if (token === "") throw new CommandError("bad_value", "--auth-token is empty.");
  return sha256Hex(new TextEncoder().encode(token));
}
