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
  /** The resource that must still be as this console last saw it (`If-Match`). */
  readonly unchanged?: string;
}

/** The proof that a request comes from this console: kept in memory alone, the session itself is a cookie that no script reads. */
let csrfToken: string | null = null;
/** The last `ETag` seen of each resource. */
const etags = new Map<string, string>();
const MAX_ETAGS = 500;

const endings = new Set<() => void>();
const changes = new Set<() => void>();

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

/** @throws ApiProblem. */
export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  const answer = await send({ method: "GET", path }, signal === undefined ? {} : { signal });
  return (await answer.json()) as T;
}

/** Sends what changes something; all that is on the screen is then read again. @throws ApiProblem. */
export async function change<T>(request: ApiRequest): Promise<T> {
  const answer = await send(request);
  const text = await answer.text();
  announceChange();
  return (text === "" ? undefined : JSON.parse(text)) as T;
}

/** @throws ApiProblem for every answer that is no success, and where none came. */
export async function send(
  { method, path, body, unchanged }: ApiRequest,
  options: { readonly signal?: AbortSignal; readonly accept?: string } = {},
): Promise<Response> {
  const headers: Record<string, string> = { Accept: options.accept ?? "application/json" };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (method !== "GET" && csrfToken !== null) headers["X-CSRF-Token"] = csrfToken;
  const etag = unchanged === undefined ? undefined : etags.get(unchanged);
  if (etag !== undefined) headers["If-Match"] = etag;
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
  // A step such as `suspend` answers with the row that it was conditional on.
  noteEtag(method === "GET" || method === "PATCH" ? path : unchanged, answer);
  return answer;
}

function noteEtag(path: string | undefined, answer: Response): void {
  const etag = answer.headers.get("ETag");
  if (etag === null || path === undefined) return;
  etags.delete(path);
  etags.set(path, etag);
  const [oldest] = etags.keys();
  if (etags.size > MAX_ETAGS && oldest !== undefined) etags.delete(oldest);
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
  etags.clear();
}

function noteSession(session: Session): Session {
  csrfToken = session.csrfToken;
  return session;
}
