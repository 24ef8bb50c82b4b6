import { expect, it } from "vitest";
import { DeadlineExceeded, withDeadline } from "./deadline.ts";

it("gives up on work that does not end, and on that alone", async () => {
  await expect(withDeadline(new Promise(() => {}), 10)).rejects.toBeInstanceOf(DeadlineExceeded);
  expect(await withDeadline(Promise.resolve(1), 10)).toBe(1);
  await expect(withDeadline(Promise.reject(new Error("own")), 10)).rejects.toThrow("own");
});

it("looks at work once that is done anew each time it is looked at, as a query of drizzle's is", async () => {
  let sent = 0;
  const query = {
    // biome-ignore lint/suspicious/noThenProperty: as drizzle's queries have it.
    then: (resolve: (value: number) => void) => resolve(++sent),
  } as PromiseLike<number>;
  expect(await withDeadline(query, 10)).toBe(1);
  expect(sent).toBe(1);
});

it("swallows the failure of work that ends too late", async () => {
  const late = new Promise((_, reject) => setTimeout(() => reject(new Error("late")), 30));
  await expect(withDeadline(late, 5)).rejects.toBeInstanceOf(DeadlineExceeded);
  await new Promise((resolve) => setTimeout(resolve, 40));
});
