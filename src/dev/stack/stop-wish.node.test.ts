import { EventEmitter } from "node:events";
import { expect, it } from "vitest";
import { stopWish } from "./stop-wish.ts";

const started = () => Object.assign(new EventEmitter(), { connected: true }) as unknown as NodeJS.Process;

it.each(["SIGINT", "SIGTERM", "SIGHUP", "disconnect"] as const)(
  "%s is the wish to stop, and a second one is calm",
  async (event) => {
    const process = started();
    const wish = stopWish(process);
    expect(wish.made).toBe(false);
    for (let time = 0; time < 2; time++) (process as EventEmitter).emit(event);
    expect(wish.made).toBe(true);
    await wish.promise;
  },
);

it("is alone with the signals, whoever wants to hear of them and when, so that nobody else ends the process", async () => {
  const process = started();
  const wish = stopWish(process);
  const others: string[] = [];
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.on(signal, () => others.push(signal));
    process.once(signal, () => others.push(signal));
  }
  await Promise.resolve();
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) (process as EventEmitter).emit(signal);
  expect(others).toEqual([]);
  expect(wish.made).toBe(true);
});
