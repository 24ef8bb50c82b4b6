import type { JsonObject } from "../core/json.ts";
import { failureOf } from "../core/mcp/answer.ts";
import { classifyBody, type Dialect } from "../core/mcp/eras.ts";
import { errorBody } from "../core/mcp/errors.ts";
import { parseMessage } from "../core/mcp/framing.ts";
import { agreedVersion, invoke } from "../core/mcp/methods.ts";
import { DEFAULT_PAGE_SIZE } from "../core/mcp/pages.ts";
import type { Provider } from "../core/mcp/provider.ts";
import { shapeResult } from "../core/mcp/results.ts";
import { ASSUMED_VERSION } from "../core/mcp/revisions.ts";
import { type Steps, settled } from "../core/sandbox/steps.ts";

/** Answers one message after the other; a client's handshake is remembered from one to the next. */
export class MessageAnswerer {
  readonly #provider: Provider;
  #negotiated = ASSUMED_VERSION;

  constructor(provider: Provider) {
    this.#provider = provider;
  }

  /** `null` for what is not answered. Never throws. */
  *answer(message: string | object, signal: AbortSignal | undefined): Steps<JsonObject | null> {
    const framing = parseMessage(typeof message === "string" ? message : textOf(message));
    if (!framing.ok) return errorBody(framing.id, framing.failure);
    if (framing.message.kind !== "request") return null;
    const { id, method, params } = framing.message;
    const provider = this.#provider;
    let dialect: Dialect | null = null;
    try {
      dialect = classifyBody(params, this.#negotiated);
      const invocation = { id, params, dialect, headers: null, provider, pageSize: DEFAULT_PAGE_SIZE, signal };
      const result = yield* settled(invoke(method, { ...invocation, progress: () => {} }));
      if (method === "initialize") this.#negotiated = agreedVersion(params.protocolVersion);
      return { jsonrpc: "2.0", id, result: shapeResult(dialect.era, provider, result) };
    } catch (error) {
      return errorBody(id, failureOf(error, dialect?.era ?? "modern", {}));
    }
  }
}

/** An empty text is as little a message as what cannot be written as JSON. */
function textOf(message: object): string {
  try {
    return JSON.stringify(message) ?? "";
  } catch {
    return "";
  }
}
