import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, it } from "vitest";
import { HOSTILE_CASES } from "../../../test/hostile/cases.ts";
import { loadEngines } from "../../dev/meter/engines.ts";
import type { CallOutcome } from "./outcome.ts";
import { fetchAnswer, newSandbox, PATIENCE_MS, SUM, script } from "./suites/fixtures.ts";

const MIB = 1024 * 1024;

// V8 leaves garbage alone while it finds room, dropped WebAssembly memories included: only what is held after a collection counts here. What a
// process takes at its peak is measured where it matters, through a gateway.
setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;
function heldBytes(): number {
  // Twice: the first collection finds what the second one frees.
  collectGarbage();
  collectGarbage();
  return process.memoryUsage.rss();
}

/** As requests arrive: each in an event of its own. */
const nextEvent = () => new Promise((resolve) => setImmediate(resolve));

const origin = {
  fetchOrigin: async (path: string) => {
    await new Promise((resolve) => setTimeout(resolve, 1));
    return fetchAnswer(path.slice(1));
  },
};

/** Endless code takes its gas and no memory: of what gas ends, some is enough beside all that grows. */
const CASES = HOSTILE_CASES.filter(
  ({ expected }, index) => !("code" in expected && expected.code === "gas_exhausted") || index % 8 === 0,
);

for (const engine of await loadEngines()) {
  it(
    `with 16 hostile and 16 honest calls at once every honest answer is right and memory stays bounded on ${engine.kind}`,
    async () => {
      const sandbox = newSandbox(engine);
      const honest = script(
        'registerTool({ name: "t", async handler({ k }) { let s = 0; for (let i = 0; i < 3; i++) s += Number((await host.fetchOrigin("/" + (k + i))).body); return s } })',
      );
      // Honest calls of the same width first: what they need by themselves, compiled code included, is no growth.
      for (let round = 0; round < 10; round++) {
        await Promise.all(Array.from({ length: 32 }, (_, k) => sandbox.call(honest, { k }, origin)));
      }
      const before = heldBytes();
      let largest = before;
      for (let start = 0; start < CASES.length; start += 16) {
        const hostile: Promise<CallOutcome>[] = [];
        const answers: Promise<CallOutcome>[] = [];
        for (let k = 0; k < 16; k++) {
          const { source } = CASES[start + k] ?? { source: "" };
          hostile.push(sandbox.call(script(source), {}, origin, { tenant: { client: "hostile", origin: "hostile" } }));
          await nextEvent();
          answers.push(sandbox.call(honest, { k }, origin, { tenant: { client: "honest", origin: "honest" } }));
          await nextEvent();
        }
        const values = (await Promise.all(answers)).map((answer) => (answer.ok ? answer.value : answer.message));
        expect(values).toEqual(Array.from({ length: 16 }, (_, k) => 3 * k + 3));
        await Promise.all(hostile);
        largest = Math.max(largest, heldBytes());
        expect(sandbox.stats().memoryBytes <= 48 * MIB).toBe(true);
      }
      expect((largest - before) / MIB, "MiB of growth").toBeLessThan(96);
    },
    2 * PATIENCE_MS,
  );

  it(
    `[10.1-B] 20,000 calls leave memory within 40 MB of where it was after 2,000 on ${engine.kind}`,
    async () => {
      const sandbox = newSandbox(engine);
      let after2000 = 0;
      for (let i = 0; i < 20_000; i++) {
        const outcome = await sandbox.call(SUM, { a: i, b: 1 }, {});
        if (!outcome.ok || outcome.value !== i + 1) throw new Error(`call ${i}: ${JSON.stringify(outcome)}`);
        if (i === 2000) after2000 = heldBytes();
      }
      expect((heldBytes() - after2000) / MIB, "MiB of growth").toBeLessThan(40);
    },
    2 * PATIENCE_MS,
  );
}
