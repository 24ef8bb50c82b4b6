import { ApiProblem, problemOf, unreachable } from "./problem.ts";
import type { Session } from "./types.ts";

export const API = "/admin/api/v1";

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

/** One request of the admin API: what a screen sends, and what its "copy as curl" shows. */
export interface ApiRequest {
  readonly method: Method;
  /** Under {@link API}, with its query. */
  readonly path: string;
  readonly body?: unknown;
  /** What {@link get} gave of the resource that must still be so (`If-Match`). */
  readonly unchanged?: object;
}

/** The proof that a request comes from this console: kept in memory alone, the session itself is a cookie that no script reads. */
let csrfToken: string | null = null;
/** Where each row came from, and its `ETag`: of what stands on the screen, however much newer rows were read since. */
const readings = new WeakMap<object, { readonly path: string; readonly etag: string | null }>();

const endings = new Set<() => void>();
const changes = new Set<() => void>();
const replacements = new Set<(path: string, row: unknown) => void>();

/** Calls back when the gateway says that nobody is signed in any more. */
export function onSessionEnd(listener: () => void): () => void {
  endings.add(listener);
  return () => endings.delete(listener);
}

/** Calls back when something may have changed: after each request that changes, and on live events. */
export function onChange(listener: () => void): () => void {
  changes.add(listener);
  return () => changes.delete(listener);
}

export function announceChange(): void {
  for (const listener of changes) listener();
}

/** Calls back with a row as a request left it. */
export function onReplacement(listener: (path: string, row: unknown) => void): () => void {
  replacements.add(listener);
  return () => replacements.delete(listener);
}

/** @throws ApiProblem. */
export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  const answer = await send({ method: "GET", path }, signal === undefined ? {} : { signal });
  const read: unknown = await answer.json();
  noteReading(path, answer, read);
  return read as T;
}

/** Sends what changes something; all that is on the screen is then read again. @throws ApiProblem. */
export async function change<T>(request: ApiRequest): Promise<T> {
  const answer = await send(request);
  const text = await answer.text();
  const left: unknown = text === "" ? undefined : JSON.parse(text);
  // A step such as `suspend` answers with the row that it was conditional on: the next step goes on from that.
  const path = request.unchanged === undefined ? undefined : readings.get(request.unchanged)?.path;
  if (path !== undefined && noteReading(path, answer, left)) {
    for (const listener of replacements) listener(path, left);
  }
  announceChange();
  return left as T;
}

/** @throws ApiProblem for every answer that is no success, and where none came. */
export async function send(
  { method, path, body, unchanged }: ApiRequest,
  options: { readonly signal?: AbortSignal; readonly accept?: string } = {},
): Promise<Response> {
  const headers: Record<string, string> = { Accept: options.accept ?? "application/json" };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (method !== "GET" && csrfToken !== null) headers["X-CSRF-Token"] = csrfToken;
  if (unchanged !== undefined) {
    const reading = readings.get(unchanged);
    if (reading === undefined) throw new Error("The request is conditional on a row that was not read.");
    if (reading.etag !== null) headers["If-Match"] = reading.etag;
  }
  let answer: Response;
  try {
    answer = await fetch(API + path, {
      method,
      headers,
      credentials: "same-origin",
      redirect: "error",
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(options.signal === undefined ? {} : { signal: options.signal }),
    });
  } catch (error) {
    if (options.signal?.aborted) throw error;
    throw unreachable();
  }
  if (!answer.ok) {
    const problem = await problemOf(answer);
    if (problem.status === 401 && path !== "/session") for (const listener of endings) listener();
    throw problem;
  }
  return answer;
}

/** @returns Whether the answer is a row. */
function noteReading(path: string, answer: Response, read: unknown): boolean {
  if (typeof read !== "object" || read === null) return false;
  const etag = answer.headers.get("ETag");
  readings.set(read, { path, etag });
  return etag !== null;
}

/** The session that the browser's cookie stands for; null: there is none. @throws ApiProblem. */
export async function readSession(): Promise<Session | null> {
  try {
    return noteSession(await get<Session>("/session"));
  } catch (error) {
    if (error instanceof ApiProblem && error.status === 401) return null;
    throw error;
  }
}

/** @throws ApiProblem `unauthorized`, `rate_limited`. */
export async function signIn(token: string): Promise<Session> {
  const answer = await send({ method: "POST", path: "/session", body: { token } });
  return noteSession((await answer.json()) as Session);
}

export async function signOut(): Promise<void> {
  await send({ method: "DELETE", path: "/session" });
  csrfToken = null;
}

function noteSession(session: Session): Session {
  csrfToken = session.csrfToken;
  return session;
}
