import type { Json } from "../../json.ts";
import type { Tool } from "../sandbox.ts";
import { fetchAnswer, newSandbox, PATIENCE_MS, SUM, type Suite, script, sleep } from "./fixtures.ts";

const ROUNDS = 200;
const FEWER_ROUNDS = 20;

/** Sequential numbers from an origin, asked for in every style that a handler can. The tool's argument `k` is the count. */
const STYLES: Readonly<Record<string, { readonly body: string; readonly value: (k: number) => Json }>> = {
  "awaited one after the other": {
    body: "const out = []; for (let i = 0; i < k; i++) out.push(Number((await host.fetchOrigin('/' + i)).body)); return out",
    value: (k) => Array.from({ length: k }, (_, i) => i),
  },
  "not awaited": {
    body: "const out = []; for (let i = 0; i < k; i++) out.push(Number(host.fetchOrigin('/' + i).body)); return out",
    value: (k) => Array.from({ length: k }, (_, i) => i),
  },
  "in Promise.all": {
    body: "return (await Promise.all(Array.from({ length: k }, (_, i) => host.fetchOrigin('/' + i)))).map((r) => Number(r.body))",
    value: (k) => Array.from({ length: k }, (_, i) => i),
  },
  "in Promise.all of async functions": {
    body: "return Promise.all(Array.from({ length: k }, async (_, i) => { await null; return Number((await host.fetchOrigin('/' + i)).body) }))",
    value: (k) => Array.from({ length: k }, (_, i) => i),
  },
  "inside then": {
    body: "let p = Promise.resolve(0); for (let i = 0; i < k; i++) p = p.then((sum) => sum + Number(host.fetchOrigin('/' + i).body)); return p",
    value: (k) => (k * (k - 1)) / 2,
  },
};

/** [10.1-A] of the reference: two awaited host calls in a row destroyed its engine. */
export function awaitingSuite({ engines, thorough, it, expect }: Suite): void {
  const rounds = thorough ? ROUNDS : FEWER_ROUNDS;
  for (const engine of engines) {
    it(
      `[10.1-A] 1, 2, 3, 5 and 50 fetches in every style, ${rounds} times over and interleaved, answer right on ${engine.kind}`,
      async () => {
        const sandbox = newSandbox(engine);
        let calls = 0;
        const origin = {
          fetchOrigin: async (path: string) => {
            if (calls++ % 50 === 0) await sleep(0);
            return fetchAnswer(path.slice(1));
          },
        };
        const tools = new Map<string, Tool>();
        for (const [style, { body }] of Object.entries(STYLES)) {
          tools.set(style, script(`registerTool({ name: "t", async handler({ k }) { ${body} } })`));
        }
        const wrong: string[] = [];
        for (let round = 0; round < rounds; round++) {
          // 50 fetches are as many as a call may make; they need not be in every round.
          const counts = round % 20 === 0 ? [1, 2, 3, 5, 10, 50] : [1, 2, 3, 5, 10];
          const running = counts.flatMap((k) =>
            Object.entries(STYLES).map(async ([style, { value }]) => {
              const tool = tools.get(style) ?? SUM;
              const outcome = await sandbox.call(tool, { k }, origin);
              const right = outcome.ok && JSON.stringify(outcome.value) === JSON.stringify(value(k));
              if (!right) wrong.push(`${style} ${k}: ${JSON.stringify(outcome).slice(0, 200)}`);
            }),
          );
          const sum = sandbox.call(SUM, { a: round, b: 1 }, {});
          await Promise.all(running);
          const outcome = await sum;
          if (!outcome.ok || outcome.value !== round + 1) wrong.push(`sum ${round}`);
        }
        expect(wrong).toEqual([]);
        expect(sandbox.stats().busy).toEqual(0);
      },
      PATIENCE_MS,
    );

    it(`[10.2-promise-jobs] a loop of 5,000 awaits answers right on ${engine.kind}`, async () => {
      const sandbox = newSandbox(engine);
      const loop = script(
        'registerTool({ name: "t", async handler() { let sum = 0; for (let i = 0; i < 5000; i++) sum += await i; return sum } })',
      );
      for (let round = 0; round < rounds / 20; round++) {
        expect(await sandbox.call(loop, {}, {})).toMatchObject({ ok: true, value: 12_497_500 });
        expect(await sandbox.call(SUM, { a: round, b: 2 }, {})).toMatchObject({ ok: true, value: round + 2 });
      }
    });

    it(`a fetch at any depth of the stack works or is a stack overflow on ${engine.kind}`, async () => {
      const sandbox = newSandbox(engine);
      const recursions = [
        "function f(n) { return n ? f(n - 1) + 1 : host.fetchOrigin('/').status } return f(args.n)",
        "function f(n) { return n ? [0].map(() => f(n - 1))[0] + 1 : host.fetchOrigin('/').status } return f(args.n)",
        "function f(n) { return n ? JSON.parse('0', () => f(n - 1)) + 1 : host.fetchOrigin('/').status } return f(args.n)",
      ];
      for (const body of recursions) {
        let succeeded = 0;
        for (const n of [1, 20, 50, 100, 150, 200, 300, 400, 500, 700, 1000, 2000]) {
          const tool = script(`registerTool({ name: "t", handler(args) { ${body} } })`);
          const outcome = await sandbox.call(tool, { n }, { fetchOrigin: async () => fetchAnswer("") });
          if (outcome.ok) {
            expect(outcome.value).toEqual(200 + n);
            succeeded = n;
          } else expect(outcome.code, outcome.message).toEqual("stack_overflow");
          expect(await sandbox.call(SUM, { a: n, b: 1 }, {})).toMatchObject({ ok: true, value: n + 1 });
        }
        expect(succeeded >= 50, `deepest fetch: ${succeeded}`).toEqual(true);
      }
    });

    it(`work that a handler leaves in the queue runs before its result is taken on ${engine.kind}`, async () => {
      const sandbox = newSandbox(engine);
      const paths: string[] = [];
      const origin = {
        fetchOrigin: async (path: string) => {
          paths.push(path);
          return fetchAnswer("");
        },
      };
      const logs = script(
        'registerTool({ name: "t", handler() { Promise.resolve().then(() => host.fetchOrigin("/log")); return 1 } })',
      );
      expect(await sandbox.call(logs, {}, origin)).toMatchObject({ ok: true, value: 1 });
      expect(paths).toEqual(["/log"]);
    });
  }
}
