import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env as testEnv } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Env } from "../env.ts";
import { KEPT_EVENTS, MAX_STREAMS, STREAM_MS } from "../live/live-event.ts";
import { openLiveStream, publishLive } from "../live/live-feed.ts";

const env = testEnv as unknown as Env;
const feed = () => env.LIVE_FEED.get(env.LIVE_FEED.idFromName("all"));
const publish = (calls: number) => publishLive(env, { type: "usage", at: 1, calls, errors: 0 });

const opened: (() => Promise<void> | undefined)[] = [];

interface ServerEvent {
  readonly id: string;
  readonly event: string;
  readonly data: { readonly calls?: number };
  /** When a browser opens the next stream, milliseconds. */
  readonly retry: string | undefined;
}

/** A stream as a browser reads it. */
async function open(actor = crypto.randomUUID(), lastEventId: string | null = null) {
  const response = await openLiveStream(env, actor, lastEventId);
  const reader = response.body?.getReader();
  const decoder = new TextDecoder();
  const close = () => reader?.cancel();
  opened.push(close);
  let text = "";
  return {
    status: response.status,
    type: response.headers.get("Content-Type"),
    close,
    /** The next event; `null`: the stream ended. */
    async next(): Promise<ServerEvent | null> {
      for (;;) {
        const end = text.indexOf("\n\n");
        if (end !== -1) {
          const lines = text.slice(0, end).split("\n");
          text = text.slice(end + 2);
          const field = (name: string) => lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
          const event = field("event");
          if (event === undefined) continue;
          return { id: field("id") ?? "", event, data: JSON.parse(field("data") ?? "{}"), retry: field("retry") };
        }
        const chunk = await reader?.read();
        if (chunk === undefined || chunk.done) return null;
        text += decoder.decode(chunk.value, { stream: true });
      }
    },
  };
}

beforeEach(async () => {
  // Only what runs can be evicted.
  await publish(0);
  await evictDurableObject(feed());
});

afterEach(async () => {
  vi.useRealTimers();
  // An object with open streams is not evicted.
  await Promise.all(opened.splice(0).map((close) => close()));
});

describe("the live feed", () => {
  it("tells every operator who watches what happens from then on", async () => {
    await publish(1);
    const [ada, bob] = [await open(), await open()];
    expect([ada.status, ada.type]).toEqual([200, "text/event-stream"]);
    for (const stream of [ada, bob]) expect((await stream.next())?.event).toBe("ready");
    await publish(2);
    for (const stream of [ada, bob]) {
      expect(await stream.next()).toMatchObject({ event: "usage", data: { at: 1, calls: 2, errors: 0 } });
      await stream.close();
    }
  });

  it.each(["operator.update", "operator.token.revoke", "session.end", "bootstrap.retire"])(
    "ends every stream at %s, since whoever reads it may be signed in no more, and tells of it those who are",
    async (action) => {
      const stream = await open();
      const ready = await stream.next();
      await publishLive(env, { type: "audit", at: 1, seq: 1, actor: "opr_1", action, subject: "opr_2" });
      expect(await stream.next()).toBeNull();
      const resumed = await open(undefined, ready?.id);
      expect(await resumed.next()).toMatchObject({ event: "audit", data: { action } });
    },
  );

  it("goes on after the last event that a stream saw, and says so where that is no longer known", async () => {
    const first = await open();
    const begin = (await first.next())?.id ?? "";
    await publish(1);
    const seen = (await first.next())?.id ?? "";
    await first.close();
    for (const calls of [2, 3]) await publish(calls);
    const second = await open("x", seen);
    const events = [await second.next(), await second.next(), await second.next()];
    expect(events.map((event) => event?.data.calls ?? event?.event)).toEqual([2, 3, "ready"]);
    await second.close();
    const caughtUp = await open("x", events[1]?.id ?? "");
    expect((await caughtUp.next())?.event).toBe("ready");
    await caughtUp.close();
    for (const unknown of [
      "",
      "x",
      "1",
      `${begin.split("-")[0]}-99`,
      `${begin}-1x`,
      "another-1",
      `${seen.split("-")[0]}--1`,
    ]) {
      const stream = await open("x", unknown);
      expect((await stream.next())?.event, unknown).toBe("reset");
      await stream.close();
    }
  });

  it("[budget:live-events] keeps 500 events, and those who missed more look at everything again", async () => {
    const first = await open();
    const begin = (await first.next())?.id ?? "";
    await first.close();
    for (let calls = 1; calls <= KEPT_EVENTS; calls++) await publish(calls);
    const all = await open("x", begin);
    expect(await all.next()).toMatchObject({ event: "usage", data: { calls: 1 } });
    await all.close();
    await publish(KEPT_EVENTS + 1);
    const late = await open("x", begin);
    expect((await late.next())?.event).toBe("reset");
    await late.close();
  });

  it("[budget:live-streams] gives one operator 4 streams at once: the fifth ends the oldest, which is not to come back at once", async () => {
    const streams = [await open("bob")];
    for (let i = 0; i < MAX_STREAMS; i++) streams.push(await open("ada"));
    for (const stream of streams) expect((await stream.next())?.retry).toBe("2000");
    const newest = await open("ada");
    await newest.next();
    const [oldest] = streams.splice(1, 1);
    expect(await oldest?.next()).toMatchObject({ event: "displaced", data: {}, retry: "30000" });
    expect(await oldest?.next()).toBeNull();
    await publish(1);
    for (const stream of [...streams, newest])
      expect((await stream.next())?.data).toEqual({ at: 1, calls: 1, errors: 0 });
  });

  it("gives the place of a reader that has gone to the next one, and ends nobody's stream for it", async () => {
    const streams = [];
    for (let i = 0; i < MAX_STREAMS; i++) streams.push(await open("ada"));
    for (const stream of streams) await stream.next();
    await streams.pop()?.close();
    await open("ada");
    await publish(1);
    for (const stream of streams) expect((await stream.next())?.event).toBe("usage");
  });

  it("[budget:live-stream] ends a stream after five minutes, with something to read every 15 seconds till then", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval"] });
    const response = await openLiveStream(env, "ada", null);
    const read = response.text();
    await runInDurableObject(feed(), () => void vi.advanceTimersByTime(STREAM_MS));
    const text = await read;
    expect(text.match(/^: $/gm)?.length).toBe(STREAM_MS / 15_000 - 1);
  });
});
