import { connect, type Socket } from "node:net";
import { HOST } from "../../src/dev/stack/ports.ts";

const NOTHING: Buffer = Buffer.alloc(0);
const END_OF_HEAD = "\r\n\r\n";
const CRLF = "\r\n";

export type OnAnswer = (status: number, body: Buffer) => void;

/**
 * A keep-alive connection that carries one request at a time. Reads just enough HTTP/1.1 for workerd's answers (Content-Length or
 * chunked), for the generator shares its machine with what it measures.
 */
export class Connection {
  readonly #socket: Socket;
  #received: Buffer = NOTHING;
  #onAnswer: OnAnswer | undefined;
  #onFailure: ((error: Error) => void) | undefined;
  closed = false;

  constructor(port: number) {
    this.#socket = connect({ port, host: HOST, noDelay: true });
    this.#socket.on("data", (chunk) => this.#receive(chunk));
    this.#socket.on("error", (error) => this.#fail(error));
    this.#socket.on("close", () => this.#fail(new Error("the connection was closed")));
  }

  /** Sends a whole request. Exactly one of the two functions is called, once. */
  send(request: Buffer, onAnswer: OnAnswer, onFailure: (error: Error) => void): void {
    this.#onAnswer = onAnswer;
    this.#onFailure = onFailure;
    this.#socket.write(request);
  }

  close(): void {
    this.#socket.destroy();
  }

  #fail(error: Error): void {
    this.closed = true;
    const onFailure = this.#onFailure;
    this.#onAnswer = undefined;
    this.#onFailure = undefined;
    onFailure?.(error);
  }

  #receive(chunk: Buffer): void {
    this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk]);
    const answer = readAnswer(this.#received);
    if (answer === null) return;
    this.#received = NOTHING;
    const onAnswer = this.#onAnswer;
    this.#onAnswer = undefined;
    this.#onFailure = undefined;
    onAnswer?.(answer.status, answer.body);
  }
}

/** The answer, once its last byte is there. */
export function readAnswer(received: Buffer): { status: number; body: Buffer } | null {
  const headEnd = received.indexOf(END_OF_HEAD);
  if (headEnd < 0) return null;
  const head = received.toString("latin1", 0, headEnd);
  const status = Number(head.slice(9, 12));
  const bodyStart = headEnd + END_OF_HEAD.length;
  const length = /\r\ncontent-length: *(\d+)/i.exec(head);
  if (length !== null) {
    const end = bodyStart + Number(length[1]);
    return received.length < end ? null : { status, body: received.subarray(bodyStart, end) };
  }
  if (!/\r\ntransfer-encoding: *chunked/i.test(head)) return { status, body: NOTHING };
  const chunks: Buffer[] = [];
  for (let at = bodyStart; ; ) {
    const lineEnd = received.indexOf(CRLF, at);
    if (lineEnd < 0) return null;
    const size = Number.parseInt(received.toString("latin1", at, lineEnd), 16);
    const start = lineEnd + CRLF.length;
    if (received.length < start + size + CRLF.length) return null;
    if (size === 0) return { status, body: chunks.length === 1 ? (chunks[0] ?? NOTHING) : Buffer.concat(chunks) };
    chunks.push(received.subarray(start, start + size));
    at = start + size + CRLF.length;
  }
}
