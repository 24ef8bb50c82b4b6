// The publishers of the gateway's tests: one auxiliary Worker that answers every host the Worker under test fetches. The host says what
// kind of publisher it is: `<kind>-<anything>.example`, so that each test has an origin, a hub and a count of its own.
import { DurableObject } from "cloudflare:workers";

const SUM = `registerTool({
  name: "sum_numbers",
  description: "Adds two numbers.",
  inputSchema: { type: "object", properties: { a: { type: "number" }, b: { type: "number" } }, required: ["a", "b"] },
  handler({ a, b }) { return a + b; },
});`;
const ECHO = `registerTool({
  name: "fetch_twice",
  handler() { return [host.fetchOrigin("/api/one").body, host.fetchOrigin("/api/two").body]; },
});`;
const BURN = `registerTool({ name: "burn", handler() { for (;;) {} } })`;
const SLOW = `registerTool({
  name: "slow",
  async handler() { return (await host.fetchOrigin("/api/slow")).body; },
});`;

/** Scripts of about 90 million units of gas each, which is near what one load may take: two fit into one discovery. */
const LABORIOUS = Object.fromEntries(
  ["one", "two", "three"].map((name) => [
    name,
    `for (let i = 0; i < 9_900_000; i++);\nregisterTool({ name: "${name}", handler: () => 1 });`,
  ]),
);

/** 60 scopes that share one tool, each with a recipe of 262,002 bytes of its own: 16 MiB less a little. */
const HUGE = Array.from({ length: 60 }, (_, i) => `# ${i} → `.padEnd(262_000, "x"));

/** Requests by host and path, and what a test has set with PUT `/__mode`. Lives as long as the Worker. */
const seen = new Map();
const modes = new Map();
/** Files by host and path: what a test has set with PUT `/__files`, for publishers of the kind "files". */
const files = new Map();

export default {
  async fetch(request) {
    const url = new URL(request.url);
    if (url.pathname === "/__seen") return Response.json(seen.get(url.host) ?? {});
    if (url.pathname === "/__files") {
      files.set(url.host, await request.json());
      return new Response(null, { status: 204 });
    }
    if (url.pathname === "/__mode") {
      modes.set(url.host, await request.text());
      return new Response(null, { status: 204 });
    }
    const counts = seen.get(url.host) ?? {};
    counts[url.pathname] = (counts[url.pathname] ?? 0) + 1;
    seen.set(url.host, counts);
    return answer(url, modes.get(url.host) ?? url.host.split("-")[0], request.headers.get("traceparent"));
  },
};

async function answer(url, kind, traceparent) {
  if (url.pathname === "/api/trace") return new Response(traceparent ?? "none");
  if (url.pathname.startsWith("/api/")) return api(url);
  if (kind === "down") return new Response("the database password is hunter2", { status: 500 });
  if (kind === "page") return new Response("<!doctype html><title>Back soon</title>");
  if (kind === "files") {
    const file = files.get(url.host)?.[url.pathname];
    if (file === null) return new Response("out of order", { status: 503 });
    return file === undefined ? new Response("not found", { status: 404 }) : new Response(file);
  }
  if (kind === "huge") return huge(url);
  if (kind === "scoped") return scoped(url);
  const tools =
    kind === "laborious"
      ? LABORIOUS
      : {
          sum_numbers: SUM,
          fetch_twice: ECHO,
          ...(kind === "slow" ? { slow: SLOW } : {}),
          ...(kind === "burning" ? { burn: BURN } : {}),
        };
  switch (url.pathname) {
    case "/llms.txt":
      if (kind === "lazy") await new Promise((resolve) => setTimeout(resolve, 300));
      // Until a test makes it another kind.
      while (kind === "waiting" && !modes.has(url.host)) await new Promise((resolve) => setTimeout(resolve, 5));
      if (kind === "prose") return new Response("# Only prose\n\n## Skills\n\n- [a](/a): a link\n");
      return new Response(await llmsTxt(tools, kind === "bad" ? () => "0".repeat(64) : sha256));
    default: {
      const source = tools[url.pathname.slice("/tools/".length, -".js".length)];
      return source === undefined ? new Response("not found", { status: 404 }) : new Response(source);
    }
  }
}

async function huge(url) {
  if (url.pathname === "/tools/sum_numbers.js") return new Response(SUM);
  const recipe = HUGE[Number(/^\/skills\/(\d+)\/SKILL\.md$/.exec(url.pathname)?.[1])];
  if (recipe !== undefined) return new Response(recipe);
  if (url.pathname !== "/llms.txt") return new Response("not found", { status: 404 });
  const tool_sha256 = await sha256(SUM);
  const lines = HUGE.map(async (text, i) => {
    const metadata = { scope: `s${i}`, tool: "/tools/sum_numbers.js", tool_sha256, sha256: await sha256(text) };
    return `- [sum_numbers](/skills/${i}/SKILL.md): Sum <!-- skill: ${JSON.stringify(metadata)} -->`;
  });
  return new Response(`# Huge\n\n## Skills\n\n${(await Promise.all(lines)).join("\n")}\n`);
}

/** Three skills of one name, told apart by their scopes alone. */
async function scoped(url) {
  const source = (scope) => `registerTool({ name: "s", handler: () => "of ${scope}" });`;
  const scope = /^\/tools\/(alpha|beta|none)\.js$/.exec(url.pathname)?.[1];
  if (scope !== undefined) return new Response(source(scope));
  if (url.pathname !== "/llms.txt") return new Response("not found", { status: 404 });
  const line = async (scope) => {
    const metadata = { tool: `/tools/${scope}.js`, tool_sha256: await sha256(source(scope)) };
    const scopes = scope === "none" ? {} : { scope };
    return `- [s](): The skill of ${scope} <!-- skill: ${JSON.stringify({ ...scopes, ...metadata })} -->`;
  };
  const lines = await Promise.all(["alpha", "beta", "none"].map(line));
  return new Response(`# Scoped\n\n## Skills\n\n${lines.join("\n")}\n`);
}

async function api(url) {
  if (url.pathname === "/api/slow") await new Promise((resolve) => setTimeout(resolve, 1_500));
  return new Response(url.pathname);
}

async function llmsTxt(tools, hash) {
  const lines = [];
  for (const [name, source] of Object.entries(tools)) {
    const metadata = JSON.stringify({ version: "1.0.0", tool: `/tools/${name}.js`, tool_sha256: await hash(source) });
    lines.push(`- [${name}](/skills/${name}/SKILL.md): The tool ${name} <!-- skill: ${metadata} -->`);
  }
  return `# Test publisher\n\n## Skills\n\n${lines.join("\n")}\n`;
}

async function sha256(text) {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** A Durable Object that fails in every way it is asked. */
export class BrokenObject extends DurableObject {
  take() {
    throw new Error("broken");
  }
  ping() {
    throw new Error("broken");
  }
  get() {
    throw new Error("broken");
  }
}
