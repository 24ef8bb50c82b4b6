import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { run } from "../../src/local/fixture/running.ts";

const PAGE = readFileSync(new URL("../../ONBOARDING.md", import.meta.url), "utf8");

/** Lines of the page's code that call `skillgate`, cut into words. */
const COMMANDS = [...PAGE.matchAll(/(?:^|\$\()skillgate ((?:attest \w+|\w+)\b[^\n)]*)/gm)].map(([, text = ""]) =>
  text.split(/\s+/),
);

it.each(COMMANDS)("the command line has what the page says: skillgate %s %s %s", async (...words) => {
  const command = words[0] === "attest" ? words.slice(0, 2) : words.slice(0, 1);
  const help = await run([...command, "--help"]);
  expect(help.code).toBe(0);
  for (const option of words.filter((word) => word.startsWith("--"))) expect(help.stdout).toContain(option);
});

it("the page shows every command of a publisher, a reviewer and an operator", () => {
  const shown = COMMANDS.map((words) => words.slice(0, words[0] === "attest" ? 2 : 1).join(" "));
  expect([...new Set(shown)].sort()).toEqual([
    ...["attest keygen", "attest sign", "attest verify"],
    ...["build", "call", "dev", "import", "init", "lint"],
  ]);
});

it("the admin API has every path of the page", async () => {
  const load = (path: string) => import(new URL(path, import.meta.url).href);
  const { createAdminApp } = await load("../../src/gateway/admin/app.ts");
  const { openApiDocument } = await load("../../src/gateway/admin/document.ts");
  const { paths } = openApiDocument(createAdminApp()) as { paths: Record<string, object> };
  const known = Object.keys(paths).map((path) => path.replaceAll(/\{\w+\}/g, "{}"));

  const asked = [...PAGE.matchAll(/\bapi "?(\/[^\s"?`]*)/g)].map(([, path = ""]) => path.replaceAll(/\$\w+/g, "{}"));
  expect(asked.length).toBeGreaterThan(20);
  const missing = asked.filter((path) => path !== "/openapi.json" && !known.includes(path));
  expect(missing).toEqual([]);
}, 60_000);
