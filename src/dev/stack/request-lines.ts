import type { LogLine } from "./gateway.ts";

/** Fields of the gateway's request line that fit on a terminal line. */
interface RequestFields {
  readonly event?: string;
  readonly httpMethod?: string;
  readonly route?: string;
  readonly status?: number;
  readonly code?: string;
  readonly origin?: string;
  readonly method?: string;
  readonly tool?: string;
  readonly outcome?: string;
  readonly ms?: { readonly total?: number };
}

/** A line of the gateway's log for people: `12:30:05 200 tools/call sum_numbers ok http://127.0.0.1:8788 4 ms`. */
export function readableLine({ at, text }: LogLine): string {
  const time = new Date(at).toTimeString().slice(0, 8);
  const fields = parse(text);
  if (fields?.event !== "request") return `${time} ${text.trimEnd()}`;
  const { status, method, httpMethod, route, tool, outcome, code, origin, ms } = fields;
  const what = method ?? [httpMethod, route].filter(Boolean).join(" ");
  const parts = [
    time,
    status,
    what,
    tool,
    outcome,
    code,
    origin,
    ms?.total === undefined ? undefined : `${ms.total} ms`,
  ];
  return parts.filter((part) => part !== undefined).join(" ");
}

function parse(text: string): RequestFields | undefined {
  if (!text.startsWith("{")) return undefined;
  try {
    return JSON.parse(text) as RequestFields;
  } catch {
    return undefined;
  }
}
