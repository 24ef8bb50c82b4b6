import { Agent, type IncomingHttpHeaders, request } from "node:http";
import type { Stack } from "../../src/dev/stack.ts";

/** One answer of the gateway to one JSON-RPC message. */
export interface RpcAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** The parsed body; `undefined` where there is none. */
  readonly body: RpcBody | undefined;
}

export interface RpcBody {
  readonly id?: number;
  readonly result?: ToolAnswer & {
    readonly tools?: readonly { readonly name: string; readonly description?: string }[];
    readonly resources?: readonly { readonly uri: string }[];
  };
  readonly error?: { readonly code: number; readonly message: string; readonly data?: { readonly code?: string } };
}

export interface ToolAnswer {
  readonly isError?: boolean;
  readonly content?: readonly { readonly type: string; readonly text: string }[];
  readonly structuredContent?: Readonly<Record<string, unknown>>;
}

/** A bare client of the legacy era that keeps its connections open: for many calls, and for looking at raw answers. */
export class Caller {
  readonly #stack: Pick<Stack, "port" | "clientToken">;
  readonly #agent: Agent;
  #nextId = 1;

  constructor(stack: Pick<Stack, "port" | "clientToken">, connections = 32) {
    this.#stack = stack;
    this.#agent = new Agent({ keepAlive: true, maxSockets: connections });
  }

  /** Sends one request and answers whatever came back. */
  send(origin: string, method: string, params: object = {}): Promise<RpcAnswer> {
    const payload = JSON.stringify({ jsonrpc: "2.0", id: this.#nextId++, method, params });
    return new Promise((resolve, reject) => {
      const call = request(
        {
          agent: this.#agent,
          host: "127.0.0.1",
          port: this.#stack.port,
          method: "POST",
          path: `/mcp?origin=${encodeURIComponent(origin)}`,
          headers: {
            Authorization: `Bearer ${this.#stack.clientToken}`,
            "Content-Type": "application/json",
            "Content-Length": Buffer.byteLength(payload),
            Accept: "application/json, text/event-stream",
            "MCP-Protocol-Version": "2025-11-25",
          },
        },
        (response) => {
          const chunks: Buffer[] = [];
          response.on("data", (chunk: Buffer) => chunks.push(chunk));
          response.on("error", reject);
          response.on("end", () => {
            const text = Buffer.concat(chunks).toString();
            resolve({
              status: response.statusCode ?? 0,
              headers: response.headers,
              body: text === "" ? undefined : (JSON.parse(text) as RpcBody),
            });
          });
        },
      );
      call.on("error", reject);
      call.end(payload);
    });
  }

  /** Calls a tool; throws when the answer is not a tool result. */
  async call(origin: string, name: string, args: object = {}): Promise<ToolAnswer> {
    const { status, body } = await this.send(origin, "tools/call", { name, arguments: args });
    if (status !== 200 || body?.result === undefined) {
      throw new Error(`Calling ${name} was answered ${status}: ${JSON.stringify(body)}`);
    }
    return body.result;
  }

  /** Calls a tool that must succeed; answers its value. */
  async value(origin: string, name: string, args: object = {}): Promise<unknown> {
    const answer = await this.call(origin, name, args);
    if (answer.isError) throw new Error(`${name} failed: ${errorText(answer)}`);
    return JSON.parse(answer.content?.[0]?.text ?? "");
  }

  /** Calls a tool that must end in a tool error; answers its sentence. */
  async failure(origin: string, name: string, args: object = {}): Promise<string> {
    const answer = await this.call(origin, name, args);
    if (!answer.isError) throw new Error(`${name} did not fail: ${errorText(answer)}`);
    return errorText(answer);
  }

  close(): void {
    this.#agent.destroy();
  }
}

export function errorText(answer: ToolAnswer): string {
  return answer.content?.[0]?.text ?? "";
}
