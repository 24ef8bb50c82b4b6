import { type Engine, type EngineKind, jspiApi } from "../engine.ts";
import { actionSuite } from "./actions.ts";
import { awaitingSuite } from "./awaiting.ts";
import { budgetSuite } from "./budgets.ts";
import { capabilitySuite } from "./capabilities.ts";
import type { Expectation, Suite } from "./fixtures.ts";
import { hostileSuite } from "./hostile.ts";
import { isolationSuite } from "./isolation.ts";
import { poolSuite } from "./pool.ts";

/** What the browser reports: the names of the tests that passed, and the failures. */
export interface BrowserReport {
  readonly engines: readonly EngineKind[];
  readonly passed: number;
  readonly failed: readonly string[];
}

/** Runs every suite in this page, one test after the other. The wasm files are served beside it. */
export async function runSuites(): Promise<BrowserReport> {
  const kinds: EngineKind[] = jspiApi() === null ? ["asyncify"] : ["jspi", "asyncify"];
  // The types of Workers have no compilation at run time; browsers do.
  const { compileStreaming } = WebAssembly as unknown as {
    compileStreaming(source: Promise<Response>): Promise<WebAssembly.Module>;
  };
  const engines: Engine[] = await Promise.all(
    kinds.map(async (kind) => ({ kind, module: await compileStreaming(fetch(`/quickjs-${kind}.wasm`)) })),
  );
  const tests: { name: string; test: () => Promise<void> }[] = [];
  const suite: Suite = { engines, thorough: false, it: (name, test) => tests.push({ name, test }), expect };
  for (const add of [actionSuite, awaitingSuite, budgetSuite, capabilitySuite, hostileSuite, isolationSuite, poolSuite])
    add(suite);
  const failed: string[] = [];
  for (const { name, test } of tests) {
    try {
      await test();
    } catch (error) {
      failed.push(`${name}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  return { engines: kinds, passed: tests.length - failed.length, failed };
}

function expect(actual: unknown, message = ""): Expectation {
  const check = (holds: boolean, expected: unknown) => {
    if (!holds) throw new Error(`${message} expected ${JSON.stringify(expected)}, got ${JSON.stringify(actual)}`);
  };
  return {
    toEqual: (expected) => check(matches(actual, expected, true), expected),
    toMatchObject: (expected) => check(matches(actual, expected, false), expected),
  };
}

/** Deep equality of plain data; `exact` forbids properties that the expected object lacks. */
function matches(actual: unknown, expected: unknown, exact: boolean): boolean {
  if (typeof expected !== "object" || expected === null) return Object.is(actual, expected);
  if (typeof actual !== "object" || actual === null) return false;
  if (Array.isArray(expected) !== Array.isArray(actual)) return false;
  const keysOf = (value: object) => Object.entries(value).filter(([, item]) => item !== undefined);
  if ((exact || Array.isArray(expected)) && keysOf(actual).length !== keysOf(expected).length) return false;
  return keysOf(expected).every(([key, value]) => matches((actual as Record<string, unknown>)[key], value, exact));
}

declare const document: { title: string };
declare global {
  var report: BrowserReport | undefined;
}

runSuites().then(
  (report) => {
    globalThis.report = report;
    document.title = "done";
  },
  (error: unknown) => {
    document.title = `failed: ${String(error)}`;
  },
);
