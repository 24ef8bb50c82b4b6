import { expect, it, vi } from "vitest";
import { HeldBytes } from "./held-bytes.ts";
import { slowBody } from "./slow-body.ts";

it("[budget:held-bytes] holds no more than there is, and lets the next one in when something is given back", async () => {
  const held = new HeldBytes(100);
  const [first, second] = [await held.take(60, "a"), await held.take(40, "b")];
  expect(held.bytes).toBe(100);
  const third = held.take(1, "c");
  await new Promise((resolve) => setTimeout(resolve, 60));
  expect(held.bytes).toBe(100);
  second?.keep(39);
  expect(await third).not.toBeNull();
  first?.release();
  first?.release();
  expect(held.bytes).toBe(40);
});

it("refuses who waited two seconds in vain", async () => {
  const held = new HeldBytes(100);
  await held.take(100, "a");
  expect(await held.take(1, "b")).toBeNull();
  expect(held.bytes).toBe(100);
});

it("leaves half to others, however much one asks for", async () => {
  const held = new HeldBytes(100);
  await held.take(50, "a");
  const [more, other] = [held.take(1, "a"), held.take(50, "b")];
  expect(await other).not.toBeNull();
  expect(await more).toBeNull();
});

it("gives what is larger than all to one at a time", async () => {
  const held = new HeldBytes(100);
  const large = await held.take(300, "a");
  const next = held.take(300, "b");
  await new Promise((resolve) => setTimeout(resolve, 60));
  expect(held.bytes).toBe(300);
  large?.release();
  expect(await next).not.toBeNull();
});

it("forgets after 90 s what a cancelled request never gave back", async () => {
  let now = 1_000_000;
  const held = new HeldBytes(100, () => now);
  await held.take(100, "a");
  now += 90_001;
  expect(await held.take(100, "b")).not.toBeNull();
  expect(held.bytes).toBe(100);
});

it("[budget:large-reads] lets one that holds more than half give way after 10 s to who waits, and not while nobody does", async () => {
  let now = 1_000_000;
  const held = new HeldBytes(100, () => now);
  const large = await held.take(90, "slow");
  let ends = 0;
  const body = slowBody(
    "x".repeat(300_000),
    () => {
      ends++;
      large?.release();
    },
    () => large?.isWanted ?? false,
  ).getReader();
  await body.read();
  now += 10_000;
  expect(await held.take(20, "other")).toBeNull();
  expect(ends).toBe(0);
  now += 1;
  expect(large?.isWanted).toBe(false);
  expect(await held.take(20, "other")).not.toBeNull();
  expect([ends, held.bytes]).toEqual([1, 20]);
  await expect(body.read()).rejects.toThrow("was not read within");
});

it("[budget:large-reads] gives its room away where its request was cancelled and does not hear of it", async () => {
  let now = 1_000_000;
  const held = new HeldBytes(100, () => now);
  const large = await held.take(90, "gone");
  now += 10_001;
  const other = held.take(20, "other");
  await vi.waitFor(() => expect(large?.isWanted).toBe(true), 10_000);
  now += 1_501;
  expect(await other).not.toBeNull();
  expect(held.bytes).toBe(20);
});

it("leaves a hold of half or less its time, however many wait", async () => {
  let now = 1_000_000;
  const held = new HeldBytes(100, () => now);
  const half = await held.take(50, "a");
  now += 60_000;
  expect(await held.take(60, "b")).toBeNull();
  expect([half?.isWanted, held.bytes]).toEqual([false, 50]);
});

it("hands a text over whole, character by character, and says when it has left", async () => {
  const text = `${"é".repeat(65_535)}${"😀".repeat(70_000)}`;
  let ends = 0;
  const body = slowBody(text, () => ends++);
  const reader = body.getReader();
  const first = await reader.read();
  expect(first.value?.length).toBeLessThan(200_000);
  expect(ends).toBe(0);
  let read = new TextDecoder().decode(first.value);
  for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read())
    read += new TextDecoder().decode(chunk.value);
  expect(read === text).toBe(true);
  expect(ends).toBe(1);
});

it("says it also where the reader goes away", async () => {
  let ends = 0;
  const reader = slowBody("x".repeat(200_000), () => ends++).getReader();
  await reader.read();
  await reader.cancel();
  expect(ends).toBe(1);
});
