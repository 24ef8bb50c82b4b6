import { expect, it } from "vitest";
import { VERSION } from "../core/version.ts";
import { run } from "./fixture/running.ts";

it("prints help and version to stdout", async () => {
  expect(await run(["--version"])).toEqual({ code: 0, stdout: VERSION, stderr: "" });
  const help = await run(["attest", "sign", "--help"]);
  expect(help).toMatchObject({ code: 0, stderr: "" });
  expect(help.stdout).toContain("--from-worker");
});

it.each([
  [["lnt", "x"], "Did you mean lint?"],
  [["lint", "--jsn", "http://127.0.0.1:1"], "Did you mean --json?"],
  [["attest", "sing"], "Did you mean sign?"],
  [["lint"], "missing required argument 'origin'"],
  [["lint", "http://127.0.0.1:1", "extra"], "too many arguments"],
  [["lint", "--mode", "Enforcing", "http://127.0.0.1:1"], "Allowed choices are off, advisory, enforcing"],
  [["lint", "http://publisher.example"], "bad_origin: The origin must use https."],
  [["lint", "https://10.0.0.1"], "bad_origin"],
  [["lint", "nonsense"], "bad_origin: There is no folder nonsense"],
  [["call", "nonsense", "hello"], "bad_origin: There is no folder nonsense"],
  [["attest", "keygen", "--attester", "ada", "--out", "k"], "usage: --attester must be type:name"],
  [["https://a.example", "--lock", "x", "--lock", "y"], "option '--lock <file>' is given twice; it has one value"],
  [["build", "--origin=https://a.example", "--origin", "https://b.example"], "'--origin <origin>' is given twice"],
  [["attest", "keygen", "--out", "a", "--out", "b", "--attester", "human:ada"], "is given twice"],
  [["dev", "--port", "0", "--port", "0"], "'--port <n>' is given twice"],
  [[], "Usage: skillgate"],
])("ends with 2 and says what is wrong with %j", async (args, sentence) => {
  const ran = await run(args);
  expect(ran).toMatchObject({ code: 2, stdout: "" });
  expect(ran.stderr).toContain(sentence);
});
