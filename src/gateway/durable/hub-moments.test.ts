import { runInDurableObject } from "cloudflare:test";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { addOrigin, become, env, hubHasWritten, migrate, seen } from "../../../test/workerd/gateway-fixture.ts";
import type { CanonicalOrigin } from "../../core/origin.ts";
import { PolicyCache } from "../auth/policy.ts";
import { askHub, reconsiderHub, withdrawAtHub } from "../releases/hub-client.ts";
import { forgetHeldReleases } from "./held-release.ts";
import { OriginHub } from "./origin-hub.ts";

beforeAll(migrate);

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

async function newOrigin() {
  vi.useFakeTimers({ toFake: ["Date"] });
  const { host, origin } = await addOrigin();
  const name = origin as CanonicalOrigin;
  return {
    ...{ host, origin: name },
    stub: env.ORIGIN_HUB.get(env.ORIGIN_HUB.idFromName(origin)),
    ask: async () => {
      const answer = await askHub(env, name, null);
      return answer.ok ? answer.state : answer.failure.code;
    },
    fetches: () => seen(host, "/llms.txt"),
  };
}

const pass = (ms: number) => vi.setSystemTime(Date.now() + ms);

describe("an origin that fails while its hub follows a decision", () => {
  it("[budget:failure-memory] is asked once in 10 s all the same", async () => {
    const { ask, fetches, host, origin } = await newOrigin();
    expect(await ask()).toBe("miss");
    await become(host, "down");
    pass(105_001);
    const original = PolicyCache.prototype.originNow;
    let open = () => {};
    const gate = new Promise<void>((resolve) => {
      open = resolve;
    });
    vi.spyOn(PolicyCache.prototype, "originNow").mockImplementationOnce(async function (this: PolicyCache, name) {
      const found = await original.call(this, name);
      await gate;
      return found;
    });
    const reconsidering = reconsiderHub(env, origin);
    await vi.waitFor(() => expect(PolicyCache.prototype.originNow).toHaveBeenCalledOnce(), 10_000);
    const first = ask();
    await vi.waitFor(async () => expect(await fetches()).toBe(2), 10_000);
    open();
    expect(await first).toBe("stale");
    await reconsidering;
    pass(9_000);
    expect(await ask()).toBe("stale");
    expect(await fetches()).toBe(2);
  });
});

describe("a hub that ends right after its answer", () => {
  it("serves nothing of what was withdrawn, though less than that was written down", async () => {
    const { ask, host, origin, stub } = await newOrigin();
    expect(await ask()).toBe("miss");
    await hubHasWritten(origin);
    await become(host, "down");
    await withdrawAtHub(env, origin);
    // What the next object of this name finds in the storage at this moment.
    const next = await runInDurableObject(stub, async (_hub, state) => {
      forgetHeldReleases();
      return new OriginHub(state, env).get(origin, null);
    });
    expect(next).toMatchObject({ ok: false });
  });
});
