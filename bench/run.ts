import { execFile } from "node:child_process";
import { rmSync } from "node:fs";
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs, promisify } from "node:util";
import { V8_FLAGS } from "../src/dev/stack/gateway.ts";
import { measureColdDiscovery, measureFirstRequest } from "./cold.ts";
import { buildForProduction, learn, mcpRequest, prepareGateway, toolCall } from "./gateway.ts";
import { attacks, type IsolationRow, measureIsolation } from "./isolation.ts";
import { startGenerator } from "./load/client.ts";
import { measureLocal } from "./local.ts";
import { measureMemory } from "./memory.ts";
import { LISTED_TOOLS, startPublisher } from "./publisher.ts";
import { describeMachine, floorTable, isolationTable, judge, type Measured, type Report, rowTable } from "./report.ts";
import { CONCURRENCIES, measureRows, type Row, type Subject } from "./rows.ts";
import { measureSearch } from "./search.ts";
import { compareServing } from "./serving.ts";
import { round } from "./statistics.ts";
import { measureWarmImage, type WarmImage } from "./warm-image.ts";
import { prepareWorkerd, WORKERD } from "./workerd/process.ts";

const USAGE = `Usage: npm run bench [-- options]

Measures the gateway, built for production, in workerd.

  --json FILE        write the figures to FILE
  --quick            a short run, for checking the benchmark rather than the gateway
  --only LIST        measure these alone, separated by commas: names of rows, "cold", "isolation", "search", "local", "first", "memory"
  --calls N          calls of the memory measurement, 100,000 unless said (6,000 with --quick)
  --v8-flags FLAGS   measure speed with these; without, with V8 as workerd ships it. Memory is measured with those of npm start
  --check            exit with 1 when a promised figure is missed
  --compare-serving  also measure what Miniflare's ways of serving cost
  --help             print this
`;

/** What a run measures, and for how long; times in milliseconds. The memory measurement gets what the rest leaves of `limitMs`. */
const FULL = {
  limitMs: 300_000,
  memoryCalls: 100_000,
  rounds: 6,
  sliceMs: 450,
  isolationMs: 6_000,
  slowMs: 1_000,
  coldOrigins: 9,
  firstRequests: 7,
  searches: 3,
  local: { starts: 11, calls: 5_000 },
};
const QUICK: typeof FULL = {
  limitMs: 45_000,
  memoryCalls: 6_000,
  rounds: 2,
  sliceMs: 150,
  isolationMs: 1_000,
  slowMs: 200,
  coldOrigins: 3,
  firstRequests: 2,
  searches: 1,
  local: { starts: 2, calls: 500 },
};
const ROWS = ["ping", "tools/list", "tools/call", "tools/call limited", "tools/call fetch"] as const;
const WARM_IMAGE = "tools/call warm-image";
/** What `--only` can name. */
const MEASUREMENTS: readonly string[] = [
  ...ROWS,
  WARM_IMAGE,
  "cold",
  "isolation",
  "search",
  "local",
  "first",
  "memory",
];
/** Kept back for the first requests and for ending. */
const RESERVE_MS = 8_000;
/** A memory measurement of more calls than usual may take so much longer. */
const EXTRA_CALL_MS = 2;
/** Beyond its limit a run gets so much longer before it is broken off. */
const GRACE_MS = 60_000;

async function main(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      json: { type: "string" },
      quick: { type: "boolean" },
      only: { type: "string" },
      calls: { type: "string" },
      check: { type: "boolean" },
      "v8-flags": { type: "string" },
      "compare-serving": { type: "boolean" },
      help: { type: "boolean", short: "h" },
    },
  });
  if (values.help) {
    process.stdout.write(USAGE);
    return 0;
  }
  const plan = values.quick ? QUICK : FULL;
  const v8Flags = values["v8-flags"]?.split(" ").filter((flag) => flag !== "") ?? [];
  const only = values.only?.split(",").map((name) => name.trim());
  const unknown = only?.find((name) => !MEASUREMENTS.includes(name));
  if (unknown !== undefined) throw new Error(`--only knows no "${unknown}", but ${MEASUREMENTS.join(", ")}.`);
  const wants = (name: string) => only === undefined || only.includes(name);
  const calls = values.calls === undefined ? plan.memoryCalls : Number(values.calls);
  if (!Number.isInteger(calls) || calls < 1) throw new Error("--calls must be a whole number from 1.");
  const say = (sentence: string) => console.log(sentence);
  const phases: { name: string; startedAt: number }[] = [];
  const begin = (name: string) => {
    phases.push({ name, startedAt: performance.now() });
    say(`${name}…`);
  };
  const endings: (() => unknown)[] = [];
  const extraMs = Math.max(0, calls - plan.memoryCalls) * EXTRA_CALL_MS;

  try {
    begin("Building for production");
    const hello = await buildForProduction("hello");
    const sandbox = await buildForProduction("sandbox");
    const search = await buildForProduction("search");
    await buildForProduction("gateway");
    const startedAt = performance.now();
    const limitMs = plan.limitMs + extraMs;
    const watchdog = setTimeout(() => {
      console.error(`Broken off: not done after ${(limitMs + GRACE_MS) / 1000} s.`);
      process.exit(1);
    }, limitMs + GRACE_MS);
    endings.push(() => clearTimeout(watchdog));

    const version = (await promisify(execFile)(WORKERD, ["--version"])).stdout.trim();
    const machine = describeMachine(version);
    say(`${machine.cpu}, ${machine.cores} cores; ${version}, Node ${machine.node}; load ${machine.load_average[0]}`);
    const folder = await mkdtemp(join(tmpdir(), "skillgate-bench-"));
    const removeFolder = () => rmSync(folder, { recursive: true, force: true });
    // Also when a signal ends the run.
    process.on("exit", removeFolder);
    endings.push(removeFolder);
    const publisher = await startPublisher();
    endings.push(() => publisher.stop());
    const [generator, attacker] = [startGenerator(), startGenerator()];
    endings.push(
      () => generator.stop(),
      () => attacker.stop(),
    );
    const helloProcess = await (await prepareWorkerd(folder, "hello", { worker: hello, v8Flags })).start();
    endings.push(() => helloProcess.stop());

    begin("Setting up the gateway");
    const coldOrigins = Array.from({ length: plan.coldOrigins }, (_, index) => `cold-${index}`);
    const gateway = await prepareGateway(folder, publisher, ["main", "slow", "hostile", ...coldOrigins], v8Flags);
    const main = publisher.origin("main");
    const measured: Partial<Measured> = {};
    if (wants("first")) {
      begin("First request of a fresh process");
      measured.first = await measureFirstRequest(gateway, main, plan.firstRequests);
    }
    let running = await gateway.prepared.start();
    endings.push(() => running.stop());

    const request = (client: "unlimited" | "limited", message: object) =>
      mcpRequest(gateway, { client, origin: main, message, expect: { kind: "any" } });
    const sums = (wanted: number) => (result: unknown) =>
      (result as { structuredContent?: { result?: number } }).structuredContent?.result === wanted;
    const subject = async (
      name: string,
      client: "unlimited" | "limited",
      message: object,
      isRight: (result: unknown) => boolean,
    ): Promise<Subject> => ({
      name,
      port: running.port,
      request: await learn(running, request(client, message), isRight),
    });
    const call = await subject("tools/call", "unlimited", toolCall("sum_numbers", 19.5, 22.5), sums(42));
    const subjects = [
      await subject("ping", "unlimited", { method: "ping" }, (result) => JSON.stringify(result) === "{}"),
      await subject(
        "tools/list",
        "unlimited",
        { method: "tools/list" },
        (result) => (result as { tools?: unknown[] }).tools?.length === LISTED_TOOLS,
      ),
      call,
      await subject("tools/call limited", "limited", toolCall("sum_numbers", 19.5, 22.5), sums(42)),
      await subject("tools/call fetch", "unlimited", toolCall("look_up", 20, 1), sums(20)),
    ];
    const helloSubject: Subject = {
      name: "hello",
      port: helloProcess.port,
      request: { method: "GET", path: "/", headers: {}, expect: { kind: "exact", body: "hello" } },
    };
    await generator.run({ port: running.port, requests: [call.request], concurrency: 8, calls: 2_000 });

    if (wants("cold")) {
      begin("Cold discovery");
      const origins = coldOrigins.map((name) => publisher.origin(name));
      measured.cold = await measureColdDiscovery(gateway, running, origins);
    }

    const rows: Row[] = [];
    const wanted = subjects.filter(({ name }) => wants(name));
    for (const concurrency of wanted.length === 0 ? [] : CONCURRENCIES) {
      begin(`Requests at concurrency ${concurrency}`);
      rows.push(...(await measureRows(generator, helloSubject, wanted, concurrency, plan)));
    }

    const isolation: IsolationRow[] = [];
    const bareIsolation: IsolationRow[] = [];
    if (wants("isolation")) {
      begin("Another tenant beside three attacks");
      for (const attack of attacks(gateway, publisher.origin("slow"), publisher.origin("hostile"), plan.slowMs)) {
        isolation.push(await measureIsolation(generator, attacker, call, attack, plan.isolationMs));
        if (attack.isFlood !== true) continue;
        const onBare = { ...attack, name: "the same flood, of a bare Worker" };
        bareIsolation.push(await measureIsolation(generator, attacker, helloSubject, onBare, plan.isolationMs));
      }
    }
    await running.stop();

    const warm: WarmImage[] = [];
    if (wants(WARM_IMAGE)) {
      begin("The sandbox alone");
      const sandboxProcess = await (await prepareWorkerd(folder, "sandbox", { worker: sandbox, v8Flags })).start();
      endings.push(() => sandboxProcess.stop());
      for (const concurrency of CONCURRENCIES) {
        warm.push(await measureWarmImage(generator, helloSubject, sandboxProcess, concurrency, plan));
      }
      await sandboxProcess.stop();
      rows.push(...warm.map(({ row }) => row));
    }

    if (wants("search")) {
      begin("Search over a memory of 10,000 chunks");
      const prepared = await prepareWorkerd(folder, "search", { worker: search, v8Flags });
      measured.search = await measureSearch(prepared, plan.searches);
    }

    if (wants("local")) {
      begin("The command on stdio");
      measured.local = await measureLocal(main, plan.local);
    }

    if (values["compare-serving"]) begin("Ways of serving");
    const serving = values["compare-serving"] ? await compareServing(generator, hello, helloSubject, plan) : undefined;
    await helloProcess.stop();

    if (wants("first") && wants("cold")) {
      begin("First request while all hubs catch up");
      measured.restart = await measureFirstRequest(gateway, main, plan.firstRequests);
    }

    if (wants("memory")) {
      begin(`Memory over ${calls} calls`);
      running = await gateway.bounded.start();
      const left = limitMs - (performance.now() - startedAt) - RESERVE_MS;
      measured.memory = await measureMemory(generator, gateway, running, main, calls, Math.max(left, RESERVE_MS));
      await running.stop();
    }

    const { cold, first, restart, memory } = measured;
    const floors = judge({ ...measured, rows, warm, isolation });
    const report: Report = {
      machine,
      rows,
      extra: {
        quick: values.quick ?? false,
        v8_flags: { speed: v8Flags, memory: V8_FLAGS.split(" ") },
        seconds: secondsOf(phases),
        load_average_after: describeMachine(version).load_average,
        warm_image_cpu_us: warm.map(({ row, cpuUs, engine }) => ({ concurrency: row.concurrency, ...cpuUs, engine })),
        ...(cold === undefined ? {} : { cold_discovery: cold }),
        ...(first === undefined ? {} : { first_request: first }),
        ...(restart === undefined ? {} : { first_request_while_hubs_catch_up: restart }),
        ...(memory === undefined ? {} : { memory }),
        ...(measured.search === undefined ? {} : { search: measured.search }),
        ...(measured.local === undefined ? {} : { local: measured.local }),
        isolation,
        isolation_of_bare_worker: bareIsolation,
        floors,
        ...(serving === undefined ? {} : { serving }),
      },
    };
    if (values.json !== undefined) {
      await writeFile(resolve(process.env.INIT_CWD ?? ".", values.json), `${JSON.stringify(report, null, 2)}\n`);
    }

    if (rows.length > 0) say(`\n${rowTable(rows)}\n`);
    if (warm.length > 0) {
      const micros = warm.map(({ cpuUs }) => cpuUs.p50).join(", ");
      say(`Warm sandbox call: ${micros} µs of CPU at 1, 8, 32 (${warm[0]?.engine})`);
    }
    if (cold !== undefined) say(`Cold discovery of five skills: ${cold.median_ms} ms`);
    if (measured.search !== undefined) {
      const { first_build_ms, build_ms, query_p50_ms } = measured.search;
      say(
        `Memory of 10,000 chunks: indexed in ${first_build_ms} ms, later ${build_ms} ms; searched in ${query_p50_ms} ms`,
      );
    }
    if (measured.local !== undefined) {
      const { first_answer_p50_ms, call_p50_ms, call_p99_ms } = measured.local;
      say(
        `Command on stdio: first answer after ${first_answer_p50_ms} ms, a call in ${call_p50_ms} ms (p99 ${call_p99_ms})`,
      );
    }
    if (first !== undefined) {
      say(`Fresh process: listens after ${first.process_ready_ms} ms, answers its first call in ${first.median_ms} ms`);
    }
    if (restart !== undefined) {
      say(
        `  after the run, while ${coldOrigins.length + 3} hubs catch up with what they missed: ${restart.median_ms} ms`,
      );
    }
    if (memory !== undefined) {
      say(`Memory: ${memory.after_5000_mib} MiB after 5,000 calls, ${memory.end_mib} MiB after ${memory.calls}`);
      if (memory.calls < calls) say(`  (time was up: ${memory.calls} of ${calls} calls made)`);
    }
    if (isolation.length > 0) say(`\n${isolationTable([...isolation, ...bareIsolation])}\n`);
    if (serving !== undefined) say(`${rowTable(serving)}\n`);
    say(`${floorTable(floors)}\n`);
    if (isolation.some(({ honest_refused }) => honest_refused > 0)) {
      console.error("Honest calls were refused or answered wrongly beside an attack.");
      return 1;
    }
    return values.check && floors.some(({ met }) => !met) ? 1 : 0;
  } finally {
    for (const end of endings.reverse()) await end();
  }
}

/** How long each phase took, and all of them but the first, which builds only what is stale. */
function secondsOf(phases: readonly { readonly name: string; readonly startedAt: number }[]): Record<string, number> {
  const ends = [...phases.slice(1).map(({ startedAt }) => startedAt), performance.now()];
  const seconds = phases.map(({ startedAt }, index) => round(((ends[index] ?? 0) - startedAt) / 1000, 1));
  return {
    ...Object.fromEntries(phases.map(({ name }, index) => [name, seconds[index] ?? 0])),
    total: round(
      seconds.slice(1).reduce((sum, value) => sum + value, 0),
      1,
    ),
  };
}

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => process.exit(130));
// Whoever started us is gone.
if (process.connected) process.on("disconnect", () => process.exit(130));
process.channel?.unref();

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  console.error(`The benchmark failed: ${(error as Error).message}`);
  process.exitCode = 1;
}
