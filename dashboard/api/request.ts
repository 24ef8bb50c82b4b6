import type { WireRequest } from "./curl.ts";
import { ApiProblem, operatorChanged, problemOf, refusedEntry, unreachable } from "./problem.ts";
import type { Change } from "./touched.ts";
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
  /** It creates something: whoever sends it gives it an `Idempotency-Key`, so that to send it again creates nothing more. */
  readonly creates?: true;
  readonly idempotencyKey?: string;
  readonly accept?: string;
}

/** Who is signed in, with the proof that a request comes from this console: the session itself is a cookie that no script reads. */
let held: Session | null = null;
/** Where each row came from, and its `ETag`: of what stands on the screen, however much newer rows were read since. */
const readings = new WeakMap<object, { readonly path: string; readonly etag: string | null }>();

const sessions = new Set<(session: Session | null) => void>();
const changes = new Set<(what: Change) => void>();
const replacements = new Set<(path: string, row: unknown) => void>();

/** Calls back when the gateway says that nobody is signed in any more (null), or that somebody else is. */
export function onSession(listener: (session: Session | null) => void): () => void {
  sessions.add(listener);
  return () => sessions.delete(listener);
}

function tellSession(session: Session | null): void {
  held = session;
  for (const listener of sessions) listener(session);
}

/** Calls back when something may have changed: after each request that changes, and on live events. */
export function onChange(listener: (what: Change) => void): () => void {
  changes.add(listener);
  return () => changes.delete(listener);
}

/** @param what of a live event; left out: anything may have changed. */
export function announceChange(what: Change = null): void {
  // Whatever is asked while nobody is signed in counts as a failed sign-in.
  if (held === null) return;
  for (const listener of changes) listener(what);
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

/** The request as it is sent, and as it is shown as a command: all but the proof of who asks. */
export function wireOf({ method, path, body, unchanged, idempotencyKey, accept }: ApiRequest): WireRequest {
  const headers: Record<string, string> = {};
  if (accept !== undefined) headers.Accept = accept;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (idempotencyKey !== undefined) headers["Idempotency-Key"] = idempotencyKey;
  if (unchanged !== undefined) {
    const reading = readings.get(unchanged);
    if (reading === undefined) throw new Error("The request is conditional on a row that was not read.");
    if (reading.etag !== null) headers["If-Match"] = reading.etag;
  }
  const url = location.origin + API + path;
  return { method, url, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
}

/** The same request with a key of its own, where it creates something. */
export function keyed(request: ApiRequest): ApiRequest {
  return request.creates === true ? { ...request, idempotencyKey: crypto.randomUUID() } : request;
}

/**
 * Sends a request, and once more where another tab signed in anew or Cloudflare Access renewed its proof meanwhile.
 *
 * @throws ApiProblem for every answer that is no success, and where none came.
 */
export async function send(request: ApiRequest, options: { readonly signal?: AbortSignal } = {}): Promise<Response> {
  const first = await perform(request, options.signal);
  if (first.ok) return first;
  let problem = await problemOf(first);
  if (problem.code === "csrf" && !isSignIn(request)) {
    await renewProof();
    const second = await perform(request, options.signal);
    if (second.ok) return second;
    problem = await problemOf(second);
  }
  if (problem.status === 401 && request.path !== "/session") tellSession(null);
  // The role is another one than the screen knows.
  if (problem.code === "role_forbidden" && request.method !== "GET") announceChange();
  throw problem;
}

function isSignIn({ method, path }: ApiRequest): boolean {
  return method === "POST" && path === "/session";
}

async function perform(request: ApiRequest, signal: AbortSignal | undefined): Promise<Response> {
  const { method, url, headers, body } = wireOf(request);
  const proof = method === "GET" ? null : (held?.csrfToken ?? null);
  let answer: Response;
  try {
    answer = await fetch(url, {
      method,
      headers: proof === null ? headers : { ...headers, "X-CSRF-Token": proof },
      credentials: "same-origin",
      // The API redirects nowhere: whoever guards the host asks for a sign-in of its own.
      redirect: "manual",
      ...(body === undefined ? {} : { body }),
      ...(signal === undefined ? {} : { signal }),
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw unreachable();
  }
  if (answer.type === "opaqueredirect") throw refusedEntry();
  return answer;
}

/** @throws ApiProblem `unauthorized`, or where what was asked for would now be done in somebody else's name. */
async function renewProof(): Promise<void> {
  const before = held;
  const { session } = await findSession();
  if (session === null) {
    tellSession(null);
    throw new ApiProblem(401, { code: "unauthorized", detail: "Nobody is signed in any more." });
  }
  if (before !== null && before.operator.id !== session.operator.id) {
    tellSession(session);
    throw operatorChanged(session.operator.name);
  }
}

/** @returns Whether the answer is a row. */
function noteReading(path: string, answer: Response, read: unknown): boolean {
  if (typeof read !== "object" || read === null) return false;
  const etag = answer.headers.get("ETag");
  readings.set(read, { path, etag });
  return etag !== null;
}

/** Who a browser is, or why it is nobody. */
export type Found = { readonly session: Session } | { readonly session: null; readonly refusal: ApiProblem };

/** The session that the browser's cookie, or Cloudflare Access, stands for. @throws ApiProblem. */
export async function findSession(): Promise<Found> {
  try {
    return { session: noteSession(await get<Session>("/session")) };
  } catch (error) {
    if (error instanceof ApiProblem && error.status === 401) return { session: null, refusal: error };
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
  held = null;
}

function noteSession(session: Session): Session {
  held = session;
  return session;
}
