/** A request as it goes over the wire, but for the proof of who asks. */
export interface WireRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** The variables in which commands expect tokens, as in README.md. */
export type TokenVariable = "ADMIN" | "CLIENT_TOKEN";

/** The request as a command for a POSIX shell; the token is in a variable. */
export function curlOf({ method, url, headers, body }: WireRequest, token: TokenVariable): string {
  const isStream = headers.Accept?.startsWith("text/event-stream") === true;
  const parts = [
    `curl ${isStream ? "-sSN" : "-sS"} ${quoted(url)}`,
    `-H "Authorization: Bearer $${token}"`,
    // What curl does by itself goes unsaid.
    ...(method === (body === undefined ? "GET" : "POST") ? [] : [`-X ${method}`]),
    ...Object.entries(headers).map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`),
    ...(body === undefined ? [] : [`-d ${quoted(body)}`]),
  ];
  return parts.join(" \\\n  ");
}

/** A word of a POSIX shell that stands for exactly this text. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
