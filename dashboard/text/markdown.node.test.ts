import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Blocks, MAX_MARKDOWN_CHARS, parseMarkdown, webAddress } from "./markdown.tsx";
import { shownIn } from "./shown-fixture.ts";

function shown(text: string) {
  const parsed = parseMarkdown(text);
  return parsed === null ? null : shownIn(Blocks({ tokens: parsed.tokens, depth: 0 }));
}

const ELEMENTS = /^(?:|p|h[3-6]|ul|ol|li|hr|br|blockquote|table|thead|tbody|tr|th|td|div|span|strong|em|del|code|a)$/;

describe("somebody else's Markdown", () => {
  it.each([
    ["https://a.example/b?c#d", "https://a.example/b?c#d"],
    ["HTTP://A.example", "http://a.example/"],
    ["javascript:alert(1)", null],
    ["java\nscript:alert(1)", null],
    [" javascript:alert(1)", null],
    ["data:text/html,x", null],
    ["vbscript:x", null],
    ["blob:https://a.example/x", null],
    ["file:///etc/passwd", null],
    ["//evil.example/x", null],
    ["/admin/clients", null],
    ["#top", null],
    ["", null],
  ])("links %j as %j", (href, address) => {
    expect(webAddress(href)).toBe(address);
  });

  it("shows HTML as the text that it is, and no address but of the web", () => {
    const all = shown(
      "<script>x()</script>\n\n[a](javascript:x) <b onclick=x>b</b> ![i](https://t.example/i.png)\n\n&lt;u&gt; `<i>`",
    );
    expect(all?.[0]?.text).toBe("<script>x()</script>a (javascript:x) <b onclick=x>b</b> [image: i]<u> <i>");
    expect(all?.filter(({ type }) => type === "a").map(({ props }) => props.href)).toEqual(["https://t.example/i.png"]);
  });

  it("leaves nothing out that a reader of the text would see", () => {
    const text = [
      "[//]: # (one)",
      '[x]: https://a.example "two"',
      '[v](https://a.example "three") ![i](https://a.example/i.png "four")',
      "```js five\n1\n```",
    ].join("\n\n");
    const all = shown(text)?.[0]?.text;
    for (const word of ["one", "two", "three", "four", "five"]) expect(all).toContain(word);
  });

  it("is made of a few harmless elements, whatever it is", () => {
    const word = fc.constantFrom(
      ...[
        "<img src=x onerror=x()>",
        "[a](",
        "javascript:x",
        ")",
        "![",
        "](",
        "\n",
        "\n\n",
        "- ",
        "> ",
        "1. ",
        "# ",
        "| a | b |\n",
      ],
      ...[
        "|-|-|\n",
        "```js\n",
        "`",
        "*",
        "__",
        "~~",
        "<",
        ">",
        "&lt;",
        "<!--",
        "https://a.example",
        "\u202e",
        "[x]: data:x\n",
        "    ",
      ],
    );
    const text = fc
      .array(fc.oneof(word, fc.string({ maxLength: 5 })), { maxLength: 60 })
      .map((parts) => parts.join(""));
    fc.assert(
      fc.property(text, (written) => {
        for (const { type, props } of shown(written) ?? []) {
          expect(type).toMatch(ELEMENTS);
          expect(Object.keys(props).filter((name) => /^on|innerHTML|^style$|^src/i.test(name))).toEqual([]);
          if (type === "a")
            expect(props).toMatchObject({ href: expect.stringMatching(/^https?:/), rel: "noopener noreferrer" });
        }
      }),
    );
  });

  it("is shown as it is written where it is long or too deep to be followed", () => {
    expect(parseMarkdown("a".repeat(MAX_MARKDOWN_CHARS + 1))).toBeNull();
    const deep = shown(`${">".repeat(10_000)} x`);
    expect(deep === null || deep[0]?.text.includes("x")).toBe(true);
  });
});
