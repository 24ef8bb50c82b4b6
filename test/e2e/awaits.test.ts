import pLimit from "p-limit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { AdminClient } from "../../src/dev/stack/admin-client.ts";
import { onboardOrigin } from "../../src/dev/stack/onboarding.ts";
import { type Stack, startStack } from "../../src/dev/stack.ts";
import { Caller } from "./caller.ts";
import { skill, startTestPublisher, type TestPublisher } from "./test-publisher.ts";

/** The core's own suite does it 200 times over; here it is the way through a gateway that is tried. */
const ROUNDS = 30;
const CONCURRENCY = 8;
const AWAITS = 5000;

/** Every way to fetch more than once, with and without `await`; the publisher answers each path with itself. */
const SKILLS = [
  skill(
    "one_by_one",
    "const r = []; for (let i = 0; i < args.n; i++) r.push((await host.fetchOrigin('/' + i)).body); return r;",
  ),
  skill(
    "one_by_one_sync",
    "const r = []; for (let i = 0; i < args.n; i++) r.push(host.fetchOrigin('/' + i).body); return r;",
  ),
  skill(
    "all",
    "const paths = Array.from({ length: args.n }, (_, i) => '/' + i);" +
      "return (await Promise.all(paths.map((path) => host.fetchOrigin(path)))).map(({ body }) => body);",
  ),
  skill("all_sync", "return Array.from({ length: args.n }, (_, i) => host.fetchOrigin('/' + i).body);"),
  skill("then", "return Promise.resolve('/0').then((path) => host.fetchOrigin(path)).then(({ body }) => [body]);"),
  skill("then_sync", "return ['/0'].map((path) => host.fetchOrigin(path)).map(({ body }) => body);"),
  skill("many_awaits", "let sum = 0; for (let i = 0; i < args.n; i++) sum += await i; return sum;"),
  skill("many_awaits_sync", "let sum = 0; for (let i = 0; i < args.n; i++) sum += i; return sum;"),
];

const paths = (n: number) => Array.from({ length: n }, (_, i) => `/${i}`);

/** What one round asks, and what each must answer. */
const MATRIX: readonly (readonly [name: string, n: number, value: unknown])[] = ["", "_sync"].flatMap((style) => [
  ...[1, 2, 3, 5, 50].map((n) => [`one_by_one${style}`, n, paths(n)] as const),
  [`all${style}`, 10, paths(10)] as const,
  [`then${style}`, 1, paths(1)] as const,
  [`many_awaits${style}`, AWAITS, (AWAITS * (AWAITS - 1)) / 2] as const,
]);

let publisher: TestPublisher;

beforeAll(async () => {
  publisher = await startTestPublisher({ skills: SKILLS, api: (request, response) => response.end(request.url) });
});

afterAll(() => publisher?.stop());

describe.each(["jspi", "asyncify"])("on the engine %s", (engine) => {
  let stack: Stack;
  let caller: Caller;

  beforeAll(async () => {
    stack = await startStack({ port: 0, vars: { SANDBOX_ENGINE: engine } });
    caller = new Caller(stack);
    await onboardOrigin(new AdminClient(stack.url, stack.adminToken), publisher.origin);
  });

  afterAll(async () => {
    caller?.close();
    await stack?.stop();
  });

  it(`[10.1-A] answers every pattern of awaits right, ${ROUNDS} times over, interleaved with other skills`, {
    timeout: 240_000,
  }, async () => {
    const wrong: string[] = [];
    // Each round begins elsewhere in the list, so that every pattern meets every other.
    const round = (index: number) => {
      const works = MATRIX.map(([name, n, value]) => async () => {
        const answer = await caller.value(publisher.origin, name, { n }).catch((error: Error) => error.message);
        if (JSON.stringify(answer) !== JSON.stringify(value)) wrong.push(`${name} ${n}: ${JSON.stringify(answer)}`);
      });
      works.push(async () => {
        const answer = await caller.value(stack.origins.demo, "sum_numbers", { a: index, b: 1 });
        if (answer !== index + 1) wrong.push(`sum_numbers ${index}: ${answer}`);
      });
      const start = index % works.length;
      return [...works.slice(start), ...works.slice(0, start)];
    };

    const limit = pLimit(CONCURRENCY);
    await limit.map(Array.from({ length: ROUNDS }, (_, index) => round(index)).flat(), (work) => work());
    expect(wrong).toEqual([]);
  });
});
