/** A placed order. Money is in euros. */
export interface Order {
  readonly id: string;
  readonly bookId: string;
  readonly quantity: number;
  readonly total: number;
  /** ISO 8601, UTC. */
  readonly createdAt: string;
}

export type OrderResult =
  | { readonly state: "placed"; readonly order: Order; readonly title: string; readonly stockLeft: number }
  | { readonly state: "out_of_stock"; readonly title: string; readonly stock: number }
  | { readonly state: "no_such_book" };

export interface OrderRequest {
  readonly bookId: string;
  /** At least 1. */
  readonly quantity: number;
}

interface OrderRow {
  id: string;
  book_id: string;
  quantity: number;
  total_cents: number;
  created_at: number;
}

const COLUMNS = "id, book_id, quantity, total_cents, created_at";

/**
 * Places an order, or none.
 *
 * One D1 batch is one transaction: the order is inserted only while the stock suffices, and the stock falls only where
 * that order is there. So a buyer who loses the race for the last copy leaves nothing behind. The CHECK on `books.stock`
 * would roll the whole batch back should the two ever disagree.
 */
export async function placeOrder(
  db: D1Database,
  request: OrderRequest,
  now: number,
  orderId: string,
): Promise<OrderResult> {
  const { bookId, quantity } = request;
  const [inserted, , books] = await db.batch<OrderRow & { title: string; stock: number }>([
    db
      .prepare(
        `INSERT INTO orders (${COLUMNS})
         SELECT ?1, id, ?3, price_cents * ?3, ?4 FROM books WHERE id = ?2 AND stock >= ?3
         RETURNING ${COLUMNS}`,
      )
      .bind(orderId, bookId, quantity, now),
    db
      .prepare("UPDATE books SET stock = stock - ?3 WHERE id = ?2 AND EXISTS (SELECT 1 FROM orders WHERE id = ?1)")
      .bind(orderId, bookId, quantity),
    db.prepare("SELECT title, stock FROM books WHERE id = ?").bind(bookId),
  ]);
  const book = books?.results[0];
  if (book === undefined) return { state: "no_such_book" };
  const row = inserted?.results[0];
  if (row === undefined) return { state: "out_of_stock", title: book.title, stock: book.stock };
  return { state: "placed", order: toOrder(row), title: book.title, stockLeft: book.stock };
}

export async function findOrder(db: D1Database, id: string): Promise<Order | null> {
  const row = await db.prepare(`SELECT ${COLUMNS} FROM orders WHERE id = ?`).bind(id).first<OrderRow>();
  return row === null ? null : toOrder(row);
}

function toOrder(row: OrderRow): Order {
  return {
    id: row.id,
    bookId: row.book_id,
    quantity: row.quantity,
    total: row.total_cents / 100,
    createdAt: new Date(row.created_at).toISOString(),
  };
}
