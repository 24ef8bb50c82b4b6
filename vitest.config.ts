import { cloudflareTest, readD1Migrations } from "@cloudflare/vitest-plugin";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { buildDashboard, DASHBOARD_JSX } from "./src/dev/dashboard/build.ts";
import { buildDemo } from "./src/dev/demo/build.ts";

const COMPATIBILITY = {
  compatibilityDate: "2026-11-01",
  compatibilityFlags: ["nodejs_compat", "enable_request_signal"],
};

/** The end-to-end files that take longest: begun last, one would run on while the other worker has nothing left. */
const LONG = ["endurance", "console-screens", "clients", "console-life", "hostile", "matrix", "start", "publishers"];

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification) => {
      const index = LONG.findIndex((name) => moduleId.endsWith(`/e2e/${name}.test.ts`));
      return index === -1 ? LONG.length : index;
    };
    return (await super.sort(files)).toSorted((a, b) => place(a) - place(b));
  }
}

/** The bare workerd has no wrangler.toml to tell it what a WebAssembly file is. */
const WASM_MODULES = [{ type: "CompiledWasm" as const, include: ["**/*.wasm"] }];

/** wrangler.toml, once the console's files that it binds are there. */
async function builtConfiguration(): Promise<string> {
  await buildDashboard();
  await buildDemo();
  return "./wrangler.toml";
}

/**
 * Four projects: `core` runs unit tests of the core in a bare workerd, `gateway` in a workerd with the bindings of wrangler.toml,
 * `node` in Node (sandbox suites run there a second time), `e2e` in Node against running gateways. Nothing needs the machine alone: what
 * measures memory looks at its own gateway's process, and what waits for a bound of time asks once it has passed.
 */
export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        plugins: [cloudflareTest({ miniflare: { ...COMPATIBILITY, modulesRules: WASM_MODULES } })],
        // The corpus of archives reaches workerd as data URLs.
        assetsInclude: ["test/archives/*.gz", "test/archives/*.zip"],
        test: {
          name: "core",
          testTimeout: 20_000,
          // One workerd for all files, one file after the other: starting one and loading the code costs more than the tests.
          isolate: false,
          fileParallelism: false,
          include: ["src/core/**/*.test.ts"],
          exclude: ["**/*.node.test.ts"],
        },
      },
      {
        plugins: [
          cloudflareTest(async () => ({
            wrangler: { configPath: await builtConfiguration() },
            miniflare: {
              bindings: {
                TEST_MIGRATIONS: await readD1Migrations("./migrations"),
                SERVICE_ORIGINS: "https://bound.example=BOUND_PUBLISHER",
              },
              serviceBindings: { BOUND_PUBLISHER: "bound-publisher", BROKEN_D1: "broken-d1" },
              d1Databases: { EMPTY_DB: "empty" },
              durableObjects: { BROKEN_OBJECT: { className: "BrokenObject", scriptName: "test-publishers" } },
              // Whatever the gateway fetches goes to this Worker, never to the network.
              outboundService: "test-publishers",
              workers: [
                {
                  name: "bound-publisher",
                  ...COMPATIBILITY,
                  modules: true,
                  scriptPath: "./test/workerd/bound-publisher.mjs",
                },
                { name: "broken-d1", ...COMPATIBILITY, modules: true, scriptPath: "./test/workerd/broken-d1.mjs" },
                {
                  name: "test-publishers",
                  ...COMPATIBILITY,
                  modules: true,
                  scriptPath: "./test/workerd/publishers.mjs",
                  durableObjects: { BROKEN_OBJECT: { className: "BrokenObject", useSQLite: true } },
                },
              ],
            },
          })),
        ],
        test: {
          name: "gateway",
          testTimeout: 20_000,
          // As in `core`.
          isolate: false,
          fileParallelism: false,
          include: ["src/gateway/**/*.test.ts", "test/workerd/**/*.test.ts"],
          exclude: ["**/*.node.test.ts"],
        },
      },
      {
        oxc: DASHBOARD_JSX,
        test: {
          name: "node",
          environment: "node",
          testTimeout: 20_000,
          include: ["{src,publishers,dashboard}/**/*.node.test.ts", "test/node/**/*.test.ts"],
        },
      },
      {
        test: {
          name: "e2e",
          environment: "node",
          include: ["test/e2e/**/*.test.ts"],
          maxWorkers: 2,
          testTimeout: 60_000,
          hookTimeout: 120_000,
        },
      },
    ],
  },
});
