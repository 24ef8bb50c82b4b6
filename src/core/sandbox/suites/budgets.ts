import { DEFAULT_SANDBOX_LIMITS } from "../../limits.ts";
import type { Capabilities } from "../capabilities.ts";
import { Sandbox } from "../sandbox.ts";
import { fetchAnswer, handler, newSandbox, SUM, type Suite, script } from "./fixtures.ts";

const MIB = 1024 * 1024;

/** Every budget of a call at, just below and just above its edge. */
export function budgetSuite({ engines, it, expect }: Suite): void {
  for (const engine of engines) {
    const on = ` on ${engine.kind}`;

    it(`[budget:call-gas] a call may use exactly its gas, not one unit more${on}`, async () => {
      const tool = handler("let n = 0; for (let i = 0; i < 1000; i++) n += i; return n");
      const { gasUsed } = await newSandbox(engine).call(tool, {}, {});
      for (const [callGas, ok] of [
        [gasUsed - 1, false],
        [gasUsed, true],
        [gasUsed + 1, true],
      ] as const) {
        const outcome = await newSandbox(engine, { callGas }).call(tool, {}, {});
        expect(outcome, `${callGas}`).toMatchObject(ok ? { ok, gasUsed } : { ok, code: "gas_exhausted" });
        expect(outcome.gasUsed <= callGas).toEqual(true);
      }
    });

    it(`[budget:gas-exhaustions] a script that exhausts its gas five times in a minute is not run for a minute${on}`, async () => {
      let now = 1_000_000;
      const limits = { ...DEFAULT_SANDBOX_LIMITS, callGas: 100_000 };
      const sandbox = new Sandbox({ engine, limits, now: () => now });
      const burning = handler("host.fetchOrigin('/'); for (;;) {}");
      let runs = 0;
      const origin: Capabilities = {
        fetchOrigin: async () => {
          runs++;
          return fetchAnswer("");
        },
      };
      const tenant = { client: "c", origin: "https://o.example" };
      const call = (client = "c") => sandbox.call(burning, {}, origin, { tenant: { ...tenant, client } });
      for (let i = 0; i < 5; i++) expect(await call(`c${i}`)).toMatchObject({ code: "gas_exhausted" });
      expect(runs).toEqual(5);
      // Nothing runs, whoever calls.
      expect(await call()).toEqual({
        ok: false,
        code: "tool_suspended",
        message: "tool suspended: it exhausted its gas 5 times within a minute; call it again in 60 s",
        gasUsed: 0,
      });
      expect(runs).toEqual(5);
      // Other tools go on, and so does the same script of another origin, which another client could not have spoilt.
      expect(await sandbox.call(SUM, { a: 1, b: 1 }, {}, { tenant })).toMatchObject({ value: 2 });
      const elsewhere = { tenant: { client: "c", origin: "https://p.example" } };
      expect(await sandbox.call(burning, {}, origin, elsewhere)).toMatchObject({ code: "gas_exhausted" });
      now += 59_999;
      expect(await call()).toMatchObject({ code: "tool_suspended" });
      expect(runs).toEqual(6);
      now += 1;
      expect(await call()).toMatchObject({ code: "gas_exhausted" });
      expect(runs).toEqual(7);
    });

    it(`[budget:load-gas] a script that does not load is not loaded again for a minute${on}`, async () => {
      let now = 1_000_000;
      const sandbox = new Sandbox({ engine, limits: DEFAULT_SANDBOX_LIMITS, now: () => now });
      const broken = script("for (let i = 0; i < 1e5; i++); throw new Error('no')");
      const first = await sandbox.call(broken, {}, {});
      expect(first).toMatchObject({ ok: false });
      expect(first.gasUsed > 100_000).toEqual(true);
      expect(await sandbox.call(broken, {}, {})).toEqual({ ...first, gasUsed: 0 });
      now += 60_000;
      expect(await sandbox.call(broken, {}, {})).toEqual(first);
    });

    it(`[budget:load-gas] a script that costs more than a call to load is not loaded for calls without end${on}`, async () => {
      // No image is kept, so that every call has to load.
      const sandbox = newSandbox(engine, { callGas: 50_000, imageCacheBytes: 0 });
      const slow = script('for (let i = 0; i < 1e5; i++); registerTool({ name: "t", handler: () => 1 })');
      for (let i = 0; i < 5; i++) expect(await sandbox.call(slow, {}, {})).toMatchObject({ value: 1 });
      expect(await sandbox.call(slow, {}, {})).toMatchObject({ code: "tool_suspended" });
    });

    it(`[budget:gas-exhaustions] calls that waited while their tool was suspended do not run either${on}`, async () => {
      const sandbox = newSandbox(engine, { callGas: 100_000, poolSize: 1 });
      const burning = handler("for (;;) {}");
      const outcomes = await Promise.all(Array.from({ length: 8 }, () => sandbox.call(burning, {}, {})));
      const codes = outcomes.map((outcome) => (outcome.ok ? "ok" : outcome.code));
      expect(codes.filter((code) => code === "gas_exhausted").length).toEqual(5);
      expect(codes.filter((code) => code === "tool_suspended").length).toEqual(3);
      expect(await sandbox.call(SUM, { a: 1, b: 1 }, {})).toMatchObject({ value: 2 });
    });

    it(`[budget:load-gas] loading may use exactly its gas, not one unit more${on}`, async () => {
      const tool = script(
        'let n = 0; for (let i = 0; i < 1000; i++) n += i; registerTool({ name: "t", handler() { return n } })',
      );
      const { gasUsed } = await newSandbox(engine).load(tool);
      for (const [loadGas, ok] of [
        [gasUsed - 1, false],
        [gasUsed, true],
        [gasUsed + 1, true],
      ] as const) {
        expect(await newSandbox(engine, { loadGas }).load(tool)).toMatchObject(ok ? { ok } : { code: "gas_exhausted" });
        expect(await newSandbox(engine).load(tool, { gas: loadGas })).toMatchObject({ ok });
      }
    });

    it(`[budget:result] a result may have 1 MiB of JSON, in bytes of UTF-8${on}`, async () => {
      const sandbox = newSandbox(engine);
      const limit = DEFAULT_SANDBOX_LIMITS.resultBytes;
      const ascii = handler("return 'x'.repeat(args.n)"); // and two quotes
      for (const [n, ok] of [
        [limit - 3, true],
        [limit - 2, true],
        [limit - 1, false],
      ] as const) {
        const outcome = await sandbox.call(ascii, { n }, {});
        expect(outcome.ok ? "fits" : outcome.code).toEqual(ok ? "fits" : "result_too_large");
      }
      const wide = handler("return 'é'.repeat(args.n) + 'x'.repeat(args.m)");
      for (const [m, ok] of [
        [0, true],
        [1, false],
      ] as const) {
        const outcome = await sandbox.call(wide, { n: limit / 2 - 1, m }, {});
        expect(outcome.ok ? "fits" : outcome.code).toEqual(ok ? "fits" : "result_too_large");
      }
    });

    it(`[budget:definition] a definition may have 256 KiB of JSON${on}`, async () => {
      const limit = DEFAULT_SANDBOX_LIMITS.definitionBytes;
      const rest = '{"name":"t","description":"","inputSchema":{"type":"object"}}'.length;
      for (const [length, ok] of [
        [limit - 1, true],
        [limit, true],
        [limit + 1, false],
      ] as const) {
        const tool = script(`registerTool({ name: "t", description: "x".repeat(${length - rest}), handler() {} })`);
        expect(await newSandbox(engine).load(tool)).toMatchObject(ok ? { ok } : { code: "bad_definition" });
      }
      const wide = script(`registerTool({ name: "t", description: "é".repeat(${limit / 2}), handler() {} })`);
      expect(await newSandbox(engine).load(wide)).toMatchObject({ code: "bad_definition" });
    });

    it(`[budget:image] the image of a script may have exactly its bytes${on}`, async () => {
      const tool = script('globalThis.kept = "x".repeat(100000); registerTool({ name: "t", handler() {} })');
      const sandbox = newSandbox(engine);
      await sandbox.load(tool);
      const size = sandbox.stats().imageBytes;
      expect(size > 100_000 && size < 1_000_000, `${size}`).toEqual(true);
      for (const [imageBytes, ok] of [
        [size - 1, false],
        [size, true],
        [size + 1, true],
      ] as const) {
        const outcome = await newSandbox(engine, { imageBytes }).load(tool);
        expect(outcome).toMatchObject(ok ? { ok } : { code: "image_too_large" });
      }
    });

    it(`[budget:image-cache] the cache of images stays within its bytes, and what was dropped loads again${on}`, async () => {
      const size = await (async () => {
        const sandbox = newSandbox(engine);
        await sandbox.load(SUM);
        return sandbox.stats().imageBytes;
      })();
      const tools = [1, 2, 3, 4].map((n) => handler(`return ${n}`));
      for (const [imageCacheBytes, kept] of [
        [3 * size - 8192, 2],
        [3 * size + 8192, 3],
      ] as const) {
        const sandbox = newSandbox(engine, { imageCacheBytes });
        for (let round = 0; round < 2; round++) {
          for (const [index, tool] of tools.entries()) {
            expect(await sandbox.call(tool, {}, {})).toMatchObject({ value: index + 1 });
            expect(sandbox.stats().imageBytes <= imageCacheBytes).toEqual(true);
          }
        }
        expect(sandbox.stats().images).toEqual(kept);
      }
    });

    it(`[budget:guest-memory] a call may use 24 MiB of heap${on}`, async () => {
      const sandbox = newSandbox(engine);
      const tool = handler("return new Uint8Array(args.n).length");
      const limit = DEFAULT_SANDBOX_LIMITS.guestMemoryBytes;
      for (const [n, ok] of [
        [limit - MIB / 2, true],
        [limit, false],
        [limit + 1, false],
      ] as const) {
        expect(await sandbox.call(tool, { n }, {})).toMatchObject(ok ? { value: n } : { code: "out_of_memory" });
      }
    });

    it(`[budget:linear-memory] an instance never grows beyond its maximum${on}`, async () => {
      const linearMemoryBytes = 8 * MIB;
      const sandbox = newSandbox(engine, { linearMemoryBytes, keepInstanceBytes: 64 * MIB });
      const tool = handler("return new Uint8Array(args.n).length");
      for (const [n, ok] of [
        [6 * MIB, true],
        [8 * MIB, false],
        [16 * MIB, false],
      ] as const) {
        expect(await sandbox.call(tool, { n }, {})).toMatchObject(ok ? { value: n } : { code: "out_of_memory" });
        expect(sandbox.stats().memoryBytes <= linearMemoryBytes).toEqual(true);
      }
    });

    it(`[budget:guest-stack] recursion goes as deep as the stack limit, and no deeper${on}`, async () => {
      const depthWith = async (guestStackBytes: number) => {
        const sandbox = newSandbox(engine, { guestStackBytes });
        const body = "let n = 0; function f(k) { n++; if (k !== 1) f(k - 1) }";
        const outcome = await sandbox.call(handler(`${body} try { f(-1) } catch {} return n`), {}, {});
        const depth = outcome.ok ? (outcome.value as number) : 0;
        const exact = (k: number) => sandbox.call(handler(`${body} f(args.k); return n`), { k }, {});
        // The try block above takes a little of the stack, too.
        expect(await exact(depth - 1)).toMatchObject({ value: depth - 1 });
        expect(await exact(depth)).toMatchObject({ value: depth });
        expect(await exact(depth + 2)).toMatchObject({ code: "stack_overflow" });
        return depth;
      };
      const half = await depthWith(64 * 1024);
      const full = await depthWith(DEFAULT_SANDBOX_LIMITS.guestStackBytes);
      expect(Math.abs(full / half - 2) < 0.1, `${half} and ${full}`).toEqual(true);
    });

    it(`[budget:fetch-calls] a call may fetch 50 times; the next one throws in the guest${on}`, async () => {
      const sandbox = newSandbox(engine);
      const origin: Capabilities = { fetchOrigin: async () => fetchAnswer("") };
      const tool = handler(
        "let n = 0; try { for (let i = 0; i < args.k; i++) n += host.fetchOrigin('/').status / 200 } catch (e) { return [n, e.message] } return [n]",
      );
      const message = "host.fetchOrigin: over 50 calls in one tool call";
      expect(await sandbox.call(tool, { k: 49 }, origin)).toMatchObject({ value: [49] });
      expect(await sandbox.call(tool, { k: 50 }, origin)).toMatchObject({ value: [50] });
      expect(await sandbox.call(tool, { k: 51 }, origin)).toMatchObject({ value: [50, message] });
    });

    it(`[budget:memory-search-calls] a call may search 50 times; the next one throws in the guest${on}`, async () => {
      const sandbox = newSandbox(engine);
      const memory: Capabilities = { memorySearch: () => [] };
      const tool = handler(
        "let n = 0; try { for (let i = 0; i < args.k; i++) { host.memorySearch('x'); n++ } } catch (e) { return [n, e.message] } return [n]",
      );
      const message = "host.memorySearch: over 50 calls in one tool call";
      expect(await sandbox.call(tool, { k: 49 }, memory)).toMatchObject({ value: [49] });
      expect(await sandbox.call(tool, { k: 50 }, memory)).toMatchObject({ value: [50] });
      expect(await sandbox.call(tool, { k: 51 }, memory)).toMatchObject({ value: [50, message] });
    });

    it(`[budget:memory-search-query] a query may have 1 KiB of UTF-8; a longer one throws in the guest${on}`, async () => {
      const sandbox = newSandbox(engine);
      const memory: Capabilities = { memorySearch: () => [] };
      const tool = handler("return host.memorySearch(args.q)");
      const right = { value: { hits: [] } };
      const wrong = { ok: false, code: "tool_error", message: "memorySearch: the query exceeds 1024 bytes" };
      expect(await sandbox.call(tool, { q: "x".repeat(1023) }, memory)).toMatchObject(right);
      expect(await sandbox.call(tool, { q: "x".repeat(1024) }, memory)).toMatchObject(right);
      expect(await sandbox.call(tool, { q: "x".repeat(1025) }, memory)).toMatchObject(wrong);
      expect(await sandbox.call(tool, { q: "é".repeat(512) }, memory)).toMatchObject(right);
      expect(await sandbox.call(tool, { q: `${"é".repeat(512)}x` }, memory)).toMatchObject(wrong);
    });

    it(`[budget:call-timeout] a call may take 30 s, waits included, and not a millisecond more${on}`, async () => {
      for (const [wait, ok] of [
        [29_999, true],
        [30_000, false],
        [30_001, false],
      ] as const) {
        let now = 1_000_000;
        const sandbox = new Sandbox({ engine, limits: DEFAULT_SANDBOX_LIMITS, now: () => now });
        const origin: Capabilities = {
          fetchOrigin: async () => {
            now += wait / 2;
            return fetchAnswer("");
          },
        };
        const tool = handler("host.fetchOrigin('/'); return host.fetchOrigin('/').status");
        expect(await sandbox.call(tool, {}, origin)).toMatchObject(ok ? { value: 200 } : { code: "timeout" });
      }
    });

    it(`a call that is over its time asks the origin for nothing more${on}`, async () => {
      let now = 1_000_000;
      let fetches = 0;
      const sandbox = new Sandbox({ engine, limits: DEFAULT_SANDBOX_LIMITS, now: () => now });
      const late: Capabilities = {
        memorySearch: () => {
          now += DEFAULT_SANDBOX_LIMITS.callTimeoutMs;
          return [];
        },
        fetchOrigin: async () => {
          fetches++;
          return fetchAnswer("");
        },
      };
      const tool = handler("host.memorySearch('x'); return host.fetchOrigin('/').status");
      expect(await sandbox.call(tool, {}, late)).toMatchObject({ ok: false, code: "timeout" });
      expect(fetches).toEqual(0);
    });

    it(`[10.2-wall-deadline] waiting for the origin takes no gas${on}`, async () => {
      const sandbox = newSandbox(engine);
      const tool = handler("host.fetchOrigin('/'); let n = 0; for (let i = 0; i < 200000; i++) n++; return n");
      const used = async (milliseconds: number) => {
        const origin: Capabilities = {
          fetchOrigin: async () => {
            await new Promise((resolve) => setTimeout(resolve, milliseconds));
            return fetchAnswer("");
          },
        };
        return sandbox.call(tool, {}, origin);
      };
      const [quick, slow] = [await used(0), await used(50)];
      expect(quick).toMatchObject({ value: 200_000 });
      expect(slow).toEqual(quick);
    });

    it(`[budget:keep-instance] of idle instances above its bytes one is kept, and it is used first${on}`, async () => {
      const tool = handler("const a = new Uint8Array(3e6); host.fetchOrigin('/'); return a.length");
      const twoAtOnce = async (sandbox: Sandbox) => {
        const origin: Capabilities = {
          fetchOrigin: async () => {
            await new Promise((resolve) => setTimeout(resolve, 5));
            return fetchAnswer("");
          },
        };
        const outcomes = await Promise.all([sandbox.call(tool, {}, origin), sandbox.call(tool, {}, origin)]);
        for (const outcome of outcomes) expect(outcome).toMatchObject({ value: 3e6 });
      };
      const probe = newSandbox(engine);
      await twoAtOnce(probe);
      const size = probe.stats().memoryBytes / 2;
      for (const [keepInstanceBytes, kept] of [
        [size - 1, 1],
        [size, 2],
        [size + 1, 2],
      ] as const) {
        const sandbox = newSandbox(engine, { keepInstanceBytes });
        await twoAtOnce(sandbox);
        expect(sandbox.stats()).toMatchObject({ instances: kept, memoryBytes: kept * size });
        // The next large call grows nothing.
        expect(await sandbox.call(handler("return new Uint8Array(3e6).length"), {}, {})).toMatchObject({ value: 3e6 });
        expect(sandbox.stats()).toMatchObject({ instances: kept, memoryBytes: kept * size });
      }
    });
  }
}
