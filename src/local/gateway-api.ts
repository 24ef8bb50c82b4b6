import { z } from "zod";
import type { Json } from "../core/json.ts";
import { CommandError } from "./command-error.ts";
import { errorCode } from "./files.ts";
import type { Terminal } from "./terminal.ts";

/** Where an operator's token is looked for when no option gives one, so that it need not stand in a command line. */
export const TOKEN_VARIABLE = "SKILLGATE_ADMIN_TOKEN";

const TIMEOUT_MS = 30_000;
const PROBLEM = z.object({ code: z.string(), detail: z.string().optional() });

/** The admin API of a gateway, as one operator. */
export class GatewayApi {
  readonly #base: string;
  readonly #token: string;

  /**
   * @param gateway its address, such as `https://gateway.example`; http for this machine alone, since a token goes there.
   * @throws {CommandError} `usage`, `no_token`.
   */
  constructor(gateway: string, token: string | undefined, { env }: Pick<Terminal, "env">) {
    this.#base = `${readGateway(gateway)}/admin/api/v1`;
    const found = token ?? env[TOKEN_VARIABLE];
    if (found === undefined || found === "") {
      throw new CommandError(
        "no_token",
        `The gateway needs an operator's token: set ${TOKEN_VARIABLE}, or use --token.`,
      );
    }
    if (!/^[\x21-\x7e]+$/.test(found)) {
      throw new CommandError("no_token", "The operator's token has characters that no token has.");
    }
    this.#token = found;
  }

  /** @throws {CommandError} `gateway_unreachable`, `gateway_refused` with the gateway's own code and sentence. */
  get(path: string): Promise<Json> {
    return this.#ask("GET", path);
  }

  /** @throws {CommandError} as {@link get}. */
  post(path: string, body: Json): Promise<Json> {
    return this.#ask("POST", path, "application/json", JSON.stringify(body));
  }

  /** Sends bytes as they are. @throws {CommandError} as {@link get}. */
  upload(path: string, bytes: Uint8Array): Promise<Json> {
    return this.#ask("POST", path, "application/octet-stream", bytes as Uint8Array<ArrayBuffer>);
  }

  async #ask(method: string, path: string, type?: string, body?: string | Uint8Array<ArrayBuffer>): Promise<Json> {
    let response: Response;
    let text: string;
    try {
      response = await fetch(`${this.#base}${path}`, {
        method,
        headers: { authorization: `Bearer ${this.#token}`, ...(type === undefined ? {} : { "content-type": type }) },
        ...(body === undefined ? {} : { body }),
        redirect: "error",
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
      text = await response.text();
    } catch (error) {
      const why = errorCode(error instanceof Error ? (error.cause ?? error) : error);
      throw new CommandError("gateway_unreachable", `The gateway at ${this.#base} did not answer (${why}).`);
    }
    const answer = parseJson(text);
    if (response.ok && answer !== undefined) return answer;
    const problem = PROBLEM.safeParse(answer);
    const why = problem.success ? `${problem.data.code}: ${problem.data.detail ?? ""}` : "no reason that can be read";
    throw new CommandError("gateway_refused", `The gateway answered ${response.status} to ${method} ${path}: ${why}`);
  }
}

function readGateway(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  const local = url?.protocol === "http:" && ["127.0.0.1", "localhost", "[::1]"].includes(url.hostname);
  if (url === null || (url.protocol !== "https:" && !local) || url.username !== "" || url.search !== "") {
    const message = "The gateway must be given as https://host, or as http:// on this machine.";
    throw new CommandError("usage", message);
  }
  return `${url.origin}${url.pathname.replace(/\/$/, "")}`;
}

function parseJson(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}
