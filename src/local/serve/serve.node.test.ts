import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, rename, rm, symlink, truncate, writeFile } from "node:fs/promises";
import { request } from "node:http";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openSite } from "./site-files.ts";
import { readSitePath } from "./site-path.ts";
import { type SiteServer, serveSite } from "./site-server.ts";
import { watchSite } from "./watch.ts";

let outside: string;
let folder: string;
let server: SiteServer;
let port: number;

beforeAll(async () => {
  outside = await mkdtemp(join(tmpdir(), "skillgate-serve-"));
  folder = join(outside, "site");
  await mkdir(join(folder, "skills/hello"), { recursive: true });
  await mkdir(join(folder, ".well-known/agent-skills"), { recursive: true });
  await mkdir(join(folder, ".git"));
  await mkdir(join(folder, "skills/.cache"));
  await writeFile(join(outside, "secret.txt"), "secret");
  await writeFile(join(folder, ".env"), "secret");
  await writeFile(join(folder, ".git/config"), "secret");
  await writeFile(join(folder, "skills/.cache/x.txt"), "secret");
  await writeFile(join(folder, "llms.txt"), "# Größe\r\n");
  await writeFile(join(folder, "skills/hello/tool.js"), "1;");
  await writeFile(join(folder, "skills/hello/SKILL.md"), "# Hello\n");
  await writeFile(join(folder, "a b.unknown"), "x");
  await writeFile(join(folder, "index.html"), "<p>home");
  await writeFile(join(folder, ".well-known/agent-skills/index.json"), "{}");
  await symlink(join(outside, "secret.txt"), join(folder, "out.txt"));
  await symlink(outside, join(folder, "up"));
  await symlink(join(folder, ".git/config"), join(folder, "config.txt"));
  await symlink(join(folder, ".git"), join(folder, "git"));
  await symlink("llms.txt", join(folder, "inside.txt"));
  server = await serveSite({ site: await openSite("site", { cwd: outside }), port: 0 });
  port = Number(new URL(server.origin).port);
});

afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await rm(outside, { recursive: true, force: true });
});

interface Answered {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: string;
}

/** As it is spelled: `fetch` would resolve the dots. */
const ask = (path: string, { method = "GET", headers = {} } = {}) =>
  new Promise<Answered>((done, fail) => {
    request({ host: "127.0.0.1", port, path, method, headers, agent: false }, async (response) => {
      let body = "";
      for await (const chunk of response.setEncoding("utf8")) body += chunk;
      done({ status: response.statusCode ?? 0, headers: response.headers, body });
    })
      .on("error", fail)
      .end();
  });

describe("a site on loopback", () => {
  it.each([
    ["/llms.txt", "text/plain; charset=utf-8", "# Größe\r\n"],
    ["/llms.txt?_gw=1", "text/plain; charset=utf-8", "# Größe\r\n"],
    ["/%6clms.txt", "text/plain; charset=utf-8", "# Größe\r\n"],
    ["/inside.txt", "text/plain; charset=utf-8", "# Größe\r\n"],
    ["/skills/hello/tool.js", "text/javascript; charset=utf-8", "1;"],
    ["/skills/hello/SKILL.md", "text/markdown; charset=utf-8", "# Hello\n"],
    ["/.well-known/agent-skills/index.json", "application/json; charset=utf-8", "{}"],
    ["/a%20b.unknown", "application/octet-stream", "x"],
    ["/", "text/html; charset=utf-8", "<p>home"],
  ])("serves %s as it is", async (path, type, body) => {
    const answered = await ask(path);
    expect(answered).toMatchObject({
      status: 200,
      body,
      headers: {
        "content-type": type,
        "content-length": String(Buffer.byteLength(body)),
        "x-content-type-options": "nosniff",
        "access-control-allow-origin": "*",
        "cache-control": "no-cache",
        etag: expect.stringMatching(/^"[0-9a-f]{64}"$/),
      },
    });
  });

  it("answers HEAD without a body and a known ETag with 304", async () => {
    const head = await ask("/llms.txt", { method: "HEAD" });
    expect(head).toMatchObject({ status: 200, body: "", headers: { "content-length": "11" } });
    for (const tag of [head.headers.etag, `W/${head.headers.etag}`, `"x", ${head.headers.etag}`, "*"]) {
      expect(await ask("/llms.txt", { headers: { "If-None-Match": tag } })).toMatchObject({ status: 304, body: "" });
    }
    expect((await ask("/llms.txt", { headers: { "If-None-Match": '"x"' } })).status).toBe(200);
  });

  it("lists no folder", async () => {
    for (const path of ["/skills", "/skills/", "/skills/hello/", "/.well-known", "/.well-known/"]) {
      expect(await ask(path), path).toMatchObject({ status: 404, body: expect.stringContaining("not_found") });
    }
  });

  it.each(["POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE"])("refuses %s", async (method) => {
    expect(await ask("/llms.txt", { method })).toMatchObject({ status: 405, headers: { allow: "GET, HEAD" } });
  });
});

describe("[10.2-serve] nothing hidden and nothing outside is served", () => {
  it.each([
    [
      "dotfiles",
      ["/.env", "/.git/config", "/%2eenv", "/skills/.cache/x.txt", "/skills/.well-known/x", "/.well-known/.env"],
    ],
    ["links that leave the site or lead to dotfiles", ["/out.txt", "/up/secret.txt", "/config.txt", "/git/config"]],
    ["dots", ["/../secret.txt", "/skills/../../secret.txt", "/./llms.txt", "/skills/..", "/.", "/%2e%2e/secret.txt"]],
    [
      "devices and second spellings of Windows",
      ["/con", "/NUL.txt", "/skills/com1", "/lpt9.md", "/llms.txt.", "/llms.txt%20"],
    ],
  ])("%s", async (_what, paths) => {
    for (const path of paths) {
      const { status, body } = await ask(path);
      expect([path, status, body.includes("secret")]).toEqual([path, 404, false]);
    }
  });

  it.each([
    [
      "encoded separators",
      ["/..%2fsecret.txt", "/..%5csecret.txt", "/skills%2f..%2f..%2fsecret.txt", "/\\..\\secret.txt"],
      [400, 404],
    ],
    ["escapes of escapes", ["/%252e%252e/secret.txt", "/..%252fsecret.txt", "/%25%32%65%25%32%65/secret.txt"], [400]],
    [
      "NUL, controls and broken escapes",
      ["/llms.txt%00", "/%00.txt", "/a%0ab", "/%zz", "/%c0%ae%c0%ae/secret.txt"],
      [400],
    ],
    [
      "drives, streams and empty names",
      ["/llms.txt::$DATA", "/C:/secret.txt", "//secret.txt", "/skills//hello/tool.js"],
      [400],
    ],
    ["what is no path", ["*", "llms.txt", `/${"a".repeat(3_000)}`], [400]],
  ])("%s", async (_what, paths, statuses) => {
    for (const path of paths) {
      const { status, body } = await ask(path);
      expect([path, body.includes("secret")]).toEqual([path, false]);
      expect(statuses, path).toContain(status);
    }
  });

  it("foreign hosts, by whatever name they were made to lead here", async () => {
    for (const host of [
      "evil.example",
      `evil.example:${port}`,
      `127.0.0.1.evil.example:${port}`,
      "127.0.0.1",
      "127.0.0.1:1",
    ]) {
      expect(await ask("/llms.txt", { headers: { Host: host } }), host).toMatchObject({ status: 421 });
    }
    expect((await ask("/llms.txt", { headers: { Host: `LocalHost:${port}` } })).status).toBe(200);
  });

  it("targets with a host of their own, unless it is this one", async () => {
    for (const host of [`127.0.0.1:${port}`, `LOCALHOST:${port}`]) {
      expect(await ask(`http://${host}/llms.txt?x`), host).toMatchObject({ status: 200, body: "# Größe\r\n" });
      expect((await ask(`HTTP://${host}`)).body).toBe("<p>home");
      expect((await ask(`http://${host}/..%2fsecret.txt`)).status).toBe(404);
    }
    for (const target of [
      "http://evil.example/llms.txt",
      `http://user@127.0.0.1:${port}/llms.txt`,
      "http://127.0.0.1/llms.txt",
      `https://127.0.0.1:${port}/llms.txt`,
    ]) {
      expect(await ask(target), target).toMatchObject({ status: 421, body: expect.stringContaining("wrong_host") });
    }
  });

  it("links that lead to themselves", async () => {
    await symlink("loop.txt", join(folder, "loop.txt"));
    expect(await ask("/loop.txt")).toMatchObject({ status: 404, body: expect.stringContaining("not_found") });
  });

  it("two hosts, or none", async () => {
    const raw = (head: string) =>
      new Promise<string>((done) => {
        const socket = connect(port, "127.0.0.1", () => socket.write(`GET /llms.txt HTTP/1.1\r\n${head}\r\n`));
        let text = "";
        socket.setEncoding("utf8").on("data", (chunk) => {
          text += chunk;
        });
        socket.on("close", () => done(text.split("\r\n", 1)[0] ?? ""));
      });
    const own = `Host: 127.0.0.1:${port}\r\n`;
    expect(await raw(`${own}Host: evil.example\r\nConnection: close\r\n`)).toContain("421");
    expect(await raw("Connection: close\r\n")).toContain("400");
    expect(await raw("Host:\r\nConnection: close\r\n")).toContain("421");
    expect(await raw(`${own}Connection: close\r\n`)).toContain("200");
  });

  it("pipes and files past the limit", async () => {
    execFileSync("mkfifo", [join(folder, "pipe.txt")]);
    expect((await ask("/pipe.txt")).status).toBe(404);
    await writeFile(join(folder, "large.json"), "");
    await truncate(join(folder, "large.json"), 16 * 1024 * 1024 + 1);
    expect(await ask("/large.json")).toMatchObject({ status: 500, body: expect.stringContaining("too_large") });
  });
});

it("[10.4-2732ed5] answers a path that is not UTF-8 with 400 and goes on", async () => {
  expect((await ask("/%c0%af")).status).toBe(400);
  expect((await ask("/llms.txt")).status).toBe(200);
});

it("keeps names with marks apart from escapes", () => {
  expect(readSitePath("/100%25.txt")).toEqual({ segments: ["100%.txt"] });
  expect(readSitePath("/%E2%82%AC.md")).toEqual({ segments: ["€.md"] });
});

describe("the port", () => {
  it("that is taken is an error where it was asked for, and another one where it was not", async () => {
    const site = await openSite(folder, { cwd: "/" });
    await expect(serveSite({ site, port })).rejects.toMatchObject({ code: "port_taken", exitCode: 2 });
    await using other = await serveSite({ site, port, orAnother: true });
    expect(other.origin).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect(other.origin).not.toBe(server.origin);
  });

  it("is opened for a folder alone", async () => {
    await expect(openSite("absent", { cwd: outside })).rejects.toMatchObject({ code: "bad_file" });
    await expect(openSite("secret.txt", { cwd: outside })).rejects.toMatchObject({ code: "bad_file" });
  });
});

describe("a watch", () => {
  it("tells of what was written, renamed and removed, once, and of nothing hidden", async () => {
    const watched = await mkdtemp(join(outside, "watched-"));
    await mkdir(join(watched, "skills"));
    await writeFile(join(watched, "skills/gone.js"), "");
    const told: (readonly string[])[] = [];
    let tell: () => void = () => {};
    const heard = () =>
      new Promise<void>((done) => {
        tell = done;
      });
    await using _watch = await watchSite(watched, (paths) => {
      told.push(paths);
      tell();
    });
    let next = heard();
    await mkdir(join(watched, ".git"));
    await writeFile(join(watched, ".git/index"), "");
    await mkdir(join(watched, "skills/new/deep"), { recursive: true });
    await writeFile(join(watched, "skills/new/deep/tool.js"), "1");
    await rm(join(watched, "skills/gone.js"));
    await next;
    next = heard();
    await writeFile(join(watched, "partial"), "2");
    await rename(join(watched, "partial"), join(watched, "skills/new/deep/tool.js"));
    await next;
    expect(told.flat()).toEqual(["skills/gone.js", "skills/new/deep/tool.js", "skills/new/deep/tool.js"]);
  });
});

it("gives nothing from outside while a folder on the way is swapped for a link", async () => {
  const site = await openSite("site", { cwd: outside });
  const [place, real, link] = ["swapped", "real", "link"].map((name) => join(folder, name)) as [string, string, string];
  await mkdir(real);
  await mkdir(join(outside, "other"));
  await writeFile(join(real, "f.txt"), "inside");
  await writeFile(join(outside, "other/f.txt"), "secret");
  await symlink(join(outside, "other"), link);
  let isOver = false;
  const swapping = (async () => {
    while (!isOver) {
      for (const from of [real, link]) {
        await rename(from, place);
        await rename(place, from);
      }
    }
  })();
  const read = new Set<string>();
  for (let turn = 0; turn < 200; turn++) {
    const readings = await Promise.all(Array.from({ length: 16 }, () => site.read(["swapped", "f.txt"])));
    for (const reading of readings) read.add(reading.ok ? new TextDecoder().decode(reading.bytes) : reading.code);
  }
  isOver = true;
  await swapping;
  expect([...read].filter((text) => text === "secret")).toEqual([]);
});
