import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type CanonicalOrigin, isInsideOrigin, OriginError, parseOrigin, resolvePublisherPath } from "./origin.ts";
import { MAX_PUBLISHER_PATH_LENGTH } from "./origin-path.ts";

const RULES = { allowLoopbackHttp: true, ownHosts: [] };
const PROJECT = parseOrigin("https://u.github.io/REPO", RULES);
const ROOT = parseOrigin("https://pub.example.org", RULES);
const LOOPBACK = parseOrigin("http://localhost:8788", RULES);

/** The resolved URL, or the code of the refusal. */
function resolved(origin: CanonicalOrigin, path: string): string {
  try {
    return resolvePublisherPath(origin, path).href;
  } catch (error) {
    if (error instanceof OriginError) return error.code;
    throw error;
  }
}

describe("a publisher's path under a project site", () => {
  it.each([
    ["/api/x", "https://u.github.io/REPO/api/x"],
    ["/REPO/api/x", "https://u.github.io/REPO/api/x"],
    ["api/x", "https://u.github.io/REPO/api/x"],
    ["./api/./x", "https://u.github.io/REPO/api/x"],
    ["a/../b", "https://u.github.io/REPO/b"],
    ["", "https://u.github.io/REPO/"],
    ["/", "https://u.github.io/REPO/"],
    ["/REPO", "https://u.github.io/REPO"],
    ["/REPO/", "https://u.github.io/REPO/"],
    ["?q=1", "https://u.github.io/REPO/?q=1"],
    ["/REPO?q=/../..", "https://u.github.io/REPO?q=/../.."],
    ["/REPO2/x", "https://u.github.io/REPO/REPO2/x"],
    ["/repo/x", "https://u.github.io/REPO/repo/x"],
    ["/a%20b", "https://u.github.io/REPO/a%20b"],
    ["/100%25", "https://u.github.io/REPO/100%25"],
    ["/a%2fb", "https://u.github.io/REPO/a%2fb"],
    ["/a/b%2f..%2fc", "https://u.github.io/REPO/a/b%2f..%2fc"],
    ["/x#part", "https://u.github.io/REPO/x"],
    ["#part", "https://u.github.io/REPO/"],
    ["  /x  ", "https://u.github.io/REPO/x"],
    ["https://u.github.io/REPO/x", "https://u.github.io/REPO/x"],
    ["HTTPS://U.github.io:443/REPO/x", "https://u.github.io/REPO/x"],
    ["//u.github.io/REPO/x", "https://u.github.io/REPO/x"],
    ["/@evil.example.org", "https://u.github.io/REPO/@evil.example.org"],
  ])("%j is %s", (path, expected) => {
    expect(resolved(PROJECT, path)).toBe(expected);
  });

  it.each([
    "..",
    "../",
    "../x",
    "/../x",
    "/..",
    "a/../../x",
    "/REPO/../../x",
    "/%2e%2e/x",
    "/%2E./x",
    "/.%2e/x",
    "/..\\x",
    "\\..\\x",
    "..\\x",
    "/a/..%2f..%2fx",
    "/a%2f..%2f..%2fx",
    "/a%5c..%5c..%5cx",
    "/%2e%2e%2fx",
    "/..%2fx",
    "/%252e%252e%252fx",
    "/%252e%252e/x",
    "/%25252e%25252e/x",
    "/%2525252525252e/x",
    "/%%32e%%32e/x",
    "/..;/x",
    "/..%3b/x",
    "/%2f../x%2f..%2f..",
    "https://u.github.io/x",
    "https://u.github.io/REPO/../x",
    "https://u.github.io/REPO2/x",
    "https://u.github.io",
    "//u.github.io/x",
  ])("[10.1-E] %j does not leave the base", (path) => {
    expect(resolved(PROJECT, path)).toBe("outside_origin");
  });
});

describe.each([ROOT, PROJECT])("a publisher's path under %s", (origin) => {
  it.each([
    "//evil.example.org/x",
    "/\\evil.example.org/x",
    "\\\\evil.example.org/x",
    "\\/evil.example.org/x",
    " //evil.example.org/x",
    "https://evil.example.org/x",
    "https:evil.example.org/x",
    "https:/evil.example.org/x",
    "https:\\\\evil.example.org/x",
    "http://pub.example.org/x",
    "http:x",
    "ftp://pub.example.org/x",
    "data:text/plain,x",
    "javascript:1",
    "blob:https://pub.example.org/x",
    "file:///etc/passwd",
    "https://pub.example.org:444/x",
    "https://pub.example.org.evil.example.org/x",
    "https://pub.example.org@evil.example.org/x",
    "https://user@pub.example.org/x",
    "https://user:pw@u.github.io/REPO/x",
    "//user@u.github.io/REPO/x",
    "https://u.github.io./REPO/x",
    "https://127.0.0.1/x",
  ])("[10.1-E] %j does not leave the origin", (path) => {
    expect(resolved(origin, path)).toBe("outside_origin");
  });

  it.each([
    "/\t/evil.example.org",
    "/\n/evil.example.org",
    "\thttps://evil.example.org",
    "/a\rb",
    "/a\u0000b",
    "\u007f/x",
  ])("[10.1-E] %j is refused before a parser deletes its control character", (path) => {
    expect(resolved(origin, path)).toBe("bad_url");
  });

  it.each(["https://", "//", "http://[::1", "https://pub.example.org:99999/", "https://a b/"])(
    "%j is no URL",
    (path) => {
      expect(resolved(origin, path)).toBe("bad_url");
    },
  );

  it("is at most as long as the cap", () => {
    const ofLength = (length: number) => `/${"a".repeat(length - 1)}`;
    expect(resolved(origin, ofLength(MAX_PUBLISHER_PATH_LENGTH - 1))).toMatch(/^https:/);
    expect(resolved(origin, ofLength(MAX_PUBLISHER_PATH_LENGTH))).toMatch(/^https:/);
    expect(resolved(origin, ofLength(MAX_PUBLISHER_PATH_LENGTH + 1))).toBe("bad_url");
  });

  it("[10.1-E] resolves inside or is refused, whatever it is", () => {
    const { protocol, host, pathname } = new URL(origin);
    const base = pathname === "/" ? "" : pathname;
    const fragment = fc.constantFrom(
      ...["/", "\\", ".", "..", "%2e", "%2E", "%2f", "%5c", "%25", "%252e", "%32", ";", ":", "@", "?", "#", " ", "\t"],
      ...[
        "https:",
        "http:",
        "//",
        "evil.example.org",
        host,
        "REPO",
        "REPO2",
        "a",
        "é",
        "\ud800",
        "%",
        "%c0%ae",
        "127.1",
      ],
    );
    const path = fc.oneof(
      fc.array(fragment, { maxLength: 12 }).map((parts) => parts.join("")),
      fc.array(fragment, { maxLength: 8 }).map((parts) => `${origin}/${parts.join("")}`),
      fc.webPath(),
      fc.webUrl(),
      fc.string({ unit: "binary" }),
    );
    let accepted = 0;
    fc.assert(
      fc.property(path, (text) => {
        const href = resolved(origin, text);
        if (href === "bad_url" || href === "outside_origin") return;
        accepted += 1;
        const url = new URL(href);
        expect([url.protocol, url.host, url.username, url.password, url.hash]).toEqual([protocol, host, "", "", ""]);
        expect(`${url.pathname}/`.startsWith(`${base}/`)).toBe(true);
        expect(isInsideOrigin(origin, url)).toBe(true);
        expect(resolved(origin, href)).toBe(href);
        // What a server makes of it after decoding once, when it then resolves dots itself.
        if (base === "") return;
        const decoded = url.pathname.slice(1).replace(/%(2e|2f|5c)/gi, (triplet) => decodeURIComponent(triplet));
        expect(`${new URL(`https://h/${decoded.replace(/[/\\]+/g, "/")}`).pathname}/`.startsWith(`${base}/`)).toBe(
          true,
        );
      }),
      { numRuns: 4000 },
    );
    expect(accepted).toBeGreaterThan(100);
  });
});

it("accepts any path of an origin without a base", () => {
  expect(resolved(ROOT, "/../x")).toBe("https://pub.example.org/x");
  expect(resolved(ROOT, "..")).toBe("https://pub.example.org/");
  expect(resolved(ROOT, "")).toBe("https://pub.example.org/");
  expect(resolved(LOOPBACK, "/api?q=1")).toBe("http://localhost:8788/api?q=1");
  expect(resolved(LOOPBACK, "http://127.0.0.1:8788/")).toBe("outside_origin");
});

it("[10.1-E] judges the hops of a redirect by scheme, host, port, credentials and base", () => {
  const inside = (url: string) => isInsideOrigin(PROJECT, new URL(url));
  expect(inside("https://u.github.io/REPO")).toBe(true);
  expect(inside("https://u.github.io/REPO/a?b#c")).toBe(true);
  for (const url of [
    "http://u.github.io/REPO/a",
    "https://u.github.io:8443/REPO/a",
    "https://v.github.io/REPO/a",
    "https://u.github.io/",
    "https://u.github.io/REPOS/a",
    "https://u.github.io/REPO%2fa",
    "https://u.github.io/REPO/%2e%2e%2fa",
    "https://x@u.github.io/REPO/a",
    "data:text/plain,x",
  ]) {
    expect([url, inside(url)]).toEqual([url, false]);
  }
});
