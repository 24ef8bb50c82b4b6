import { expect, it } from "vitest";
import { DeadlineExceeded, withDeadline } from "./deadline.ts";

it("gives up on work that does not end, and on that alone", async () => {
  await expect(withDeadline(new Promise(() => {}), 10)).rejects.toBeInstanceOf(DeadlineExceeded);
  expect(await withDeadline(Promise.resolve(1), 10)).toBe(1);
  await expect(withDeadline(Promise.reject(new Error("own")), 10)).rejects.toThrow("own");
});

it("swallows the failure of work that ends too late", async () => {
  const late = new Promise((_, reject) => setTimeout(() => reject(new Error("late")), 30));
  await expect(withDeadline(late, 5)).rejects.toBeInstanceOf(DeadlineExceeded);
  await new Promise((resolve) => setTimeout(resolve, 40));
});
