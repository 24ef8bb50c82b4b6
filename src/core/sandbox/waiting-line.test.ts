import { expect, it } from "vitest";
import { Holdings, type Tenant, WaitingLine } from "./waiting-line.ts";

const A: Tenant = { client: "a", origin: "x" };
const B: Tenant = { client: "b", origin: "y" };
const C: Tenant = { client: "c", origin: "z" };

function held(...tenants: readonly (Tenant | undefined)[]): Holdings {
  const holdings = new Holdings();
  for (const tenant of tenants) holdings.note(tenant, 1);
  return holdings;
}

const times = (count: number, tenant: Tenant | undefined) => Array.from({ length: count }, () => tenant);

it("lets a newcomer pass only what those before it leave free", () => {
  const line = new WaitingLine(8, () => 0);
  expect(line.mayPass(null, A, held())).toBe(true);
  line.join(A);
  line.join(A);
  expect(line.mayPass(null, A, held(B, B, C, C, C, undefined))).toBe(false); // two free, two wait
  expect(line.mayPass(null, A, held(B, B, C, C, C))).toBe(true); // three free
});

it("[budget:pool-share] gives a tenant half of the pool, and beyond it what leaves more than a quarter free", () => {
  const line = new WaitingLine(16, () => 0);
  // Alone: up to eleven, so that five stay free.
  const alone = Array.from({ length: 16 }, (_, count) => line.mayPass(null, A, held(...times(count, A))));
  expect(alone.indexOf(false)).toBe(11);
  expect(alone.slice(11)).toEqual(Array(5).fill(false));
  // Beside another that holds seven: its half, and no more.
  const beside = Array.from({ length: 9 }, (_, count) =>
    line.mayPass(null, A, held(...times(count, A), ...times(7, B))),
  );
  expect(beside.indexOf(false)).toBe(8);
});

it("always has an instance for a newcomer beside one tenant, however many calls that one has waiting", () => {
  for (const size of [2, 3, 4, 5, 8, 16, 64]) {
    const line = new WaitingLine(size, () => 0);
    const holdings = new Holdings();
    for (let call = 0; call < 100; call++) {
      if (line.mayPass(null, A, holdings)) holdings.note(A, 1);
      else line.join(A);
    }
    expect(holdings.count, String(size)).toBeGreaterThanOrEqual(Math.floor(size / 2));
    expect(line.mayPass(null, B, holdings), String(size)).toBe(true);
    expect(line.mayPass(null, undefined, holdings), String(size)).toBe(true);
  }
});

it("serves one call after the other where the pool is a single instance", () => {
  const line = new WaitingLine(1, () => 0);
  expect(line.mayPass(null, A, held())).toBe(true);
  const [first, second] = [line.join(A), line.join(B)];
  expect(line.mayPass(first, A, held(A))).toBe(false);
  expect(line.mayPass(second, B, held())).toBe(false);
  expect(line.mayPass(first, A, held())).toBe(true);
});

it("holds a tenant to half of the pool while one with a claim waits", () => {
  const line = new WaitingLine(16, () => 0);
  const first = line.join(A);
  expect(line.mayPass(first, A, held(...times(8, A)))).toBe(true);
  const second = line.join(B);
  expect(line.mayPass(first, A, held(...times(8, A)))).toBe(false);
  expect(line.mayPass(second, B, held(...times(8, A)))).toBe(true);
  expect(line.mayPass(first, A, held(...times(7, A)))).toBe(true);
});

it("counts the same origin of different clients together, and the same client at different origins", () => {
  for (const other of [
    { client: "other", origin: "x" },
    { client: "a", origin: "other" },
  ]) {
    const line = new WaitingLine(4, () => 0);
    expect(line.mayPass(null, other, held(A))).toBe(true);
    expect(line.mayPass(null, other, held(A, A))).toBe(false);
  }
});

it("gives what comes free to those beyond their share in the order in which they came", () => {
  const line = new WaitingLine(16, () => 0);
  const [first, second] = [line.join(A), line.join(A)];
  const ten = held(...times(10, A));
  expect(line.mayPass(second, A, ten)).toBe(false);
  expect(line.mayPass(first, A, ten)).toBe(true);
  expect(line.mayPass(second, A, held(...times(9, A)))).toBe(true);
});

it("forgets a waiter that has not looked for a quarter of a second", () => {
  let now = 0;
  const line = new WaitingLine(1, () => now);
  line.join(A);
  expect(line.mayPass(null, B, held())).toBe(false);
  now = 250;
  expect(line.mayPass(null, B, held())).toBe(false);
  now = 251;
  expect(line.mayPass(null, B, held())).toBe(true);
  expect(line.length).toBe(0);
});

it("counts what comes back", () => {
  const holdings = held(A, A, B);
  holdings.note(A, -1);
  expect([holdings.count, holdings.most(A), holdings.most(B), holdings.most(C), holdings.most(undefined)]).toEqual([
    2, 1, 1, 0, 0,
  ]);
});
