import pLimit from "p-limit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { AdminClient } from "../../src/dev/stack/admin-client.ts";
import { onboardOrigin } from "../../src/dev/stack/onboarding.ts";
import { type Stack, startStack } from "../../src/dev/stack.ts";
import { Caller } from "./caller.ts";
import { listenerPid, residentMib } from "./listener-memory.ts";
import { skill, startTestPublisher, type TestPublisher } from "./test-publisher.ts";

/** By now every bounded part (instances, images, releases) must have its full size: the calls up to here begin with what fills them. */
const WARM_UP = 2_000;
const CONCURRENCY = 16;
const GROWTH_MIB = 40;
/** How often memory is read and reported. */
const STEP = 2_000;
/** Light calls before each reading, in which what the heavy ones dropped is collected. */
const SETTLING = 500;

/** Hostile tools, each with the sentence that must end it. The first costs little; the others burn a whole call's budget. */
const CHEAP_HOSTILE: readonly (readonly [name: string, sentence: RegExp])[] = [
  ["never_settles", /settle/],
  ["cyclic_result", /circular/],
  ["throws_undefined", /./],
  ["fetch_other_origin", /outside the origin/],
];
const COSTLY_HOSTILE: readonly (readonly [name: string, sentence: RegExp])[] = [
  // A tool that burns its gas again and again is suspended for a while.
  ["infinite_loop", /gas exhausted|tool suspended/],
  ["memory_bomb", /out of memory|gas exhausted|tool suspended/],
  ["deep_recursion", /stack/],
  // Sixteen of these at once are more than the pool's memory: the largest has to go.
  ["huge_result", /result too large|out of memory/],
];

describe.each([
  { engine: "auto", calls: 10_000 },
  { engine: "asyncify", calls: 4_000 },
])("on the engine $engine", ({ engine, calls }) => {
  let stack: Stack;
  let caller: Caller;
  let publisher: TestPublisher;

  beforeAll(async () => {
    stack = await startStack({ port: 0, vars: { SANDBOX_ENGINE: engine } });
    caller = new Caller(stack, CONCURRENCY);
    publisher = await startTestPublisher({ skills: [skill("grow", "return new Uint8Array(2e7).length;")] });
    await onboardOrigin(new AdminClient(stack.url, stack.adminToken), publisher.origin);
  });

  afterAll(async () => {
    caller?.close();
    await stack?.stop();
    await publisher?.stop();
  });

  /** The pool keeps one large instance for tools that need it; each reading sees one. */
  async function settledMib(pid: number): Promise<number> {
    expect(await caller.value(publisher.origin, "grow")).toBe(2e7);
    await pLimit(CONCURRENCY).map(Array.from({ length: SETTLING }), () => caller.send(stack.origins.demo, "ping"));
    return residentMib(pid);
  }

  it(`[10.1-B] serves ${calls} calls without an error, within ${GROWTH_MIB} MiB of the memory after ${WARM_UP}`, {
    timeout: 300_000,
  }, async () => {
    const pid = await listenerPid(stack.port);
    const figures: string[] = [];
    const begin = performance.now();
    const limit = pLimit(CONCURRENCY);
    let afterWarmUp = Number.NaN;
    let resident = Number.NaN;
    for (let done = 0; done < calls; ) {
      await limit.map(
        Array.from({ length: STEP }, (_, index) => done + index),
        (index) => oneOfMany(caller, stack, index),
      );
      done += STEP;
      resident = await settledMib(pid);
      if (done === WARM_UP) afterWarmUp = resident;
      figures.push(`${done}: ${resident.toFixed(0)}`);
    }
    const perSecond = calls / ((performance.now() - begin) / 1000);
    console.log(`${engine}: ${perSecond.toFixed(0)} calls a second; MiB after calls: ${figures.join(", ")}`);
    expect(resident - afterWarmUp).toBeLessThan(GROWTH_MIB);
  });
});

/**
 * A mix as a gateway sees it, the same at every run: of 802 calls 2 burn a whole budget (with many
 * more a quick machine would reach the client's gas of a minute), and of 200 calls 8 misbehave at little cost. Before it come
 * calls that wait for their publisher in all instances at once, and calls that make instances as large as they get.
 */
async function oneOfMany(caller: Caller, stack: Stack, index: number): Promise<void> {
  const { demo, bookstore, hostile } = stack.origins;
  if (index < 20 * CONCURRENCY) return search(caller, bookstore);
  const place = index % 200;
  if (index < 22 * CONCURRENCY || index % 802 < 2) return fails(caller, hostile, COSTLY_HOSTILE, index);
  if (place < 10) return fails(caller, hostile, CHEAP_HOSTILE, index);
  switch (index % 10) {
    case 0:
      expect(Object.keys((await caller.value(demo, "server_time")) as object)).toEqual(["now", "epoch"]);
      return;
    case 1:
      return search(caller, bookstore);
    case 2:
      expect((await caller.send(bookstore, "tools/list")).body?.result?.tools).toHaveLength(5);
      return;
    case 3:
      expect(await caller.failure(demo, "sum_numbers", { a: 1 })).toContain("Invalid arguments");
      return;
    case 4:
      expect(await caller.failure(hostile, "throws")).not.toBe("");
      return;
    default:
      expect(await caller.value(demo, "sum_numbers", { a: index, b: 1 })).toBe(index + 1);
  }
}

async function search(caller: Caller, bookstore: string): Promise<void> {
  expect(await caller.value(bookstore, "search_catalog", { limit: 1 })).toMatchObject({ total: 52 });
}

async function fails(
  caller: Caller,
  origin: string,
  tools: readonly (readonly [name: string, sentence: RegExp])[],
  index: number,
): Promise<void> {
  const [name, sentence] = tools[Math.floor(index / 2) % tools.length] ?? ["", /never/];
  expect(await caller.failure(origin, name)).toMatch(sentence);
}
