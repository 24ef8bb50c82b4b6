import type { Json } from "../../json.ts";
import type { Capabilities } from "../capabilities.ts";
import { fetchAnswer, handler, newSandbox, type Suite, script, sleep } from "./fixtures.ts";

/** What `host` offers, what reaches the host, and what comes back. */
export function capabilitySuite({ engines, it, expect }: Suite): void {
  for (const engine of engines) {
    const on = ` on ${engine.kind}`;

    it(`fetchOrigin passes its arguments as JSON and returns the answer${on}`, async () => {
      const seen: unknown[] = [];
      const origin: Capabilities = {
        fetchOrigin: async (path, options, signal) => {
          seen.push([path, options, signal.aborted]);
          return fetchAnswer("bödy 😀 \u0000", 201);
        },
      };
      const tool = handler(`
        const options = { method: "POST", body: "ü", extra: [1, undefined, () => 1], n: NaN };
        return [host.fetchOrigin("/p", options), host.fetchOrigin(undefined, "ignored").status, host.fetchOrigin(5).status]`);
      expect(await newSandbox(engine).call(tool, {}, origin)).toMatchObject({
        value: [fetchAnswer("bödy 😀 \u0000", 201), 201, 201],
      });
      expect(seen).toEqual([
        ["/p", { method: "POST", body: "ü", extra: [1, null, null], n: null }, false],
        ["undefined", undefined, false],
        ["5", undefined, false],
      ]);
    });

    it(`a rejection, a throw and a failed conversion surface in the guest as errors that can be caught${on}`, async () => {
      const origin: Capabilities = {
        fetchOrigin: (path) => {
          if (path === "/throw") throw new Error("thrown");
          return Promise.reject(new Error(`refused ${path}`));
        },
      };
      const tool = handler(`
        const message = (f) => { try { f(); return null } catch (e) { return [e instanceof Error, e.message] } };
        return [message(() => host.fetchOrigin("/a")), message(() => host.fetchOrigin("/throw")), message(() => host.fetchOrigin({ toString() { throw new Error("own") } }))]`);
      expect(await newSandbox(engine).call(tool, {}, origin)).toMatchObject({
        value: [
          [true, "refused /a"],
          [true, "thrown"],
          [true, "own"],
        ],
      });
      const odd: Capabilities = {
        // Against the types, as a fault of the host would be.
        fetchOrigin: (path) =>
          path === "/odd" ? Promise.reject(Object.create(null)) : (Promise.resolve({ status: 1n }) as never),
      };
      const told = handler(`
        const message = (f) => { try { f(); return null } catch (e) { return e.message } };
        return [message(() => host.fetchOrigin("/odd")), message(() => host.fetchOrigin("/big")).includes("BigInt")]`);
      expect(await newSandbox(engine).call(told, {}, odd)).toMatchObject({ value: ["the host failed", true] });
      const uncaught = handler("return host.fetchOrigin('/b')");
      expect(await newSandbox(engine).call(uncaught, {}, origin)).toMatchObject({
        code: "tool_error",
        message: "refused /b",
      });
    });

    it(`arguments too large for fetchOrigin are refused inside the guest${on}`, async () => {
      let calls = 0;
      const origin: Capabilities = {
        fetchOrigin: async () => {
          calls++;
          return fetchAnswer("");
        },
      };
      const tool = handler("return host.fetchOrigin('/', { body: 'x'.repeat(300000) })");
      expect(await newSandbox(engine).call(tool, {}, origin)).toMatchObject({ code: "tool_error" });
      expect(calls).toEqual(0);
    });

    it(`an absent capability is undefined, and stays callable only where a script took it while loading${on}`, async () => {
      const tool = script(
        'const { fetchOrigin, memorySearch } = host; registerTool({ name: "t", handler(args) { return args.call ? memorySearch("x") : [typeof host.fetchOrigin, typeof host.memorySearch] } })',
      );
      const sandbox = newSandbox(engine);
      const both: Capabilities = { fetchOrigin: async () => fetchAnswer(""), memorySearch: () => [] };
      expect(await sandbox.call(tool, {}, {})).toMatchObject({ value: ["undefined", "undefined"] });
      expect(await sandbox.call(tool, {}, both)).toMatchObject({ value: ["function", "function"] });
      expect(await sandbox.call(tool, { call: true }, both)).toMatchObject({ value: { hits: [] } });
      expect(await sandbox.call(tool, { call: true }, {})).toMatchObject({
        code: "tool_error",
        message: "host.memorySearch is not available to this tool",
      });
    });

    it(`memorySearch takes (q), (q, k), ({q, k}) and ({q, k}, k2), with k from 1 to 10 and 5 by default${on}`, async () => {
      const seen: unknown[] = [];
      const memory: Capabilities = {
        memorySearch: (query, k) => {
          seen.push([query, k]);
          return [{ text: "snippet", score: -1.5, title: "T", concept_id: "c" }];
        },
      };
      const sandbox = newSandbox(engine);
      const ask = async (parameters: string) => {
        const outcome = await sandbox.call(handler(`return host.memorySearch(${parameters})`), {}, memory);
        return outcome.ok ? outcome.value : outcome.message;
      };
      const hits: Json = { hits: [{ text: "snippet", score: -1.5, title: "T", concept_id: "c" }] };
      const cases: [string, unknown[]][] = [
        ["'a'", ["a", 5]],
        ["'a', 2", ["a", 2]],
        ["'a', 2.9", ["a", 2]],
        ["'a', 0", ["a", 1]],
        ["'a', -3", ["a", 1]],
        ["'a', 99", ["a", 10]],
        ["'a', '3'", ["a", 5]],
        ["'a', null", ["a", 5]],
        ["'a', NaN", ["a", 5]],
        ["{ q: 'b', k: 3 }", ["b", 3]],
        ["{ q: 'b' }", ["b", 5]],
        ["{ q: 'b', k: 3 }, 7", ["b", 7]],
      ];
      for (const [parameters, expected] of cases) {
        expect(await ask(parameters), parameters).toEqual(hits);
        expect(seen.pop(), parameters).toEqual(expected);
      }
      const error = { error: "memorySearch: the query (q) must be a non-empty string" };
      for (const parameters of ["", "' '", "5", "null", "{}", "[]", "{ k: 3 }", "() => 1"]) {
        expect(await ask(parameters), parameters).toEqual(error);
      }
      expect(seen).toEqual([]);
    });

    it(`a failing search is returned as {error}, and host work is charged to the guest's gas${on}`, async () => {
      const sandbox = newSandbox(engine);
      const failing: Capabilities = {
        memorySearch: () => {
          throw new Error("no index");
        },
      };
      const once = handler("return host.memorySearch('x')");
      expect(await sandbox.call(once, {}, failing)).toMatchObject({ value: { error: "memorySearch: no index" } });
      const costing = (gas: number): Capabilities => ({
        memorySearch: (_query, _k, meter) => {
          meter.charge(gas);
          return [];
        },
      });
      const cheap = await sandbox.call(once, {}, costing(0));
      expect((await sandbox.call(once, {}, costing(5000))).gasUsed - cheap.gasUsed).toEqual(5000);
      const loop = handler("for (;;) host.memorySearch('x')");
      expect(await sandbox.call(loop, {}, costing(10_000_000))).toMatchObject({ code: "gas_exhausted" });
      expect(await sandbox.call(once, {}, costing(0))).toMatchObject({ value: { hits: [] } });
    });

    it(`a search may be answered later, and fails or ends with its call all the same${on}`, async () => {
      const later = (search: (signal: AbortSignal) => Promise<[]>): Capabilities => ({
        memorySearch: (_query, _k, { signal }) => search(signal),
      });
      const tool = handler("return [host.memorySearch('x'), host.memorySearch('y')]");
      const sandbox = newSandbox(engine);
      const some = later(async () => {
        await sleep(1);
        return [];
      });
      expect(await sandbox.call(tool, {}, some)).toMatchObject({ value: [{ hits: [] }, { hits: [] }] });
      const failing = later(async () => {
        await sleep(1);
        throw new Error("no index");
      });
      const error = { error: "memorySearch: no index" };
      expect(await sandbox.call(tool, {}, failing)).toMatchObject({ value: [error, error] });
      let ended = false;
      const never = later((signal) => {
        signal.addEventListener("abort", () => {
          ended = true;
        });
        return new Promise(() => {});
      });
      const caller = new AbortController();
      const call = sandbox.call(tool, {}, never, { signal: caller.signal });
      await sleep(1);
      caller.abort();
      expect(await call).toMatchObject({ code: "cancelled" });
      expect(ended).toEqual(true);
    });

    it(`a script that is loading can neither fetch nor search${on}`, async () => {
      const tool = script(
        'const told = []; for (const f of ["fetchOrigin", "memorySearch"]) try { host[f]("x") } catch (e) { told.push(e.message) } registerTool({ name: "t", handler() { return told } })',
      );
      expect(await newSandbox(engine).call(tool, {}, {})).toMatchObject({
        value: [
          "host.fetchOrigin is not available while the script loads",
          "host.memorySearch is not available while the script loads",
        ],
      });
    });

    it(`load reads the definition as plain JSON, once${on}`, async () => {
      const sandbox = newSandbox(engine);
      const tool = script(`
        let reads = 0;
        registerTool({
          name: "t", title: "Title", get description() { return "read " + ++reads },
          inputSchema: { type: "object", properties: { d: new Date(0), f() {} } },
          outputSchema: { type: "number" }, annotations: { readOnlyHint: true }, other: 1,
          handler() { return reads },
        })`);
      const definition = {
        name: "t",
        title: "Title",
        description: "read 1",
        inputSchema: { type: "object", properties: { d: "1970-01-01T00:00:00.000Z" } },
        outputSchema: { type: "number" },
        annotations: { readOnlyHint: true },
      };
      expect(await sandbox.load(tool)).toMatchObject({ ok: true, definition });
      const again = await sandbox.load(tool);
      expect(again.ok && again.definition).toEqual(definition);
      expect(await sandbox.call(tool, {}, {})).toMatchObject({ value: 1 });
      const plain = await sandbox.load(script('registerTool({ name: "t", handler() {} })'));
      expect(plain.ok && plain.definition).toEqual({ name: "t", inputSchema: { type: "object" } });
    });

    it(`the same bytes under another name are another skill${on}`, async () => {
      const sandbox = newSandbox(engine);
      const tool = script('registerTool({ name: "t", handler() { return 1 } })');
      expect(await sandbox.call(tool, {}, {})).toMatchObject({ value: 1 });
      expect(await sandbox.call({ ...tool, name: "u" }, {}, {})).toMatchObject({ code: "name_mismatch" });
      for (const name of ["t\0", "t\0u"]) {
        expect(await sandbox.call({ ...tool, name }, {}, {})).toMatchObject({ code: "name_mismatch" });
      }
    });

    it(`evaluate runs a program without host functions, under gas${on}`, async () => {
      const sandbox = newSandbox(engine);
      const double = { id: "double", source: "(input) => ({ twice: input.n * 2, host: typeof host.fetchOrigin })" };
      expect(await sandbox.evaluate(double, { n: 21 })).toMatchObject({ value: { twice: 42, host: "undefined" } });
      expect(await sandbox.evaluate(double, { n: 1 })).toMatchObject({ value: { twice: 2 } });
      const match = { id: "match", source: "({ pattern, text }) => new RegExp(pattern).test(text)" };
      expect(await sandbox.evaluate(match, { pattern: "^a+$", text: "aaa" })).toMatchObject({ value: true });
      const evil = { pattern: "^(a+)+$", text: `${"a".repeat(40)}b` };
      expect(await sandbox.evaluate(match, evil, { gas: 100_000 })).toMatchObject({ code: "gas_exhausted" });
      expect(await sandbox.evaluate(match, { pattern: "(", text: "" })).toMatchObject({ code: "tool_error" });
      expect(await sandbox.evaluate(match, { pattern: "b", text: "abc" })).toMatchObject({ value: true });
    });
  }
}
