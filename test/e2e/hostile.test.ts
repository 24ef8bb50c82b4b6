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

const CASES: readonly Published[] = HOSTILE_CASES.map((hostile, index) => ({ hostile, scope: `case_${index}` }));

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

const codesOf = ({ expected }: HostileCase): readonly GuestErrorCode[] =>
  "code" in expected ? [expected.code].flat() : [];

const atCall = CASES.filter(({ hostile }) => !hostile.atLoad);

/** A discovery's gas is enough for one script that burns a whole load; each such script gets a site of its own. */
function sites(): readonly (readonly Published[])[] {
  const burning = CASES.filter(({ hostile }) => hostile.atLoad && codesOf(hostile).includes("gas_exhausted"));
  return [CASES.filter((one) => !burning.includes(one)), ...burning.map((one) => [one])];
}

const toSkill = ({ hostile, scope }: Published): TestSkill => ({ name: "t", scope, tool: hostile.source });

let publishers: TestPublisher[];

beforeAll(async () => {
  publishers = await Promise.all(
    sites().map((cases) =>
      startTestPublisher({ skills: cases.map(toSkill), api: (_request, response) => response.end("here") }),
    ),
  );
});

afterAll(() => Promise.all(publishers.map((publisher) => publisher.stop())));

describe.each(["jspi", "asyncify"])("on the engine %s", (engine) => {
  let stack: Stack;
  let caller: Caller;
  /** Codes of the scripts that discovery left out, by scope. */
  const rejected = new Map<string, string>();

  beforeAll(async () => {
    stack = await startStack({ port: 0, vars: { SANDBOX_ENGINE: engine } });
    caller = new Caller(stack);
    const admin = new AdminClient(stack.url, stack.adminToken);
    await onboardOrigin(admin, home());
    for (const { origin } of publishers) {
      const probe = await admin.probe(await admin.ensureOrigin(origin));
      expect(probe.error).toBeNull();
      for (const { scope, code } of probe.rejected) rejected.set(scope ?? "", code);
    }
  });

  afterAll(async () => {
    caller?.close();
    await stack?.stop();
  });

  const home = () => publishers[0]?.origin ?? "";
  const attack = ({ scope }: Published) => caller.call(home(), `${scope}__t`);

  async function expectHonest(a: number): Promise<void> {
    expect(await caller.value(stack.origins.demo, "sum_numbers", { a, b: 1 })).toBe(a + 1);
  }

  const atLoad = CASES.filter(({ hostile }) => hostile.atLoad);
  it.each(atLoad.map((one) => [one.hostile.name, one] as const))(
    "leaves out a script of: %s",
    (_name, { hostile, scope }) => {
      const allowed = codesOf(hostile).map((code) => REJECTIONS[code] ?? code);
      expect(allowed).toContain(rejected.get(scope));
    },
  );

  it.each(atCall.map((one, index) => [one.hostile.name, one, index] as const))(
    "ends, and harms nobody: %s",
    async (_name, one, index) => {
      expectOutcome(one.hostile, await attack(one));
      await expectHonest(index);
    },
  );
});

describe.each(["jspi", "asyncify"])("a gateway that no tool attacked before, on the engine %s", (engine) => {
  const bombs = atCall.filter(({ hostile }) => codesOf(hostile).includes("out_of_memory"));
  let publisher: TestPublisher;
  let stack: Stack;
  let caller: Caller;

  beforeAll(async () => {
    publisher = await startTestPublisher({ skills: bombs.map(toSkill) });
    stack = await startStack({ port: 0, onboard: ["demo"], vars: { SANDBOX_ENGINE: engine } });
    caller = new Caller(stack, 2 * AT_ONCE);
    await onboardOrigin(new AdminClient(stack.url, stack.adminToken), publisher.origin);
  });

  afterAll(async () => {
    caller?.close();
    await stack?.stop();
    await publisher?.stop();
  });

  const expectHonest = async (a: number) =>
    expect(await caller.value(stack.origins.demo, "sum_numbers", { a, b: 1 })).toBe(a + 1);
  const expectBombEnds = async (one: Published) =>
    expectOutcome(one.hostile, await caller.call(publisher.origin, `${one.scope}__t`));

  it(`answers ${AT_ONCE} honest calls right beside ${AT_ONCE} memory bombs, growing by less than ${MEMORY_GROWTH_MIB} MiB`, async () => {
    const pid = await listenerPid(stack.port);
    // Honest traffic of the same width, so that what it needs by itself does not count as growth.
    for (let round = 0; round < 10; round++)
      await Promise.all(Array.from({ length: 2 * AT_ONCE }, (_, a) => expectHonest(a)));
    const before = await residentMib(pid);
    const peak = await peakMib(pid, async () => {
      for (let round = 0; round < ROUNDS; round++) {
        const attackers = Array.from({ length: AT_ONCE }, (_, i) => bombs[(round * AT_ONCE + i) % bombs.length]);
        await Promise.all([
          ...attackers.map((one) => one && expectBombEnds(one)),
          ...Array.from({ length: AT_ONCE }, (_, a) => expectHonest(a)),
        ]);
      }
    });
    console.log(`${engine}: ${before.toFixed(0)} MiB before, ${peak.toFixed(0)} MiB at most`);
    expect(peak - before).toBeLessThan(MEMORY_GROWTH_MIB);
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
