import type { LookupAddress } from "node:dns";
import { expect, it } from "vitest";
import { startLoopbackPublisher } from "./fixture/loopback-publisher.ts";
import { connectTo, readOrigin } from "./origin-connection.ts";

/** Asks an origin whose name leads to these addresses; answers why it failed. */
async function failure(origin: string, ...addresses: string[]): Promise<string> {
  const answer = addresses.map((address): LookupAddress => ({ address, family: address.includes(":") ? 6 : 4 }));
  await using connection = connectTo(readOrigin(origin), (_name, _options, done) => done(null, answer));
  const failed = await connection.fetch(`${origin}/llms.txt`, { redirect: "manual" }).catch((error: Error) => error);
  return failed instanceof Error ? failed.message : `answered ${failed.status}`;
}

it.each(["10.0.0.1", "127.0.0.1", "169.254.169.254", "100.64.0.1", "::1", "fd00::1", "::ffff:192.168.0.1"])(
  "never connects a public name to %s",
  async (address) => {
    expect(await failure("https://publisher.example", address)).toBe(
      `The name publisher.example leads to ${address}, which is not a public address.`,
    );
  },
);

it("connects a loopback name to this machine alone", async () => {
  const closed = await startLoopbackPublisher();
  await closed[Symbol.asyncDispose]();
  const origin = closed.publisher.origin.replace("127.0.0.1", "localhost");
  expect(await failure(origin, "93.184.216.34")).toContain("which is not this machine");
  expect(await failure(origin, "127.0.0.1")).toBe("The origin could not be reached (ECONNREFUSED).");
});
