import { runInDurableObject } from "cloudflare:test";
import { drizzle } from "drizzle-orm/d1";
import { expect, vi } from "vitest";
import { addClient, addOrigin, env, mcp, rpc, send } from "../../../test/workerd/gateway-fixture.ts";
import { sha256Hex } from "../../core/integrity.ts";
import type { CanonicalOrigin } from "../../core/origin.ts";
import { auditLog } from "../registry/schema.ts";
import { refreshHub } from "../releases/hub-client.ts";

// Shared by the tests of notifications: streams through the whole Worker, whose clock they move.

/** So far the clock goes on before something that was to come is missed, milliseconds. */
const PATIENCE_MS = 30_000;
const STEP_MS = 1_000;
/** What a step begins asks the database and the hub, in real time; so long is waited for them. */
const ANSWER_MS = 10_000;
const LOOK_MS = 2;

export const notifierOf = (origin: string) => env.NOTIFIER.get(env.NOTIFIER.idFromName(origin));

export function fakeClock(): void {
  // Nothing but streams has intervals. What others wait for, they wait for in real time.
  vi.useFakeTimers({ toFake: ["Date", "setInterval", "clearInterval"] });
}

/** Lets time pass where the streams of an origin are kept, and everything be done that it brings. */
export async function pass(origin: string, ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += STEP_MS) {
    await runInDurableObject(notifierOf(origin), async (_, state) => {
      let open = 0;
      const end = () => {
        open -= 1;
      };
      const waitUntil = vi.spyOn(state, "waitUntil").mockImplementation((work) => {
        open += 1;
        void work.then(end, end);
      });
      vi.advanceTimersByTime(Math.min(STEP_MS, ms - passed));
      // It looks by a timer of its own: what an object that was evicted began would not wake this one.
      for (let waited = 0; open > 0 && waited < ANSWER_MS; waited += LOOK_MS) await scheduler.wait(LOOK_MS);
      waitUntil.mockRestore();
    });
  }
}

export interface Message {
  readonly id?: string | number;
  readonly method?: string;
  readonly params?: Record<string, unknown>;
  readonly result?: Record<string, unknown>;
}

/** A stream of messages as a client reads it. */
export class TestStream {
  readonly messages: Message[] = [];
  comments = 0;
  lastEventId: string | null = null;
  isOver = false;
  readonly #origin: string;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;

  constructor(origin: string, body: ReadableStream<Uint8Array>) {
    this.#origin = origin;
    this.#reader = body.getReader();
    void this.#read();
  }

  get methods(): (string | undefined)[] {
    return this.messages.map(({ method }) => method);
  }

  /** Waits for so many messages in all, while time passes. */
  async received(count: number): Promise<Message[]> {
    await this.#until(() => this.messages.length >= count);
    return this.messages;
  }

  async ended(): Promise<void> {
    await this.#until(() => this.isOver);
  }

  async close(): Promise<void> {
    await this.#reader.cancel();
  }

  async #until(isSo: () => boolean): Promise<void> {
    for (let passed = 0; !isSo() && passed < PATIENCE_MS; passed += STEP_MS) await pass(this.#origin, STEP_MS);
    expect(isSo(), JSON.stringify(this.messages)).toBe(true);
  }

  async #read(): Promise<void> {
    const decoder = new TextDecoder();
    let text = "";
    for (;;) {
      const { done, value } = await this.#reader.read().catch(() => ({ done: true, value: undefined }));
      if (done || value === undefined) break;
      text += decoder.decode(value, { stream: true });
      const events = text.split("\n\n");
      text = events.pop() ?? "";
      for (const event of events) {
        const [id, data] = ["id: ", "data: "].map((field) => event.split("\n").find((line) => line.startsWith(field)));
        this.lastEventId = id?.slice("id: ".length) ?? this.lastEventId;
        if (data === undefined) this.comments += 1;
        else this.messages.push(JSON.parse(data.slice("data: ".length)));
      }
    }
    this.isOver = true;
  }
}

type Bindings = Partial<Record<string, unknown>>;

export function get(origin: string, token: string, headers: Record<string, string> = {}, bindings: Bindings = {}) {
  const init = { headers: { Accept: "text/event-stream", Authorization: `Bearer ${token}`, ...headers } };
  return send(mcp(origin), init, bindings);
}

async function streamOf(origin: string, response: Response): Promise<TestStream> {
  if (response.status !== 200 || response.body === null) throw new Error(`${response.status} ${await response.text()}`);
  return new TestStream(origin, response.body);
}

let rows = 1_000;

/** What an operator decides, with the row that the audit log gets for it. */
export async function decide(
  change: (db: ReturnType<typeof drizzle>) => Promise<unknown>,
  action = "client.tools",
): Promise<void> {
  const db = drizzle(env.DB);
  await change(db);
  rows += 1;
  const hash = `${rows}`;
  const row = { seq: rows, at: 0, actor: "x", action, subject: "x", detail: "{}", requestId: "x", hash };
  await db.insert(auditLog).values({ ...row, prevHash: `before ${hash}` });
}

/** The stream that a legacy client opens. @param after the id of the event that it was sent last. */
export async function openLegacy(origin: string, token: string, after: string | null = null): Promise<TestStream> {
  return streamOf(origin, await get(origin, token, after === null ? {} : { "Last-Event-ID": after }));
}

const MODERN = "2026-07-28";

/** A request of a modern client. */
export function ask(origin: string, token: string, method: string, params: object, bindings: Bindings = {}) {
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  const headers = { "MCP-Protocol-Version": MODERN, "Mcp-Method": method };
  return rpc(mcp(origin), method, { token, headers, params: { _meta, ...params }, bindings });
}

export function listen(origin: string, token: string, notifications: unknown, bindings: Bindings = {}) {
  return ask(origin, token, "subscriptions/listen", { notifications }, bindings);
}

/** The stream that a modern client opens. */
export async function openModern(origin: string, token: string, notifications: unknown): Promise<TestStream> {
  return streamOf(origin, await listen(origin, token, notifications));
}

/** What a publisher has: tools by name, each with its description and whether it has a recipe. */
export type Tools = Readonly<Record<string, { readonly description: string; readonly recipe?: string }>>;

const bytes = (text: string) => new TextEncoder().encode(text);

/** A publisher of these tools, a client that may use it, and how to change what it publishes. */
export async function published(tools: Tools) {
  const { id, origin, host } = await addOrigin("files");
  const { id: clientId, token } = await addClient();
  const become = async (next: Tools) => {
    await fetch(`https://${host}/__files`, { method: "PUT", body: JSON.stringify(await filesOf(next)) });
  };
  await become(tools);
  return {
    id,
    clientId,
    token,
    origin: origin as CanonicalOrigin,
    /** The publisher changes, its hub finds out and tells. */
    change: async (next: Tools) => {
      const before = await policyVersion(id);
      await become(next);
      await refreshHub(env, origin as CanonicalOrigin);
      for (let i = 0; i < 1_000 && (await policyVersion(id)) === before; i++) await scheduler.wait(10);
      // The object goes on once it has written that.
      await runInDurableObject(notifierOf(origin), () => {});
    },
  };
}

async function policyVersion(originId: string): Promise<number | null> {
  return env.DB.prepare("SELECT policy_version FROM origins WHERE id = ?").bind(originId).first("policy_version");
}

async function filesOf(tools: Tools): Promise<Record<string, string>> {
  const files: Record<string, string> = {};
  const lines: string[] = [];
  for (const [name, { description, recipe }] of Object.entries(tools)) {
    const script = `registerTool({ name: "${name}", description: ${JSON.stringify(description)}, handler: () => 1 });`;
    files[`/${name}.js`] = script;
    const metadata: Record<string, string> = { tool: `/${name}.js`, tool_sha256: await sha256Hex(bytes(script)) };
    if (recipe !== undefined) {
      files[`/${name}.md`] = recipe;
      metadata.sha256 = await sha256Hex(bytes(recipe));
    }
    const link = recipe === undefined ? "" : `/${name}.md`;
    lines.push(`- [${name}](${link}): ${description} <!-- skill: ${JSON.stringify(metadata)} -->`);
  }
  files["/llms.txt"] = `# T\n\n## Skills\n\n${lines.join("\n")}\n`;
  return files;
}
