import { execFileSync } from "node:child_process";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { curlOf, quoted, type WireRequest } from "./curl.ts";

/** What a shell makes of a command whose `curl` tells its arguments. */
function argumentsOf(command: string): readonly string[] {
  const script = `curl() { printf '%s\\0' "$@"; }; ADMIN=sgo_secret; ${command}`;
  return execFileSync("/bin/sh", ["-c", script], { encoding: "utf8" }).split("\0").slice(0, -1);
}

// No argument of a program can hold it.
const text = fc.string({ unit: "binary", maxLength: 40 }).map((all) => all.replaceAll("\0", ""));

describe("a request as a command", () => {
  it("quotes any text as one word of a shell", () => {
    fc.assert(
      fc.property(
        fc.array(fc.oneof(text, fc.constantFrom("'", "'\\''", "$(id)", "`id`", "\\", "\n", "-d")), { minLength: 1 }),
        (words) => {
          expect(argumentsOf(`curl ${words.map(quoted).join(" ")}`)).toEqual(words);
        },
      ),
      { numRuns: 30 },
    );
  });

  it("sends the method, the headers and the body that the browser sends, with the token of a variable", () => {
    const wire: WireRequest = {
      method: "PATCH",
      url: "https://gate.example/admin/api/v1/clients/cli_1?a='b'",
      headers: { "Content-Type": "application/json", "If-Match": '"abc"' },
      body: JSON.stringify({ name: "O'Hara $ADMIN `id`" }),
    };
    expect(argumentsOf(curlOf(wire, "ADMIN"))).toEqual([
      "-sS",
      wire.url,
      "-H",
      "Authorization: Bearer sgo_secret",
      "-X",
      "PATCH",
      "-H",
      "Content-Type: application/json",
      "-H",
      'If-Match: "abc"',
      "-d",
      wire.body,
    ]);
  });

  it("leaves unsaid what curl does by itself, and shows a stream as it comes", () => {
    const url = "https://gate.example/x";
    expect(curlOf({ method: "GET", url, headers: {} }, "ADMIN")).not.toContain("-X");
    expect(curlOf({ method: "POST", url, headers: {}, body: "{}" }, "ADMIN")).not.toContain("-X");
    expect(curlOf({ method: "POST", url, headers: { Accept: "text/event-stream" } }, "ADMIN")).toMatch(
      /-sSN .* -X POST/s,
    );
  });
});
