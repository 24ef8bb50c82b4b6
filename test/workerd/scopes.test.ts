import { evictDurableObject } from "cloudflare:test";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { ColoCache } from "../../src/gateway/releases/colo-cache.ts";
import { releases } from "../../src/gateway/releases/release-cache.ts";
import { become, env, migrate } from "./gateway-fixture.ts";
import { addReviewer, approve, type Published, startPublisher } from "./trust-fixture.ts";

beforeAll(migrate);

afterEach(() => {
  vi.useRealTimers();
});

const pass = (ms: number) => vi.setSystemTime(Date.now() + ms);
const SEARCH = "host.memorySearch === undefined ? 'no memory' : host.memorySearch('tea').hits[0].text";

const inScope = (scope: string, answer: string): Published => ({
  name: "s",
  scope,
  answer,
  handler: `"${answer}: " + (${SEARCH})`,
  recipe: `# Recipe of ${scope}, ${answer}`,
});

/**
 * One name in three scopes. The first has no memory and is attested; the second has a memory and is not attested; the third runs the code
 * of the first, whose attestation is thus its own too, over a memory of its own.
 */
async function scoped(row: Parameters<typeof startPublisher>[0] = {}) {
  vi.useFakeTimers({ toFake: ["Date"] });
  const publisher = await startPublisher(row);
  const ada = await addReviewer("ada");
  const skills = [inScope("alpha", "one"), inScope("beta", "two"), inScope("gamma", "one")] as const;
  const entry = await ada.sign(publisher.origin, skills[0]);
  const memories = { beta: "The tea of beta", gamma: "The tea of gamma" };
  await publisher.publish(skills, [entry], memories);
  return { publisher, skills, entry, memories };
}

type Scoped = Awaited<ReturnType<typeof scoped>>["publisher"];

async function expectAllRight(publisher: Scoped): Promise<void> {
  expect(await publisher.tools()).toEqual([
    "alpha__s: Says one. [attestation: attested]",
    "beta__s: Says two. [attestation: unattested]",
    "gamma__s: Says one. [attestation: attested]",
  ]);
  expect(await publisher.value("alpha__s")).toBe("one: no memory");
  expect(await publisher.value("beta__s")).toBe("two: The tea of beta");
  expect(await publisher.value("gamma__s")).toBe("one: The tea of gamma");
  expect(await publisher.value("s")).toBe(-32602);
  expect(await publisher.recipes()).toEqual(["skill://alpha__s", "skill://beta__s", "skill://gamma__s"]);
  expect(await publisher.guide("beta__s")).toBe("# Recipe of beta, two");
  expect(await publisher.guide("gamma__s")).toBe("# Recipe of gamma, one");
  expect((await publisher.tools({ ATTESTATION_MODE: "enforcing" })).map((line) => line.split(":")[0])).toEqual([
    "alpha__s",
    "gamma__s",
  ]);
}

describe("skills of one name in scopes of their own", () => {
  it("[10.1-D] keep verdict, memory and recipe apart in an isolate that is fed by any layer", async () => {
    const { publisher } = await scoped({ pin: "off" });
    const hub = env.ORIGIN_HUB.get(env.ORIGIN_HUB.idFromName(publisher.origin));
    const freshIsolate = async () => {
      releases.clear();
    };
    const layers: readonly [state: string, prepare: () => Promise<void>][] = [
      ["miss", async () => undefined],
      ["hit", async () => undefined],
      ["l2", freshIsolate],
      [
        "hub",
        async () => {
          await freshIsolate();
          await new ColoCache().forget(publisher.origin);
          await evictDurableObject(hub);
        },
      ],
      [
        "stale",
        async () => {
          await become(publisher.host, "down");
          pass(105_001);
        },
      ],
      ["stale", freshIsolate],
    ];
    for (const [state, prepare] of layers) {
      await prepare();
      expect((await publisher.list()).headers.get("X-Gw-Discovery")).toBe(state);
      await expectAllRight(publisher);
    }
  });

  it("[10.1-D] keep them apart where approved versions are held beside newer ones, also in a fresh isolate", async () => {
    const { publisher, skills, entry, memories } = await scoped({ pin: "hold" });
    for (const skill of skills) await approve(publisher.id, skill);
    await expectAllRight(publisher);
    const newer = ["alpha", "beta", "gamma"].map((scope) => inScope(scope, "three"));
    await publisher.publish(newer, [entry], memories);
    pass(105_001);
    await expectAllRight(publisher);
    for (const forgetColo of [false, true]) {
      releases.clear();
      if (forgetColo) await new ColoCache().forget(publisher.origin);
      await expectAllRight(publisher);
    }
  });

  it("see the memory of their own scope alone: where that is gone, the others stay", async () => {
    const { publisher, skills, entry } = await scoped({ pin: "off" });
    await publisher.publish(skills, [entry], { gamma: "The tea of gamma" });
    expect(await publisher.value("beta__s")).toBe("two: no memory");
    expect(await publisher.value("gamma__s")).toBe("one: The tea of gamma");
  });

  it("[10.1-D] give the public name to the first line that holds, whatever the scopes", async () => {
    const publisher = await startPublisher({ pin: "off" });
    const first = { ...inScope("a", "first"), name: "b__s" };
    const second = { ...inScope("a__b", "second"), name: "s" };
    await publisher.publish([first, second]);
    expect(await publisher.tools()).toEqual(["a__b__s: Says first. [attestation: unattested]"]);
    expect(await publisher.value("a__b__s")).toBe("first: no memory");
    expect(await publisher.guide("a__b__s")).toBe("# Recipe of a, first");
  });
});
