import type { ServerResponse } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { GuestErrorCode } from "../../src/core/sandbox/outcome.ts";
import { AdminClient } from "../../src/dev/stack/admin-client.ts";
import { onboardOrigin } from "../../src/dev/stack/onboarding.ts";
import { type Stack, startStack } from "../../src/dev/stack.ts";
import { HOSTILE_CASES, type HostileCase } from "../hostile/cases.ts";
import { Caller, errorText, type ToolAnswer } from "./caller.ts";
import { listenerPid, peakMib, residentMib } from "./listener-memory.ts";
import { startTestPublisher, type TestPublisher, type TestSkill } from "./test-publisher.ts";

const MEMORY_GROWTH_MIB = 96;
const AT_ONCE = 16;
const ROUNDS = 3;

interface Published {
  readonly hostile: HostileCase;
  /** Every case registers the tool `t`; a scope of its own tells them apart. */
  readonly scope: string;
}

const codesOf = ({ expected }: HostileCase): readonly GuestErrorCode[] =>
  "code" in expected ? [expected.code].flat() : [];

/** How a case ends: at discovery or at a call, with which codes, or with which kind of value. */
const kindOf = (hostile: HostileCase) =>
  JSON.stringify([hostile.atLoad, ...("code" in hostile.expected ? codesOf(hostile) : Object.keys(hostile.expected))]);

/** One case of each kind: how every one of them ends is tried on the sandbox itself, in workerd. */
const CASES: readonly Published[] = [...Map.groupBy(HOSTILE_CASES, kindOf).values()].flatMap(([hostile], index) =>
  hostile === undefined ? [] : [{ hostile, scope: `case_${index}` }],
);

const BOMBS: readonly Published[] = HOSTILE_CASES.filter(
  (hostile) => !hostile.atLoad && codesOf(hostile).includes("out_of_memory"),
).map((hostile, index) => ({ hostile, scope: `bomb_${index}` }));

/** What a client reads for each way a call can end; the last three say what the guest or the engine said. */
const SENTENCES: Partial<Record<GuestErrorCode, RegExp>> = {
  // Where a tool is called again and again, it is suspended in the end.
  gas_exhausted: /gas exhausted|tool suspended/,
  out_of_memory: /out of memory/,
  stack_overflow: /stack/,
  did_not_settle: /settle/,
  result_too_large: /result too large/,
  bad_result: /./,
  tool_error: /./,
};

/** Scripts that fail while they load are rejected at discovery, under another code where the script's own error is meant. */
const REJECTIONS: Partial<Record<GuestErrorCode, string>> = {
  tool_error: "load_failed",
  stack_overflow: "load_failed",
};

const atCall = CASES.filter(({ hostile }) => !hostile.atLoad);

/** A discovery's gas is enough for one script that burns a whole load; each such script gets a site of its own. */
function sites(): readonly (readonly Published[])[] {
  const burning = CASES.filter(({ hostile }) => hostile.atLoad && codesOf(hostile).includes("gas_exhausted"));
  return [CASES.filter((one) => !burning.includes(one)), ...burning.map((one) => [one])];
}

const toSkill = ({ hostile, scope }: Published): TestSkill => ({ name: "t", scope, tool: hostile.source });

describe.each(["jspi", "asyncify"])("on the engine %s", (engine) => {
  let stack: Stack;
  let caller: Caller;
  let admin: AdminClient;
  const running: TestPublisher[] = [];

  beforeAll(async () => {
    stack = await startStack({ port: 0, onboard: ["demo"], vars: { SANDBOX_ENGINE: engine } });
    caller = new Caller(stack, 2 * AT_ONCE);
    admin = new AdminClient(stack.url, stack.adminToken);
  });

  afterAll(async () => {
    caller?.close();
    await stack?.stop();
    await Promise.all(running.map((publisher) => publisher.stop()));
  });

  async function publish(cases: readonly Published[]): Promise<string> {
    const api = (_request: unknown, response: ServerResponse) => response.end("here");
    const publisher = await startTestPublisher({ skills: cases.map(toSkill), api });
    running.push(publisher);
    return publisher.origin;
  }

  async function expectHonest(a: number): Promise<void> {
    expect(await caller.value(stack.origins.demo, "sum_numbers", { a, b: 1 })).toBe(a + 1);
  }

  async function expectEnds(origin: string, { hostile, scope }: Published): Promise<void> {
    expectOutcome(hostile, await caller.call(origin, `${scope}__t`));
  }

  describe("a gateway that no tool attacked before", () => {
    it(`answers ${AT_ONCE} honest calls right beside ${AT_ONCE} memory bombs, growing by less than ${MEMORY_GROWTH_MIB} MiB`, async () => {
      const origin = await publish(BOMBS);
      await onboardOrigin(admin, origin);
      const pid = await listenerPid(stack.port);
      // Honest traffic of the same width, so that what it needs by itself does not count as growth.
      for (let round = 0; round < 10; round++)
        await Promise.all(Array.from({ length: 2 * AT_ONCE }, (_, a) => expectHonest(a)));
      const before = await residentMib(pid);
      const peak = await peakMib(pid, async () => {
        for (let round = 0; round < ROUNDS; round++) {
          const attackers = Array.from({ length: AT_ONCE }, (_, i) => BOMBS[(round * AT_ONCE + i) % BOMBS.length]);
          await Promise.all([
            ...attackers.map((one) => one && expectEnds(origin, one)),
            ...Array.from({ length: AT_ONCE }, (_, a) => expectHonest(a)),
          ]);
        }
      });
      console.log(`${engine}: ${before.toFixed(0)} MiB before, ${peak.toFixed(0)} MiB at most`);
      expect(peak - before).toBeLessThan(MEMORY_GROWTH_MIB);
    });
  });

  describe("a hostile tool", () => {
    let home: string;
    /** Codes of the scripts that discovery left out, by scope. */
    const rejected = new Map<string, string>();

    beforeAll(async () => {
      const origins = await Promise.all(sites().map(publish));
      home = origins[0] ?? "";
      await onboardOrigin(admin, home);
      for (const origin of origins) {
        const probe = await admin.probe(await admin.ensureOrigin(origin));
        expect(probe.error).toBeNull();
        for (const { scope, code } of probe.rejected) rejected.set(scope ?? "", code);
      }
    });

    const atLoad = CASES.filter(({ hostile }) => hostile.atLoad);
    it.each(atLoad.map((one) => [one.hostile.name, one] as const))(
      "is left out of the list: %s",
      (_name, { hostile, scope }) => {
        const allowed = codesOf(hostile).map((code) => REJECTIONS[code] ?? code);
        expect(allowed).toContain(rejected.get(scope));
      },
    );

    it.each(atCall.map((one, index) => [one.hostile.name, one, index] as const))(
      "ends, and harms nobody: %s",
      async (_name, one, index) => {
        await expectEnds(home, one);
        await expectHonest(index);
      },
    );
  });
});

function expectOutcome({ expected }: HostileCase, answer: ToolAnswer): void {
  const text = errorText(answer);
  if ("code" in expected) {
    expect(answer.isError, text.slice(0, 200)).toBe(true);
    const sentences = [expected.code].flat().map((code) => SENTENCES[code] ?? /never/);
    expect(
      sentences.some((sentence) => sentence.test(text)),
      text,
    ).toBe(true);
    // Neither a stack frame nor a path of the host.
    expect(text).not.toMatch(/\bat \S+ \(|\.ts:|file:/);
    expect(text.length).toBeLessThan(3000);
  } else {
    expect(answer.isError ?? false, text).toBe(false);
    if ("value" in expected) expect(JSON.parse(text)).toEqual(expected.value);
  }
}
