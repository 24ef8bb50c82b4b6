import type { TypedResponse } from "hono";
import type { JSONParsed } from "hono/utils/types";
import { sha256Hex } from "../../core/integrity.ts";
import type { Acting } from "../registry/database.ts";
import { findAnswer, keepAnswer } from "../registry/idempotency.ts";
import { urlOf } from "../request-url.ts";
import { type AdminContext, actingNow } from "./environment.ts";
import { Problem } from "./problem.ts";

/** What the routes of one kind of row have in common: reading one, changing one, creating one. */

type Answer<Body, Status extends 200 | 201> = Response & TypedResponse<JSONParsed<Body>, Status, "json">;

/** What calls of clients move, and no operator: it is not part of what an `ETag` names. */
const UNNAMED: ReadonlySet<string> = new Set(["lastCalledAt"]);
const ETAG_DIGITS = 32;

/** A strong entity tag (RFC 9110 §8.8.3) of a row as the API shows it. */
async function etagOf(body: object): Promise<string> {
  const text = JSON.stringify(body, (key, value) => (UNNAMED.has(key) ? undefined : value));
  return `"${(await sha256Hex(new TextEncoder().encode(text))).slice(0, ETAG_DIGITS)}"`;
}

/** Answers 200 with one row and its `ETag`. */
export async function one<Row, Body extends object>(c: AdminContext, row: Row, show: (row: Row) => Body) {
  return answer(c, show(row), 200);
}

/**
 * Answers 200 with a row as a mutation left it. With `If-Match` the mutation is refused where the row is no more as the caller read it;
 * that is judged in the state that the mutation starts from, so that no other change comes between.
 *
 * @throws Problem `precondition_failed`.
 */
export async function changed<Row, Body extends object>(
  c: AdminContext,
  read: () => Promise<Row>,
  change: (acting: Acting) => Promise<Row>,
  show: (row: Row) => Body,
) {
  return answer(c, show(await change(conditionally(c, read, show))), 200);
}

/** The mutation's author and moment, with what `If-Match` requires of the row it changes. */
export function conditionally<Row, Body extends object>(
  c: AdminContext,
  read: () => Promise<Row>,
  show: (row: Row) => Body,
): Acting {
  const acting = actingNow(c);
  const wanted = c.req.header("If-Match");
  if (wanted === undefined) return acting;
  return {
    ...acting,
    async require() {
      const etag = await etagOf(show(await read()));
      if (!matches(wanted, etag)) {
        throw new Problem("precondition_failed", {
          detail: "It is no more as it was when it was read with this ETag; read it again.",
          headers: { ETag: etag },
        });
      }
    },
  };
}

/**
 * RFC 9110 §13.1.1: any version, or one of a list of tags. A tag comes back as a weak one where an edge has compressed the answer that it
 * came with; it still names the row.
 */
function matches(ifMatch: string, etag: string): boolean {
  if (ifMatch.trim() === "*") return true;
  return ifMatch.split(",").some((tag) => tag.trim().replace(/^W\//, "") === etag);
}

/**
 * Answers 201 with what a mutation created. With an `Idempotency-Key` the answer is kept in the mutation's own batch; the same request with
 * the same key then gets it again, with `Idempotent-Replayed: true`, and nothing is created.
 *
 * @param options `isSecret`: the answer shows a secret, which is not kept, so that a repeat is told the id of what was created.
 * @throws Problem `idempotency_mismatch`, `already_exists` (the answer was not kept).
 */
export function created<Row, Body extends object>(
  c: AdminContext,
  make: (acting: Acting) => Promise<Row>,
  show: (row: Row) => Body,
  { isSecret = false }: { readonly isSecret?: boolean } = {},
): Promise<Answer<Body, 201>> {
  return once(c, make, show, 201, { isRow: !isSecret, isSecret });
}

/** As {@link created}, for a mutation of many rows: answers 200 with what became of them. */
export function recorded<Row, Body extends object>(
  c: AdminContext,
  make: (acting: Acting) => Promise<Row>,
  show: (row: Row) => Body,
): Promise<Answer<Body, 200>> {
  return once(c, make, show, 200, { isRow: false, isSecret: false });
}

async function once<Row, Body extends object, Status extends 200 | 201>(
  c: AdminContext,
  make: (acting: Acting) => Promise<Row>,
  show: (row: Row) => Body,
  status: Status,
  { isRow, isSecret }: { readonly isRow: boolean; readonly isSecret: boolean },
): Promise<Answer<Body, Status>> {
  const acting = actingNow(c);
  const key = c.req.header("Idempotency-Key");
  const reply = async (body: object) =>
    (isRow ? await answer(c, body, status) : c.json(body, status)) as Answer<Body, Status>;
  if (key === undefined) return reply(show(await make(acting)));
  const requestSha256 = await requestHash(c);
  const registry = c.get("registry");
  const kept = { actor: acting.actor, key, requestSha256, status, createdAt: acting.now };
  try {
    const row = await make({
      ...acting,
      async require() {
        const earlier = await findAnswer(registry, acting.actor, key, acting.now);
        if (earlier !== null) throw new Repeated(earlier);
      },
      alongside(result) {
        const body = show(result as Row);
        const id = "id" in body && typeof body.id === "string" ? body.id : null;
        return keepAnswer(registry, { ...kept, body: isSecret ? null : JSON.stringify(body), subject: id });
      },
    });
    return reply(show(row));
  } catch (error) {
    if (!(error instanceof Repeated)) throw error;
    const body = keptBody(error.earlier, requestSha256);
    c.header("Idempotent-Replayed", "true");
    return reply(body);
  }
}

type Earlier = NonNullable<Awaited<ReturnType<typeof findAnswer>>>;

/** Ends a mutation that was made before. */
class Repeated extends Error {
  readonly earlier: Earlier;

  constructor(earlier: Earlier) {
    super("The request was answered before.");
    this.earlier = earlier;
  }
}

/** @throws Problem `idempotency_mismatch`, `already_exists`. */
function keptBody({ requestSha256, body, subject }: Earlier, asked: string): object {
  if (requestSha256 !== asked) throw new Problem("idempotency_mismatch");
  if (body !== null) return JSON.parse(body) as object;
  throw new Problem("already_exists", {
    detail: "This request was carried out before, and its answer is not shown again.",
    ...(subject === null ? {} : { id: subject }),
  });
}

async function requestHash(c: AdminContext): Promise<string> {
  const { pathname, search } = urlOf(c.req);
  const text = `${c.req.method} ${pathname}${search}\n${await c.req.text()}`;
  return sha256Hex(new TextEncoder().encode(text));
}

async function answer<Body extends object, Status extends 200 | 201>(
  c: AdminContext,
  body: Body,
  status: Status,
): Promise<Answer<Body, Status>> {
  c.header("ETag", await etagOf(body));
  return c.json(body, status) as unknown as Answer<Body, Status>;
}
