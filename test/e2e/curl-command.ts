import type { Request } from "playwright-core";

/** What decides about a request, but for the proof of who asks. */
export interface PlainRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
}

/** Headers that a browser, or curl, does not add by itself. */
const TELLING = /^(?:content-type|if-match|idempotency-key|mcp-protocol-version|accept)$/;

/** The request of a `curl` command, as far as the console writes such commands. */
export function requestOfCommand(command: string): PlainRequest {
  const [curl, ...words] = shellWords(command);
  if (curl !== "curl") throw new Error(`This is no curl command: ${command}`);
  const headers: Record<string, string> = {};
  let method: string | null = null;
  let url = "";
  let body: string | null = null;
  while (words.length > 0) {
    const word = words.shift() ?? "";
    if (word === "-X") method = words.shift() ?? "";
    else if (word === "-d") body = words.shift() ?? "";
    else if (word === "-H") {
      const [name = "", value = ""] = (words.shift() ?? "").split(/: (.*)/s);
      if (name !== "Authorization") headers[name.toLowerCase()] = value;
      else if (!/^Bearer \$[A-Z_]+$/.test(value)) throw new Error(`The token is in no variable: ${value}`);
    } else if (!word.startsWith("-s")) url = word;
  }
  return { method: method ?? (body === null ? "GET" : "POST"), url, headers, body };
}

/** What the browser sent, in the same form. */
export async function requestOfBrowser(request: Request): Promise<PlainRequest> {
  const headers = Object.entries(await request.allHeaders());
  return {
    method: request.method(),
    url: request.url(),
    headers: Object.fromEntries(headers.filter(([name, value]) => TELLING.test(name) && value !== "*/*")),
    body: request.postData(),
  };
}

/** Words of a POSIX shell: plain, in single or in double quotes, on lines that a backslash joins. */
function shellWords(command: string): string[] {
  const word = /(?:'[^']*'|"[^"]*"|\\'|[^\s'"\\]+)+/g;
  return [...command.matchAll(word)].map(([text]) =>
    text.replace(
      /'([^']*)'|"([^"]*)"|\\(')/g,
      (_, single?: string, double?: string, quote?: string) =>
        [single, double, quote].find((part) => part !== undefined) ?? "",
    ),
  );
}
