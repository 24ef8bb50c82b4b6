import { DEFAULT_SANDBOX_LIMITS } from "../../limits.ts";
import type { Capabilities } from "../capabilities.ts";
import { PoolExhausted } from "../outcome.ts";
import { Sandbox } from "../sandbox.ts";
import { fetchAnswer, handler, newSandbox, SUM, type Suite, script, sleep } from "./fixtures.ts";

const MIB = 1024 * 1024;

/** An origin that answers when the test says so. */
class Gate {
  readonly started: string[] = [];
  readonly signals: AbortSignal[] = [];
  readonly #open = new Map<string, () => void>();

  readonly capabilities: Capabilities = {
    fetchOrigin: async (path, _options, signal) => {
      this.started.push(path);
      this.signals.push(signal);
      await new Promise<void>((resolve) => this.#open.set(path, resolve));
      return fetchAnswer(path);
    },
  };

  open(path: string): void {
    this.#open.get(path)?.();
  }

  /** Waits until a number of fetches have begun. */
  async begun(count: number): Promise<void> {
    while (this.started.length < count) await sleep(1);
  }
}

const WAIT = script('registerTool({ name: "t", handler(args) { return host.fetchOrigin(args.path).body } })');

export function poolSuite({ engines, thorough, it, expect }: Suite): void {
  for (const engine of engines) {
    const on = ` on ${engine.kind}`;

    // Asyncify cannot suspend where the guest does not call the host.
    if (engine.kind === "jspi") {
      for (const [what, body] of [
        ["bytecode", "for (;;) {}"],
        ["native code", "[].includes.call({ length: 2 ** 53 - 1 }, 1)"],
        ["a promise job", "return Promise.resolve().then(() => { for (;;) {} })"],
        ["a callback of native code", "return [3, 1, 2].sort(() => { for (;;) {} })"],
      ] as const) {
        it(`a call that burns gas in ${what} lets others in between${on}`, async () => {
          const sandbox = newSandbox(engine);
          await sandbox.call(SUM, { a: 1, b: 1 }, {});
          let burning = true;
          const burn = sandbox.call(handler(body), {}, {}).finally(() => {
            burning = false;
          });
          let answered = 0;
          while (burning) {
            expect(await sandbox.call(SUM, { a: answered, b: 1 }, {})).toMatchObject({ value: answered + 1 });
            if (burning) answered++;
            await sleep(0);
          }
          expect(await burn).toMatchObject({ code: "gas_exhausted", gasUsed: DEFAULT_SANDBOX_LIMITS.callGas });
          expect(answered > 10, `${answered} others`).toEqual(true);
        });
      }

      it(`work that needs little memory leaves the large instance to a tool that needs it${on}`, async () => {
        const sandbox = newSandbox(engine);
        const grow = handler("return new Uint8Array(2e7).length");
        expect(await sandbox.call(grow, {}, {})).toMatchObject({ value: 2e7 });
        await sandbox.call(SUM, { a: 1, b: 1 }, {}, { tenant: { client: "c", origin: "o" } });
        const small = [
          sandbox.call(SUM, { a: 1, b: 1 }, {}),
          sandbox.load(script('for (let i = 0; i < 1e6; i++); registerTool({ name: "t", handler() {} })')),
        ];
        await sleep(5);
        expect(await sandbox.call(grow, {}, {})).toMatchObject({ value: 2e7 });
        for (const outcome of await Promise.all(small)) expect(outcome).toMatchObject({ ok: true });
      });

      it(`a call is ended while it waits for its turn${on}`, async () => {
        const sandbox = newSandbox(engine);
        const caller = new AbortController();
        const burn = sandbox.call(handler("for (;;) {}"), {}, {}, { signal: caller.signal });
        await sleep(5);
        caller.abort();
        expect(await burn).toMatchObject({ code: "cancelled" });
        expect(await sandbox.call(SUM, { a: 1, b: 1 }, {})).toMatchObject({ value: 2 });
        expect(sandbox.stats()).toMatchObject({ busy: 0, instances: 1 });
      });
    }

    it(`[budget:pool-size] calls in flight never exceed the pool, and waiters are served as instances come free${on}`, async () => {
      for (const [calls, poolSize] of [
        [2, 3],
        [3, 3],
        [4, 3],
        [12, 3],
        [6, 1],
      ] as const) {
        const sandbox = newSandbox(engine, { poolSize });
        const gate = new Gate();
        const running = Array.from({ length: calls }, (_, i) =>
          sandbox.call(WAIT, { path: `/${i}` }, gate.capabilities),
        );
        await gate.begun(Math.min(calls, poolSize));
        await sleep(20);
        expect(gate.started.length).toEqual(Math.min(calls, poolSize));
        expect(sandbox.stats()).toMatchObject({
          busy: Math.min(calls, poolSize),
          waiting: Math.max(0, calls - poolSize),
        });
        for (let i = 0; i < calls; i++) {
          await gate.begun(i + 1);
          gate.open(gate.started[i] ?? "");
        }
        const outcomes = await Promise.all(running);
        expect(outcomes.map((outcome) => outcome.ok && outcome.value)).toEqual(
          Array.from({ length: calls }, (_, i) => `/${i}`),
        );
        // First come, first served; waiters for whom instances are free at the same moment may pass each other.
        if (poolSize === 1) expect(gate.started).toEqual(Array.from({ length: calls }, (_, i) => `/${i}`));
        expect(sandbox.stats()).toMatchObject({ busy: 0, waiting: 0 });
      }
    });

    it(`[budget:pool-wait] a call waits for at most 10 s and then throws PoolExhausted${on}`, async () => {
      let now = 0;
      const sandbox = new Sandbox({ engine, limits: { ...DEFAULT_SANDBOX_LIMITS, poolSize: 1 }, now: () => now });
      const gate = new Gate();
      const holder = sandbox.call(WAIT, { path: "/held" }, gate.capabilities);
      await gate.begun(1);
      let failure: unknown = null;
      const waiter = sandbox.call(SUM, { a: 1, b: 1 }, {}).catch((error: unknown) => {
        failure = error;
      });
      now = 9_999;
      await sleep(30);
      expect(failure).toEqual(null);
      expect(sandbox.stats().waiting).toEqual(1);
      now = 10_000;
      await waiter;
      expect(failure instanceof PoolExhausted && failure.code).toEqual("pool_exhausted");
      const late = sandbox.call(SUM, { a: 1, b: 1 }, {});
      now = 10_001;
      gate.open("/held");
      expect(await holder).toMatchObject({ ok: true, value: "/held" });
      expect(await late).toMatchObject({ ok: true, value: 2 });
    });

    it(`[budget:pool-share] a client's calls that wait for a slow origin leave another's an instance at once${on}`, async () => {
      const sandbox = newSandbox(engine, { poolSize: 8 });
      const gate = new Gate();
      const call = (client: string, origin: string, path: string) =>
        sandbox.call(WAIT, { path }, gate.capabilities, { tenant: { client, origin } });
      const greedy = Array.from({ length: 20 }, (_, i) => call("greedy", "o1", `/greedy${i}`));
      // Half of the pool and, while a quarter stays free beyond it, one more.
      await gate.begun(5);
      await sleep(30);
      expect(gate.started.length).toEqual(5);
      // Nobody else waits, and yet there is room at once.
      expect(await sandbox.call(SUM, { a: 2, b: 3 }, {}, { tenant: { client: "modest", origin: "o2" } })).toMatchObject(
        {
          value: 5,
        },
      );
      const modest = Array.from({ length: 4 }, (_, i) => call("modest", "o2", `/modest${i}`));
      await sleep(30);
      expect(gate.started.slice(5)).toEqual(["/modest0", "/modest1", "/modest2"]);
      // The greedy one has more than its half: what it gives back goes to the other, although fifteen of its calls came before.
      gate.open("/greedy0");
      await gate.begun(9);
      expect(gate.started[8]).toEqual("/modest3");
      // Now each holds half, and what comes free goes to the one whose share it was.
      gate.open("/greedy1");
      await gate.begun(10);
      expect(gate.started[9]).toEqual("/greedy5");
      for (let opened = 0; opened < 24; opened++) {
        await gate.begun(Math.min(24, opened + 1));
        gate.open(gate.started[opened] ?? "");
      }
      const outcomes = await Promise.all([...greedy, ...modest]);
      expect(outcomes.every((outcome) => outcome.ok)).toEqual(true);
    });

    it(`[budget:pool-share] an origin's calls by many clients leave another origin an instance at once${on}`, async () => {
      const sandbox = newSandbox(engine, { poolSize: 2 });
      const gate = new Gate();
      const call = (client: string, origin: string, path: string) =>
        sandbox.call(WAIT, { path }, gate.capabilities, { tenant: { client, origin } });
      const popular = Array.from({ length: 4 }, (_, i) => call(`client${i}`, "popular", `/p${i}`));
      await gate.begun(1);
      const other = call("client9", "other", "/o");
      await gate.begun(2);
      expect(gate.started).toEqual(["/p0", "/o"]);
      for (let opened = 0; opened < 5; opened++) {
        await gate.begun(opened + 1);
        gate.open(gate.started[opened] ?? "");
      }
      expect((await Promise.all([...popular, other])).every((outcome) => outcome.ok)).toEqual(true);
    });

    it(`calls that ask nothing of the host follow each other without a timer, however many at once${on}`, async () => {
      const sandbox = newSandbox(engine, { poolSize: 2 });
      await sandbox.call(SUM, { a: 0, b: 0 }, {});
      let timers = 0;
      const { setTimeout: original } = globalThis;
      // Counts, and lets through.
      globalThis.setTimeout = ((...parameters: Parameters<typeof setTimeout>) => {
        timers++;
        return original(...parameters);
      }) as typeof setTimeout;
      try {
        const outcomes = await Promise.all(Array.from({ length: 64 }, (_, a) => sandbox.call(SUM, { a, b: 1 }, {})));
        expect(outcomes.map((outcome) => outcome.ok && outcome.value)).toEqual(
          Array.from({ length: 64 }, (_, a) => a + 1),
        );
      } finally {
        globalThis.setTimeout = original;
      }
      expect(timers).toEqual(0);
    });

    it(`an overdue lease is discarded by the next taker${on}`, async () => {
      let now = 0;
      const sandbox = new Sandbox({ engine, limits: { ...DEFAULT_SANDBOX_LIMITS, poolSize: 1 }, now: () => now });
      const gate = new Gate();
      const lost = sandbox.call(WAIT, { path: "/never" }, gate.capabilities);
      await gate.begun(1);
      now = DEFAULT_SANDBOX_LIMITS.callTimeoutMs + 5_000;
      expect(await sandbox.call(SUM, { a: 2, b: 3 }, {})).toMatchObject({ ok: true, value: 5 });
      expect(await lost).toMatchObject({ ok: false, code: "timeout" });
      expect(sandbox.stats()).toMatchObject({ instances: 1, busy: 0 });
    });

    it(`a cancelled call ends at once, and its instance is discarded${on}`, async () => {
      const sandbox = newSandbox(engine, { poolSize: 1 });
      const gate = new Gate();
      const aborted = new AbortController();
      aborted.abort();
      expect(await sandbox.call(SUM, { a: 1, b: 1 }, {}, { signal: aborted.signal })).toMatchObject({
        code: "cancelled",
      });
      const controller = new AbortController();
      const running = sandbox.call(WAIT, { path: "/x" }, gate.capabilities, { signal: controller.signal });
      await gate.begun(1);
      const queued = new AbortController();
      const waiting = sandbox.call(SUM, { a: 1, b: 1 }, {}, { signal: queued.signal });
      await sleep(5);
      queued.abort();
      expect(await waiting).toMatchObject({ code: "cancelled", message: "the call was cancelled" });
      expect(gate.signals[0]?.aborted).toEqual(false);
      controller.abort();
      expect(await running).toMatchObject({ ok: false, code: "cancelled" });
      expect(gate.signals[0]?.aborted).toEqual(true);
      expect(sandbox.stats()).toMatchObject({ instances: 0, busy: 0 });
      gate.open("/x");
      expect(await sandbox.call(SUM, { a: 1, b: 1 }, {})).toMatchObject({ value: 2 });
    });

    it(`the signal that a capability gets ends with the call${on}`, async () => {
      const sandbox = newSandbox(engine);
      let signal: AbortSignal | null = null;
      const origin: Capabilities = {
        fetchOrigin: async (_path, _options, given) => {
          signal = given;
          expect(given.aborted).toEqual(false);
          return fetchAnswer("");
        },
      };
      expect(await sandbox.call(handler("return host.fetchOrigin('/').status"), {}, origin)).toMatchObject({
        value: 200,
      });
      expect((signal as AbortSignal | null)?.aborted).toEqual(true);
    });

    it(`a call that the origin never answers times out, and the next call is right${on}`, async () => {
      const sandbox = newSandbox(engine, { callTimeoutMs: 500 });
      const gate = new Gate();
      expect(await sandbox.call(WAIT, { path: "/x" }, gate.capabilities)).toMatchObject({ code: "timeout" });
      expect(await sandbox.call(SUM, { a: 1, b: 4 }, {})).toMatchObject({ value: 5 });
    });

    it(`[budget:pool-memory] the largest suspended call is ended when all memory together would exceed the pool's${on}`, async () => {
      const poolMemoryBytes = 12 * MIB;
      const sandbox = newSandbox(engine, { poolMemoryBytes });
      const gate = new Gate();
      const hold = script(
        'registerTool({ name: "t", handler(args) { const kept = new Uint8Array(args.n); host.fetchOrigin(args.path); return kept.length } })',
      );
      const large = sandbox.call(hold, { n: 6 * MIB, path: "/large" }, gate.capabilities);
      await gate.begun(1);
      // Fits beside it.
      const small = sandbox.call(hold, { n: MIB, path: "/small" }, gate.capabilities);
      await gate.begun(2);
      expect(sandbox.stats().busy).toEqual(2);
      // One that would be the largest itself is refused, and the others go on.
      expect(await sandbox.call(hold, { n: 8 * MIB, path: "/huge" }, gate.capabilities)).toMatchObject({
        code: "out_of_memory",
      });
      expect(sandbox.stats().busy).toEqual(2);
      // One that is smaller than the largest takes its place.
      const middle = sandbox.call(hold, { n: 4 * MIB, path: "/middle" }, gate.capabilities);
      expect(await large).toMatchObject({ ok: false, code: "out_of_memory" });
      await gate.begun(3);
      expect(sandbox.stats().memoryBytes <= poolMemoryBytes, `${sandbox.stats().memoryBytes}`).toEqual(true);
      gate.open("/small");
      gate.open("/middle");
      expect(await small).toMatchObject({ value: MIB });
      expect(await middle).toMatchObject({ value: 4 * MIB });
      expect(await sandbox.call(SUM, { a: 1, b: 4 }, {})).toMatchObject({ value: 5 });
    });

    it(`no instance is made that the memory of the pool has no room for${on}`, async () => {
      const one = newSandbox(engine);
      await one.warm();
      const { memoryBytes: size, instances } = one.stats();
      expect(instances).toEqual(1);
      for (const [poolMemoryBytes, fit] of [
        [3 * size - 1, 2],
        [3 * size, 3],
        [3 * size + 1, 3],
      ] as const) {
        const sandbox = newSandbox(engine, { poolMemoryBytes });
        const gate = new Gate();
        const running = Array.from({ length: 4 }, (_, i) => sandbox.call(WAIT, { path: `/${i}` }, gate.capabilities));
        await gate.begun(fit);
        await sleep(20);
        expect(sandbox.stats()).toMatchObject({ instances: fit, busy: fit, waiting: 4 - fit });
        for (let i = 0; i < 4; i++) {
          await gate.begun(i + 1);
          gate.open(gate.started[i] ?? "");
        }
        expect((await Promise.all(running)).every((outcome) => outcome.ok)).toEqual(true);
      }
    });

    it(`[10.1-G] a script that fails to load harms only itself${on}`, async () => {
      const sandbox = newSandbox(engine);
      const broken = script("registerTool({");
      for (let i = 0; i < 3; i++) {
        expect(await sandbox.load(broken)).toMatchObject({ ok: false, code: "tool_error" });
        expect(await sandbox.call(broken, {}, {})).toMatchObject({ ok: false, code: "tool_error" });
        expect(await sandbox.call(SUM, { a: i, b: 1 }, {})).toMatchObject({ value: i + 1 });
      }
      expect(sandbox.stats().images).toEqual(1);
    });

    it(`[10.1-B] thousands of calls leave the pool as it was${on}`, async () => {
      const sandbox = newSandbox(engine);
      const gate: Capabilities = { fetchOrigin: async () => fetchAnswer("x") };
      const busy = handler("const r = host.fetchOrigin('/'); return r.body + args.i");
      await sandbox.call(busy, { i: 0 }, gate);
      const before = sandbox.stats();
      for (let i = 0; i < (thorough ? 3000 : 300); i++) {
        const outcome = await sandbox.call(busy, { i }, gate);
        if (!outcome.ok || outcome.value !== `x${i}`) throw new Error(`call ${i}: ${JSON.stringify(outcome)}`);
      }
      expect(sandbox.stats()).toEqual(before);
    });
  }
}
