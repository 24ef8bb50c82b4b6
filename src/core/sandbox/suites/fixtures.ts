import type { Sha256Hex } from "../../integrity.ts";
import { DEFAULT_SANDBOX_LIMITS, type SandboxLimits } from "../../limits.ts";
import type { Capabilities, FetchOriginAnswer } from "../capabilities.ts";
import type { Engine } from "../engine.ts";
import { Sandbox, type Tool } from "../sandbox.ts";

/** The test framework's functions, handed in: the same suites run in workerd, in Node and in a browser. */
export interface Suite {
  readonly engines: readonly Engine[];
  /** In one place, where the product runs, everything is tried as often as it is claimed; elsewhere the same, less often. */
  readonly thorough: boolean;
  /** The time is a safety net for busy machines, not a claim. */
  readonly it: (name: string, test: () => Promise<void>, timeoutMs?: number) => void;
  readonly expect: (actual: unknown, message?: string) => Expectation;
}

export interface Expectation {
  toEqual(expected: unknown): void;
  toMatchObject(expected: unknown): void;
}

export function newSandbox(engine: Engine, limits: Partial<SandboxLimits> = {}): Sandbox {
  return new Sandbox({ engine, limits: { ...DEFAULT_SANDBOX_LIMITS, ...limits } });
}

/** A tool of a whole script. The sandbox takes the hash as a key only, so any distinct text will do. */
export function script(source: string, name = "t"): Tool {
  return { sha256: `test of ${name}: ${source}` as Sha256Hex, source, name };
}

/** A tool `t` with the body of its handler `(args)`. */
export function handler(body: string): Tool {
  return script(`registerTool({ name: "t", handler(args) { ${body} } })`);
}

export const SUM = handler("return args.a + args.b");

export function fetchAnswer(body: string, status = 200): FetchOriginAnswer {
  return { status, body, truncated: false, bytes: body.length, contentLength: null };
}

/** An origin that echoes the path, some calls later than others. */
export function echoOrigin(): Capabilities {
  let calls = 0;
  return {
    fetchOrigin: async (path) => {
      if (calls++ % 3 === 0) await sleep(1);
      return fetchAnswer(path.slice(0, 100));
    },
  };
}

/** Milliseconds that a test may take on a very busy machine. */
export const PATIENCE_MS = 60_000;

export function sleep(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
