import { join } from "node:path";
import { expect, it } from "vitest";
import { readOptions } from "./options.ts";
import { DEV_FOLDER } from "./paths.ts";

it("has a default for everything", () => {
  expect(readOptions([])).toEqual({ port: 8787, quiet: false, dataDir: DEV_FOLDER });
});

it("reads every option", () => {
  const folder = join(DEV_FOLDER, "elsewhere");
  expect(readOptions(["--port", "1", "--data", folder, "--quiet"])).toEqual({ port: 1, quiet: true, dataDir: folder });
  expect(readOptions(["--port=65531"])).toMatchObject({ port: 65531 });
  expect(readOptions(["--help"])).toBe("help");
  expect(readOptions(["-h", "--port", "9000"])).toBe("help");
});

it.each([
  [["--port", "zero"], "--port"],
  [["--port", "0"], "--port"],
  [["--port", "65532"], "65531"],
  [["--port", "8787.0"], "--port"],
  [["--port"], "--port"],
  [["--data", ""], "--data"],
  [["--prot", "1"], "--prot"],
  [["extra"], "extra"],
])("says what is wrong with %j", (args, named) => {
  expect(readOptions(args)).toEqual({ problem: expect.stringContaining(named) });
});
