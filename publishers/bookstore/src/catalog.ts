/** A book as the API shows it. Money is in euros, from whole cents in the database. */
export interface Book {
  readonly id: string;
  readonly title: string;
  readonly author: string;
  readonly genre: string;
  readonly year: number;
  readonly price: number;
  readonly stock: number;
}

interface BookRow extends Omit<Book, "price"> {
  readonly price_cents: number;
}

export interface CatalogQuery {
  /** Words that title and author must hold, in any order, whatever their case and accents. */
  readonly q?: string | undefined;
  readonly genre?: string | undefined;
  /** Highest price in euros, inclusive. */
  readonly maxPrice?: number | undefined;
  readonly limit: number;
}

export interface CatalogPage {
  /** How many books match, shown or not. */
  readonly total: number;
  /** In order of title. */
  readonly books: readonly Book[];
}

export interface GenreStock {
  readonly genre: string;
  readonly titles: number;
  readonly copies: number;
  readonly soldOut: readonly string[];
}

const COLUMNS = "id, title, author, genre, year, price_cents, stock";
const MAX_WORDS = 8;

/** Finds books. Every condition that is given must hold. */
export async function searchBooks(db: D1Database, query: CatalogQuery): Promise<CatalogPage> {
  const conditions: string[] = [];
  const values: (string | number)[] = [];
  for (const word of fold(query.q ?? "")
    .split(/\s+/)
    .filter(Boolean)
    .slice(0, MAX_WORDS)) {
    // instr and not LIKE: a reader's % is a percent sign.
    conditions.push("instr(search_text, ?) > 0");
    values.push(word);
  }
  if (query.genre !== undefined) {
    conditions.push("genre = ?");
    values.push(query.genre.trim().toLowerCase());
  }
  if (query.maxPrice !== undefined) {
    conditions.push("price_cents <= ?");
    values.push(Math.round(query.maxPrice * 100));
  }
  const where = conditions.length > 0 ? `WHERE ${conditions.join(" AND ")}` : "";
  const [count, rows] = await db.batch<BookRow & { total: number }>([
    db.prepare(`SELECT COUNT(*) AS total FROM books ${where}`).bind(...values),
    db.prepare(`SELECT ${COLUMNS} FROM books ${where} ORDER BY title, id LIMIT ?`).bind(...values, query.limit),
  ]);
  return { total: count?.results[0]?.total ?? 0, books: (rows?.results ?? []).map(toBook) };
}

export async function findBook(db: D1Database, id: string): Promise<Book | null> {
  const row = await db.prepare(`SELECT ${COLUMNS} FROM books WHERE id = ?`).bind(id).first<BookRow>();
  return row === null ? null : toBook(row);
}

export async function listGenres(db: D1Database): Promise<readonly string[]> {
  const { results } = await db.prepare("SELECT DISTINCT genre FROM books ORDER BY genre").all<{ genre: string }>();
  return results.map((row) => row.genre);
}

/** Sums the stock of one genre; `null` where no book has it. */
export async function genreStock(db: D1Database, genre: string): Promise<GenreStock | null> {
  const { results } = await db
    .prepare("SELECT title, stock FROM books WHERE genre = ? ORDER BY title")
    .bind(genre)
    .all<{ title: string; stock: number }>();
  if (results.length === 0) return null;
  return {
    genre,
    titles: results.length,
    copies: results.reduce((sum, row) => sum + row.stock, 0),
    soldOut: results.filter((row) => row.stock === 0).map((row) => row.title),
  };
}

function toBook({ price_cents, ...row }: BookRow): Book {
  return {
    id: row.id,
    title: row.title,
    author: row.author,
    genre: row.genre,
    year: row.year,
    price: price_cents / 100,
    stock: row.stock,
  };
}

function fold(text: string): string {
  return text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();
}
