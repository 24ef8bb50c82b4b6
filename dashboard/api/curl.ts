import { API, type ApiRequest } from "./request.ts";

/** The request as a command for a shell, with the operator's token in a variable as in ONBOARDING.md. */
export function curlOf({ method, path, body }: ApiRequest, gateway = location.origin): string {
  const parts = [`curl -sS ${quoted(gateway + API + path)}`, '-H "Authorization: Bearer $SKILLGATE_ADMIN_TOKEN"'];
  if (method !== "GET") parts.push(`-X ${method}`);
  if (body !== undefined) parts.push("-H 'Content-Type: application/json'", `-d ${quoted(JSON.stringify(body))}`);
  return parts.join(" \\\n  ");
}

/** A word of a POSIX shell that stands for exactly this text. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
