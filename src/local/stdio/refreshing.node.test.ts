import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { Publisher } from "../../core/discovery/fixture/publisher.ts";
import { Runtime, type RuntimeOptions } from "../../core/runtime/runtime.ts";
import { PinFile } from "../lock/pin-file.ts";
import { createNodeSandboxLater } from "../node-sandbox.ts";
import { keepRefreshing } from "./refreshing.ts";

const sandbox = createNodeSandboxLater();

/** A runtime, and its next change of what there is. */
async function runtimeOf(publishers: readonly Publisher[], options: Partial<RuntimeOptions> = {}) {
  let tell = () => {};
  const runtime = await Runtime.create({
    ...{ origins: publishers.map(({ origin, fetch }) => ({ origin, fetch })), sandbox, patienceMs: 1 },
    ...options,
    onEvent: ({ kind }) => {
      if (kind === "list_changed") tell();
    },
  });
  const changed = () => new Promise<void>((resolve) => (tell = resolve));
  const tools = async () => (await runtime.provide()).tools.map(({ name }) => name);
  return { runtime, changed, tools };
}

it("looks again every so often at an origin that is well", async () => {
  const publisher = await new Publisher().skill({ name: "sum" });
  const { runtime, changed, tools } = await runtimeOf([publisher]);
  using _refreshing = keepRefreshing(runtime, 10);
  expect(await tools()).toEqual(["sum"]);
  const next = changed();
  await publisher.skill({ name: "more" });
  await next;
  expect(await tools()).toEqual(["sum", "more"]);
});

it("tries an origin again that failed, and looks at the others when it is told to, while one hangs", async () => {
  const hanging = new Publisher("https://hanging.example").put("/llms.txt", () => new Promise<Response>(() => {}));
  const good = await new Publisher("https://good.example").skill({ name: "sum" });
  const failing = await new Publisher("https://failing.example").skill({ name: "sum" });
  failing.put("/llms.txt", new Response("down", { status: 503 }));
  const { runtime, changed, tools } = await runtimeOf([hanging, good, failing]);
  using refreshing = keepRefreshing(runtime, null);
  expect(await tools()).toEqual(["good_example__sum"]);
  const recovered = changed();
  failing.put("/llms.txt", failing.llmsTxt());
  await recovered;
  expect(await tools()).toEqual(["good_example__sum", "failing_example__sum"]);
  const more = changed();
  await good.skill({ name: "more" });
  refreshing.now();
  await more;
  expect(await tools()).toContain("good_example__more");
  runtime.close();
});

it("tries again to pin what could not be pinned, though other skills are served", async () => {
  const folder = await mkdtemp(join(tmpdir(), "skillgate-refreshing-"));
  const file = join(folder, "skills.lock");
  try {
    const options = { file, cwd: "/", isUpdate: false, isFrozen: false, now: Date.now, onPinned: () => {} };
    const publisher = await new Publisher().skill({ name: "sum" });
    const first = await runtimeOf([publisher], { checkPins: (await PinFile.open(options)).check });
    expect(await first.tools()).toEqual(["sum"]);
    await publisher.skill({ name: "more" });
    const inTheWay = `${file}.skillgate-lock`;
    await writeFile(inTheWay, "somebody else's");
    const { runtime, changed, tools } = await runtimeOf([publisher], {
      checkPins: (await PinFile.open(options)).check,
    });
    using _refreshing = keepRefreshing(runtime, null);
    expect(await tools()).toEqual(["sum"]);
    expect(runtime.statuses).toMatchObject([{ refused: [{ name: "more", code: "pin_not_kept" }] }]);
    const next = changed();
    await rm(inTheWay);
    await next;
    expect(await tools()).toEqual(["sum", "more"]);
  } finally {
    await rm(folder, { recursive: true });
  }
});
