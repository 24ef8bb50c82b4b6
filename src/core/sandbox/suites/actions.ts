import type { Json } from "../../json.ts";
import { DEFAULT_SANDBOX_LIMITS } from "../../limits.ts";
import { type Action, type Capabilities, MAX_ACTION_CALLS } from "../capabilities.ts";
import type { Engine } from "../engine.ts";
import { Sandbox } from "../sandbox.ts";
import { handler, SUM, type Suite, script, sleep } from "./fixtures.ts";

/** The embedder's own actions, and the sandbox that never waits. */
export function actionSuite({ engines, it, expect }: Suite): void {
  for (const engine of engines) {
    const on = ` on ${engine.kind}`;

    it(`an action takes any JSON and answers with any, now or later${on}`, async () => {
      const seen: Json[] = [];
      const actions = actionsOf({
        now: (...parameters) => {
          seen.push(parameters);
          return { twice: [1, "ü\u0000😀", null] };
        },
        later: async (...parameters) => {
          await sleep(1);
          return parameters;
        },
        nothing: () => undefined as never,
      });
      const tool = handler(
        "return [host.now('a', { b: undefined, c: [() => 1] }, 2), host.later(1), host.later(), host.nothing()]",
      );
      expect(await sandboxOf(engine, actions).call(tool, {}, { actions })).toMatchObject({
        value: [{ twice: [1, "ü\u0000😀", null] }, [1], [], null],
      });
      expect(seen).toEqual([["a", { c: [null] }, 2]]);
    });

    it(`an action that fails is an error in the guest, and what is no JSON is none of its answers${on}`, async () => {
      const cyclic: Record<string, unknown> = {};
      cyclic.self = cyclic;
      const actions = actionsOf({
        thrown: () => {
          throw new Error("no such payment");
        },
        rejected: () => Promise.reject(new Error("later, no such payment")),
        cyclic: () => cyclic as never,
        large: () => "x".repeat(DEFAULT_SANDBOX_LIMITS.resultBytes),
        big: () => 1n as never,
      });
      const tool = handler(
        "return Object.keys(host).sort().map((name) => { try { return [name, host[name] && host[name]()] } catch (error) { return [name, error.message] } })",
      );
      const { resultBytes } = DEFAULT_SANDBOX_LIMITS;
      expect(await sandboxOf(engine, actions).call(tool, {}, { actions })).toMatchObject({
        value: [
          ["big", "host.big gave an answer that is not JSON"],
          ["cyclic", "host.cyclic gave an answer that is not JSON"],
          ["fetchOrigin", null],
          ["large", `host.large gave an answer of more than ${resultBytes} bytes`],
          ["memorySearch", null],
          ["rejected", "later, no such payment"],
          ["thrown", "no such payment"],
        ],
      });
    });

    it(`[budget:action-calls] ${MAX_ACTION_CALLS} calls of actions in one tool call, and their answers cost gas${on}`, async () => {
      let calls = 0;
      const actions = actionsOf({
        a: () => {
          calls += 1;
          return "";
        },
        large: () => "x".repeat(160_000),
      });
      const sandbox = sandboxOf(engine, actions);
      const times = (count: number) => handler(`for (let i = 0; i < ${count}; i++) host.a(); return "done"`);
      expect(await sandbox.call(times(MAX_ACTION_CALLS), {}, { actions })).toMatchObject({ value: "done" });
      expect(await sandbox.call(times(MAX_ACTION_CALLS + 1), {}, { actions })).toMatchObject({
        message: `host.a: over ${MAX_ACTION_CALLS} calls in one tool call`,
      });
      expect(calls).toEqual(2 * MAX_ACTION_CALLS);
      const small = await sandbox.call(handler("host.a(); return 1"), {}, { actions });
      const large = await sandbox.call(handler("host.large(); return 1"), {}, { actions });
      expect(large.gasUsed - small.gasUsed > 10_000).toEqual(true);
    });

    it(`an action is not there while a script loads, nor for a call without any, and may replace memorySearch${on}`, async () => {
      const actions = actionsOf({ memorySearch: (q, k) => ({ hits: [], q: q ?? null, k: k ?? null }) });
      const tool = script(
        'let told; try { host.memorySearch("x") } catch (e) { told = e.message } registerTool({ name: "t", handler() { return [told, host.memorySearch && host.memorySearch("x", 3)] } })',
      );
      const told = "host.memorySearch is not available while the script loads";
      const sandbox = sandboxOf(engine, actions);
      expect(await sandbox.call(tool, {}, { actions })).toMatchObject({ value: [told, { hits: [], q: "x", k: 3 }] });
      expect(await sandbox.call(tool, {}, {})).toMatchObject({ value: [told, null] });
    });

    const synchronous: Engine = { ...engine, isSynchronous: true };

    it(`a synchronous sandbox answers at once, under the same budgets${on}`, async () => {
      const actions = actionsOf({ now: (value) => [value ?? null], later: async () => 1 });
      const sandbox = sandboxOf(synchronous, actions);
      const capabilities: Capabilities = {
        actions,
        fetchOrigin: () => Promise.reject(new Error("never asked")),
        memorySearch: async () => [],
      };
      expect(sandbox.callAtOnce(SUM, { a: 2, b: 3 }, {})).toMatchObject({ ok: true, value: 5 });
      expect(sandbox.loadAtOnce(SUM)).toMatchObject({ ok: true, definition: { name: "t" } });
      expect(sandbox.loadAtOnce({ ...SUM, name: null })).toMatchObject({ ok: true, definition: { name: "t" } });
      const asked = handler("return (async () => host.now(await Promise.resolve(args.a)))()");
      expect(sandbox.callAtOnce(asked, { a: 7 }, capabilities)).toMatchObject({ value: [7] });
      const waiting = handler(
        'return ["later", "fetchOrigin", "memorySearch"].map((name) => { try { return host[name]("x") } catch (e) { return e.message } })',
      );
      const cannot = (name: string) => `host.${name} has no answer at once, and this host cannot wait for one`;
      expect(sandbox.callAtOnce(waiting, {}, capabilities)).toMatchObject({
        value: [cannot("later"), cannot("fetchOrigin"), cannot("memorySearch")],
      });
      for (const [body, code] of [
        ["for (;;) {}", "gas_exhausted"],
        ["const all = []; for (;;) all.push(new Uint8Array(1e6))", "out_of_memory"],
        ["return (function f() { return f() + 1 })()", "stack_overflow"],
        ["return new Promise(() => {})", "did_not_settle"],
        ["throw new Error('no')", "tool_error"],
      ] as const) {
        expect(sandbox.callAtOnce(handler(body), {}, {}), body).toMatchObject({ ok: false, code });
      }
      const double = { id: "double", source: "(input) => input * 2" };
      expect(sandbox.evaluateAtOnce(double, 21)).toMatchObject({ value: 42 });
      expect(sandbox.callAtOnce(SUM, { a: 1, b: 1 }, {})).toMatchObject({ value: 2 });
    });

    it(`a synchronous action may call tools, each within the one before, as deep as the pool allows${on}`, async () => {
      let depth = 0;
      const nested: Capabilities = {
        actions: actionsOf({
          deeper: () => {
            depth += 1;
            const outcome = sandbox.callAtOnce(tool, {}, nested);
            return outcome.ok ? outcome.value : outcome.message;
          },
        }),
      };
      const sandbox = sandboxOf(synchronous, nested.actions ?? new Map());
      const tool = handler("return host.deeper()");
      const outcome = sandbox.callAtOnce(tool, {}, nested);
      expect(outcome).toMatchObject({
        value: `${DEFAULT_SANDBOX_LIMITS.poolSize} calls are under way, each within the one before`,
      });
      expect(depth).toEqual(DEFAULT_SANDBOX_LIMITS.poolSize);
      expect(sandbox.stats().busy).toEqual(0);
    });
  }
}

function actionsOf(actions: Readonly<Record<string, (...parameters: readonly Json[]) => Json | Promise<Json>>>) {
  return new Map(
    Object.entries(actions).map(([name, action]): [string, Action] => [name, (parameters) => action(...parameters)]),
  );
}

function sandboxOf(engine: Engine, actions: ReadonlyMap<string, Action>): Sandbox {
  return new Sandbox({ engine, limits: DEFAULT_SANDBOX_LIMITS, actions: [...actions.keys()] });
}
