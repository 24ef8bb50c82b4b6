import { type Expected, HOSTILE_CASES, type HostileCase } from "../../../../test/hostile/cases.ts";
import { DEFAULT_SANDBOX_LIMITS } from "../../limits.ts";
import type { CallOutcome } from "../outcome.ts";
import { echoOrigin, newSandbox, PATIENCE_MS, SUM, type Suite, script } from "./fixtures.ts";

/** Every hostile script stops within its gas, as the table says, and the next call on the same sandbox is right. */
export function hostileSuite({ engines, thorough, it, expect }: Suite): void {
  const cases = thorough ? HOSTILE_CASES : HOSTILE_CASES.filter(dependsOnPlatform);
  for (const engine of engines) {
    const sandbox = newSandbox(engine);
    let calls = 0;
    for (const { name, source, expected } of cases) {
      it(
        faultFirst(name, `stops and leaves no trace on ${engine.kind}`),
        async () => {
          const outcome = await sandbox.call(script(source), {}, echoOrigin());
          expect(describe(outcome, expected), `${name}: ${JSON.stringify(outcome).slice(0, 300)}`).toEqual(
            "as expected",
          );
          expect(outcome.gasUsed <= DEFAULT_SANDBOX_LIMITS.loadGas, "gas within the budget").toEqual(true);
          expect(await sandbox.call(SUM, { a: 1, b: ++calls }, {}), `after ${name}`).toMatchObject({
            ok: true,
            value: 1 + calls,
          });
          expect(sandbox.stats().busy, "no instance is lost").toEqual(0);
        },
        PATIENCE_MS,
      );
    }
  }
}

/** Gas is counted inside the wasm, alike on every platform: of what it ends, some is enough. */
function dependsOnPlatform({ expected }: HostileCase, index: number): boolean {
  return !("code" in expected && expected.code === "gas_exhausted") || index % 8 === 0;
}

/** A fault's id, which a meta-test looks for, stands at the beginning of a test's name. */
function faultFirst(name: string, rest: string): string {
  const id = /\[[\d.]+-\w+\]/.exec(name)?.[0];
  return id === undefined ? `${name}: ${rest}` : `${id} ${name.replace(id, "").trim()}: ${rest}`;
}

function describe(outcome: CallOutcome, expected: Expected): string {
  if ("code" in expected) {
    const codes = typeof expected.code === "string" ? [expected.code] : expected.code;
    if (outcome.ok) return `a value, not ${codes.join(" or ")}`;
    if (outcome.message === "" || /\bat \S+ \(|\.ts:|file:/.test(outcome.message)) return "an unfit message";
    return codes.includes(outcome.code) ? "as expected" : outcome.code;
  }
  if (!outcome.ok) return outcome.code;
  const asExpected = "anyValue" in expected || JSON.stringify(outcome.value) === JSON.stringify(expected.value);
  return asExpected ? "as expected" : "another value";
}
