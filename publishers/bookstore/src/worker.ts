import { type Context, Hono } from "hono";
import { bodyLimit } from "hono/body-limit";
import { cors } from "hono/cors";
import { z } from "zod";
import { findBook, genreStock, listGenres, searchBooks } from "./catalog.ts";
import { findOrder, placeOrder } from "./orders.ts";

const MAX_ORDER_BYTES = 4096;
const MAX_QUANTITY = 100;

const searchSchema = z.object({
  q: z.string().max(200).optional(),
  genre: z.string().max(100).optional(),
  max_price: z.coerce.number().nonnegative().optional(),
  limit: z.coerce.number().int().min(1).max(52).default(20),
});

const orderSchema = z.strictObject({
  book_id: z.string().min(1).max(40),
  quantity: z.number().int().min(1).max(MAX_QUANTITY).default(1),
});

/** The bookstore's API over D1: catalog, stock and orders. Errors are `{error, message}` with a fitting status. */
const app = new Hono<{ Bindings: { DB: D1Database } }>();

// As public/_headers for the files.
app.use(cors());

app.use("/api/*", async (c, next) => {
  await next();
  c.header("Cache-Control", "no-store");
});

app.get("/api/books", async (c) => {
  const query = searchSchema.safeParse(c.req.query());
  if (!query.success) return invalid(c, query.error);
  const { q, genre, max_price, limit } = query.data;
  return c.json(await searchBooks(c.env.DB, { q, genre, maxPrice: max_price, limit }));
});

app.get("/api/books/:id", async (c) => {
  const book = await findBook(c.env.DB, c.req.param("id"));
  return book === null ? c.json({ error: "no_such_book", message: "No book has this id." }, 404) : c.json(book);
});

app.get("/api/genres", async (c) => c.json({ genres: await listGenres(c.env.DB) }));

app.get("/api/genres/:genre/stock", async (c) => {
  const stock = await genreStock(c.env.DB, c.req.param("genre"));
  return stock === null ? c.json({ error: "no_such_genre", message: "No book has this genre." }, 404) : c.json(stock);
});

app.post(
  "/api/orders",
  bodyLimit({
    maxSize: MAX_ORDER_BYTES,
    onError: (c) => c.json({ error: "too_large", message: `An order has at most ${MAX_ORDER_BYTES} bytes.` }, 413),
  }),
  async (c) => {
    const body = await c.req.json().catch(() => undefined);
    const request = orderSchema.safeParse(body);
    if (!request.success) return invalid(c, request.error);
    const { book_id: bookId, quantity } = request.data;
    const result = await placeOrder(c.env.DB, { bookId, quantity }, Date.now(), `ord_${crypto.randomUUID()}`);
    switch (result.state) {
      case "no_such_book":
        return c.json({ error: "no_such_book", message: "No book has this id." }, 404);
      case "out_of_stock":
        return c.json(
          {
            error: "out_of_stock",
            message: `Of "${result.title}" only ${result.stock} are left; nothing was ordered.`,
            stock: result.stock,
          },
          409,
        );
      case "placed":
        return c.json({ ...result.order, title: result.title, stockLeft: result.stockLeft }, 201);
    }
  },
);

app.get("/api/orders/:id", async (c) => {
  const order = await findOrder(c.env.DB, c.req.param("id"));
  return order === null ? c.json({ error: "no_such_order", message: "No order has this id." }, 404) : c.json(order);
});

app.notFound((c) => c.json({ error: "not_found", message: "This site has no such page." }, 404));

function invalid(c: Context, error: z.ZodError) {
  const issue = error.issues[0];
  const field = issue?.path.join(".") || "request";
  return c.json({ error: "bad_request", message: `${field}: ${issue?.message ?? "invalid"}` }, 400);
}

export default app;
