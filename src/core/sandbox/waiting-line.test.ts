import { expect, it } from "vitest";
import { type Tenant, WaitingLine } from "./waiting-line.ts";

const A: Tenant = { client: "a", origin: "x" };
const B: Tenant = { client: "b", origin: "y" };

it("lets a newcomer pass only what those before it leave free", () => {
  const line = new WaitingLine(4, () => 0);
  expect(line.mayPass(null, A, [])).toBe(true);
  line.join(A);
  line.join(A);
  expect(line.mayPass(null, A, [A, A])).toBe(false); // two free, two wait
  expect(line.mayPass(null, A, [A])).toBe(true); // three free
});

it("holds a tenant to half of the pool only while another one waits", () => {
  const line = new WaitingLine(4, () => 0);
  const first = line.join(A);
  expect(line.mayPass(first, A, [A, A, A])).toBe(true);
  const second = line.join(B);
  expect(line.mayPass(first, A, [A, A, A])).toBe(false);
  expect(line.mayPass(second, B, [A, A, A])).toBe(true);
  expect(line.mayPass(first, A, [A])).toBe(true);
});

it("counts the same origin of different clients together", () => {
  const line = new WaitingLine(2, () => 0);
  const first = line.join({ client: "c", origin: "x" });
  const second = line.join(B);
  expect(line.mayPass(first, first.tenant, [A])).toBe(false);
  expect(line.mayPass(second, B, [A])).toBe(true);
});

it("forgets a waiter that has not looked for a quarter of a second", () => {
  let now = 0;
  const line = new WaitingLine(1, () => now);
  line.join(A);
  expect(line.mayPass(null, B, [])).toBe(false);
  now = 250;
  expect(line.mayPass(null, B, [])).toBe(false);
  now = 251;
  expect(line.mayPass(null, B, [])).toBe(true);
  expect(line.length).toBe(0);
});
