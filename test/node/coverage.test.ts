import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { DEFAULT_DISCOVERY_LIMITS, DEFAULT_SANDBOX_LIMITS } from "../../src/core/limits.ts";
import { ERRORS } from "../../src/gateway/errors.ts";

const ROOT = new URL("../..", import.meta.url).pathname;

/** The severe faults of the reference gateway that these parts could have. */
const SEVERE_FAULTS = ["A", "B", "C", "D", "E", "F", "G", "H", "I", "J"].map((letter) => `10.1-${letter}`);

/** Its other faults that these parts could have. The rest stand in {@link NOT_YET}. */
const OTHER_FAULTS = [
  "10.2-stampede",
  "10.2-deploy-race",
  "10.2-discovery-deadline",
  "10.2-wall-deadline",
  "10.2-promise-jobs",
  "10.2-truncation",
  "10.2-body-bytes",
  "10.2-stalled-body",
  "10.2-index-scope",
  "10.2-bom",
  "10.2-invalid-utf8",
  "10.2-crlf",
  "10.2-unverified-recipe",
  "10.2-rpm-zero",
  "10.2-client-id-header",
  "10.2-cors-exposed",
  "10.2-preflight",
  "10.2-get-mcp",
  "10.2-id-less",
  "10.2-batch",
  "10.2-negotiation",
  "10.2-unknown-tool",
  "10.2-download-cap",
  "10.2-bookstore-order",
  "10.2-dispatch",
  "10.2-help-page",
  "10.2-double-burst",
  "10.2-binding-timeout",
  "10.2-attest",
  "10.2-validate",
  "10.2-attestation-header",
  "10.2-serve",
];

/** What that gateway once had and mended, as far as these parts could have it. */
const MENDED_FAULTS = [
  "10.4-1042",
  "10.4-T10",
  "10.4-T12",
  "10.4-T12B",
  "10.4-T13",
  "10.4-T15",
  "10.4-T16b",
  "10.4-T17",
  "10.4-T19",
  "10.4-T20",
  "10.4-T21",
  "10.4-T22",
  "10.4-T23",
  "10.4-T25",
  "10.4-T26",
  "10.4-T28",
  "10.4-T38",
  "10.4-T40",
  "10.4-T42",
  "10.4-8624718",
  "10.4-c29c809",
  "10.4-08abf77",
  "10.4-b77fe77",
  "10.4-fa5eda3",
  "10.4-555416d",
  "10.4-b283e85",
  "10.4-2732ed5",
];

/** What Agent Skills v0.2.0 publishing must do: its behaviours, and faults that another implementation had. */
const PUBLISHING = [...numbered("skills-8.", 1, 50), ...numbered("skills-R", 1, 30)];

function numbered(prefix: string, first: number, last: number): string[] {
  return Array.from({ length: last - first + 1 }, (_, index) => `${prefix}${first + index}`);
}

/** Known faults without a test of their own here, and why. One that gets its test must leave this list. */
const NOT_YET: Readonly<Record<string, string>> = {
  "skills-8.51": "is about a document of another gateway's own; see the deviations in ARCHITECTURE.md",
  "10.4-T7": "there is no interrupt deadline: gas is set before the first instruction of the prelude",
  "10.4-T37": "there is no such setting: clients are rows, and a setting that is not understood is bad_setting",
  "10.4-33d71a7": "no deadline switches gas off: 10.4-T12B runs with the longest one that may be set",
  "10.4-ee6988c": "needs the browser runtime",
};

/** The id under which each limit's edge is tested. */
const BUDGETS: Readonly<Record<keyof typeof DEFAULT_DISCOVERY_LIMITS | keyof typeof DEFAULT_SANDBOX_LIMITS, string[]>> =
  {
    llmsTxtBytes: ["llms.txt"],
    indexBytes: ["index.json"],
    recipeBytes: ["SKILL.md"],
    attestationsBytes: ["attestations.json"],
    toolBytes: ["tool.js"],
    snapshotBytes: ["snapshot"],
    skills: ["skills"],
    memories: ["memories"],
    memoryBytes: ["memory-bytes"],
    releaseBytes: ["release"],
    deadlineMs: ["discovery-deadline"],
    concurrency: ["concurrency"],
    redirects: ["redirects"],
    gas: ["discovery-gas"],
    guestMemoryBytes: ["guest-memory"],
    linearMemoryBytes: ["linear-memory"],
    guestStackBytes: ["guest-stack"],
    callGas: ["call-gas"],
    loadGas: ["load-gas"],
    gasExhaustionsPerMinute: ["gas-exhaustions"],
    imageBytes: ["image"],
    imageCacheBytes: ["image-cache"],
    callTimeoutMs: ["call-timeout"],
    resultBytes: ["result"],
    definitionBytes: ["definition"],
    fetchCalls: ["fetch-calls"],
    // Discovery and `host.fetchOrigin` each have one of this name.
    fetchTimeoutMs: ["discovery-fetch-timeout", "fetch-timeout"],
    fetchRequestBytes: ["fetch-request"],
    fetchResponseBytes: ["fetch-response"],
    memorySearchCalls: ["memory-search-calls"],
    memorySearchQueryBytes: ["memory-search-query"],
    poolSize: ["pool-size"],
    poolWaitMs: ["pool-wait"],
    poolMemoryBytes: ["pool-memory"],
    keepInstanceBytes: ["keep-instance"],
  };

/** The sources of all tests, this file excepted. */
function testSources(): string {
  const sources: string[] = [];
  const visit = (folder: string) => {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) {
        if (entry.name !== "node_modules" && entry.name !== "generated") visit(path);
      } else if (/\/suites\/[^/]+\.ts$|\.test\.ts$/.test(path) && !path.endsWith("/coverage.test.ts")) {
        sources.push(readFileSync(path, "utf8"));
      }
    }
  };
  for (const folder of ["src", "test", "publishers"]) visit(join(ROOT, folder));
  return sources.join("\n");
}

const SOURCES = testSources();

/** True where a test's or a suite's title begins with the id. */
function titled(id: string): boolean {
  return new RegExp(`["'\`]\\[${id.replaceAll(".", "\\.")}\\]`).test(SOURCES);
}

/** True where the id stands anywhere in a title, beside others. */
function mentioned(id: string): boolean {
  return SOURCES.includes(`[${id}]`);
}

describe("every known fault is a test that begins with its id", () => {
  it.each([...SEVERE_FAULTS, ...OTHER_FAULTS])("%s", (id) => expect(titled(id)).toBe(true));
});

it.each(MENDED_FAULTS)("the mended fault %s has a test", (id) => expect(mentioned(id)).toBe(true));

it.each(PUBLISHING)("the behaviour %s of publishing has a test", (id) => expect(mentioned(id)).toBe(true));

it.each(Object.entries(NOT_YET))("%s has no test yet: %s", (id) => expect(mentioned(id)).toBe(false));

it.each(Object.keys(ERRORS))("the gateway's code %s is reached by a test", (code) => {
  expect(mentioned(`code:${code}`)).toBe(true);
});

it.each([...Object.keys(DEFAULT_DISCOVERY_LIMITS), ...Object.keys(DEFAULT_SANDBOX_LIMITS)])(
  "the limit %s is tested at its edge",
  (limit) => {
    const ids = BUDGETS[limit as keyof typeof BUDGETS];
    expect(ids, "a limit without an id in this file").toBeDefined();
    for (const id of ids) expect(mentioned(`budget:${id}`), id).toBe(true);
  },
);

it("the request body is tested at its edge", () => expect(mentioned("budget:request-body")).toBe(true));
