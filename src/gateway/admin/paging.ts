import { z } from "@hono/zod-openapi";
import { sha256Hex } from "../../core/integrity.ts";
import { decodeCursor, encodeCursor, type Page, type PageRequest } from "../registry/page.ts";
import { urlOf } from "../request-url.ts";
import type { AdminContext } from "./environment.ts";
import { Problem } from "./problem.ts";

/** How lists come in pages. A cursor is of one list with one set of filters, and is taken by no other. */

const MAX_PAGE = 200;
const DEFAULT_PAGE = 50;
const MAX_CURSOR_CHARS = 1024;
/** Of the hash of the list that a cursor is of. */
const LIST_DIGITS = 16;

const LIMIT_SENTENCE = `must be a whole number from 1 to ${MAX_PAGE}`;

export const PageQuery = z.strictObject({
  limit: z
    .string({ error: LIMIT_SENTENCE })
    .regex(/^[1-9]\d{0,2}$/, { error: LIMIT_SENTENCE })
    .transform(Number)
    .refine((limit) => limit <= MAX_PAGE, { error: LIMIT_SENTENCE })
    .optional()
    .openapi({
      param: { name: "limit", in: "query" },
      type: "integer",
      minimum: 1,
      maximum: MAX_PAGE,
      default: DEFAULT_PAGE,
    }),
  cursor: z
    .string({ error: "must be given once" })
    .max(MAX_CURSOR_CHARS, { error: `must have at most ${MAX_CURSOR_CHARS} characters` })
    .optional()
    .openapi({
      param: { name: "cursor", in: "query" },
      description: "`nextCursor` of the page before, asked with the same filters; `limit` may be another.",
    }),
});

/** The schema of a page of something. */
export function pageOf<T extends z.ZodType>(name: string, item: T) {
  return z.object({ items: z.array(item), nextCursor: z.string().nullable() }).openapi(name);
}

const CURSOR_SENTENCE = "must be the nextCursor of an earlier page of this very list, asked with the same filters";

/** @throws Problem `bad_cursor` for a cursor that no page of this list, with these filters, gave. */
export async function pageRequest<Key>(
  c: AdminContext,
  { limit = DEFAULT_PAGE, cursor }: { limit?: number | undefined; cursor?: string | undefined },
  isKey: (key: unknown) => key is Key,
): Promise<PageRequest<Key>> {
  if (cursor === undefined) return { limit, after: null };
  const after = decodeCursor(cursor.split(".", 1)[0] ?? "");
  if (isKey(after) && cursor === (await cursorOfList(c, encodeCursor(after)))) return { limit, after };
  throw new Problem("bad_cursor", {
    detail: `cursor ${CURSOR_SENTENCE}.`,
    errors: [{ field: "cursor", message: CURSOR_SENTENCE }],
  });
}

/** A page as a route answers it. */
export async function pageBody<Row, Item>(
  c: AdminContext,
  { items, nextCursor }: Page<Row>,
  show: (row: Row) => Item,
): Promise<{ items: Item[]; nextCursor: string | null }> {
  return { items: items.map(show), nextCursor: nextCursor === null ? null : await cursorOfList(c, nextCursor) };
}

/** The cursor of a position in the list that a request asks for. */
export async function cursorOfList(
  { req }: { readonly req: { readonly url: string } },
  position: string,
): Promise<string> {
  const { pathname, searchParams } = urlOf(req);
  const filters = [...searchParams].filter(([name]) => name !== "cursor" && name !== "limit").sort();
  const list = await sha256Hex(new TextEncoder().encode(JSON.stringify([pathname, filters])));
  return `${position}.${list.slice(0, LIST_DIGITS)}`;
}
