import { decodeUtf8 } from "../../core/integrity.ts";
import { Connection, type ConnectionOptions } from "../../core/mcp/connection.ts";
import { RPC, type RpcFailure } from "../../core/mcp/errors.ts";
import { LineReader } from "./line-reader.ts";

/** Bytes of one message, as a request to the gateway may have. */
export const MAX_LINE_BYTES = 1_048_576;

/** What was asked before the input ended is still answered for this long, milliseconds: a client that closes us waits 2 s before it kills. */
const LAST_ANSWERS_MS = 1_500;

/** How often a call that wants progress is said to be still running, milliseconds. */
const HEARTBEAT_MS = 1_000;

export interface StdioOptions extends Omit<ConnectionOptions, "send"> {
  readonly input: NodeJS.ReadableStream;
  readonly output: NodeJS.WritableStream;
  /** Ends the service at once. */
  readonly ending: AbortSignal;
}

export interface StdioServer {
  /** Tells the client, as far as its era lets it be told. */
  listChanged(): void;
  /** Settles when the service has ended, however it did. */
  readonly ended: Promise<void>;
}

/**
 * Serves one MCP client on a pair of streams, one message a line (MCP basic/transports/stdio). A line that is no message is answered with
 * an error and harms no other; while the client does not read its answers, no more of its messages are read.
 *
 * The service ends with the input, after a moment for what was asked before; with the output; or with `ending`. Whatever runs then is cancelled.
 */
export function serveStdio({ input, output, ending, ...options }: StdioOptions): StdioServer {
  const connection = new Connection({
    heartbeatMs: HEARTBEAT_MS,
    ...options,
    send: (text) => {
      if (!output.write(`${text.replace(LINE_ENDS, escaped)}\n`)) input.pause();
    },
  });
  const lines = new LineReader(MAX_LINE_BYTES, (line) => {
    if (!line.ok) return connection.refuse(TOO_LONG);
    const text = readText(line.bytes);
    if (text === null) connection.refuse(NOT_UTF8);
    else if (text.trim() !== "") void connection.receive(text);
  });

  let end = () => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  let lastAnswers: NodeJS.Timeout | undefined;
  const onData = (chunk: string | Uint8Array) => {
    lines.push(typeof chunk === "string" ? new TextEncoder().encode(chunk) : chunk);
  };
  const onDrain = () => input.resume();
  const onInputEnd = () => {
    if (lastAnswers !== undefined) return;
    lines.end();
    lastAnswers = setTimeout(stop, LAST_ANSWERS_MS);
    void connection.idle().then(stop);
  };
  const stop = () => {
    clearTimeout(lastAnswers);
    ending.removeEventListener("abort", stop);
    input.off("data", onData).off("end", onInputEnd).off("close", onInputEnd).off("error", onInputEnd);
    output.off("drain", onDrain).off("close", stop);
    input.pause();
    connection.close();
    end();
  };
  input.on("data", onData).on("end", onInputEnd).on("close", onInputEnd).on("error", onInputEnd);
  // Errors of the output may come as long as something is being written, so this one stays.
  output.on("drain", onDrain).on("close", stop).on("error", stop);
  ending.addEventListener("abort", stop, { once: true });
  if (ending.aborted) stop();
  return { listChanged: () => connection.listChanged(), ended };
}

/** JSON may have these as they are; readers of lines, Node's `readline` among them, take them for the end of one. */
const LINE_ENDS = /[\u2028\u2029]/g;

/** In JSON they stand in strings alone, where this is the same character. */
function escaped(character: string): string {
  return character === "\u2028" ? "\\u2028" : "\\u2029";
}

const TOO_LONG: RpcFailure = {
  status: 413,
  rpcCode: RPC.invalidRequest,
  message: `The line has more than ${MAX_LINE_BYTES} bytes, the limit of one message.`,
  data: { code: "too_large" },
};

const NOT_UTF8: RpcFailure = {
  status: 400,
  rpcCode: RPC.parseError,
  message: "The line is not valid UTF-8.",
  data: { code: "bad_json" },
};

function readText(bytes: Uint8Array): string | null {
  try {
    return decodeUtf8(bytes);
  } catch {
    return null;
  }
}
