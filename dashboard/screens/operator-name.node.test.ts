import { afterEach, expect, it, vi } from "vitest";
import { nameOfOperator } from "./operator-name.tsx";

afterEach(() => vi.unstubAllGlobals());

const ADA = `opr_${"a".repeat(24)}`;

it("knows who decided by name, asks for each operator once, and again for one that could not be read", async () => {
  const asked: string[] = [];
  let isDown = true;
  vi.stubGlobal("location", { origin: "https://gate.example" });
  vi.stubGlobal("fetch", async (url: string) => {
    asked.push(url);
    return isDown ? Response.json({ code: "not_found" }, { status: 404 }) : Response.json({ id: ADA, name: "Ada" });
  });
  expect(await nameOfOperator(ADA)).toBe(ADA);
  isDown = false;
  expect(await Promise.all([nameOfOperator(ADA), nameOfOperator(ADA)])).toEqual(["Ada", "Ada"]);
  expect(asked).toHaveLength(2);
  expect(await nameOfOperator("admin-token")).toBe("ADMIN_TOKEN");
  expect(asked).toHaveLength(2);
});
