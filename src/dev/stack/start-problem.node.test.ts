import { expect, it } from "vitest";
import { AdminError } from "./admin-client.ts";
import { PortBusy } from "./ports.ts";
import { startProblem } from "./start-problem.ts";

const START = { port: 9000, stateDir: ".dev/state/9000" };

it.each([
  ["a port that is taken", new PortBusy(9002), ["9002", "9001 to 9004", "--port N"]],
  ["a decision in its data", new AdminError("POST /origins", 401, { code: "unauthorized" }), ["401", START.stateDir]],
  ["anything else", new Error("No workerd."), ["Skillgate could not start: No workerd."]],
])("names %s, and the remedy", (_, error, parts) => {
  for (const part of parts) expect(startProblem(error, START)).toContain(part);
});

it("blames the data for nothing else", () => {
  expect(startProblem(new Error("No workerd."), START)).not.toContain("--data");
});
