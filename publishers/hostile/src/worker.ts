import { type Context, Hono } from "hono";
import { cors } from "hono/cors";

const SLOW_MS = 60_000;
/** Long enough for what was sent before to arrive. */
const FLUSH_MS = 100;
const HUGE_BYTES = 100_000_000;

/** A publisher's API that behaves as badly as HTTP allows. Every answer is bounded in bytes and time. */
const app = new Hono();

// As public/_headers for the files.
app.use(cors());

app.all("/api/count", (c) => c.text("1"));

/** What a tool must never see through a redirect: the other origin of `/api/redirect-away` serves it. */
app.get("/api/secret", (c) => c.text("This text belongs to another origin."));

app.get("/api/redirect-away", (c) => {
  const away = new URL("/api/secret", c.req.url);
  // Locally the same server under its other name, so that a client which follows really gets the secret.
  if (away.hostname === "127.0.0.1") away.hostname = "localhost";
  else away.host = "example.com";
  return c.redirect(away.href, 302);
});

app.get("/api/redirect-loop", (c) => c.redirect("/api/redirect-loop", 302));

/** Says nothing for a minute. */
app.get("/api/slow", async (c) => {
  await wait(SLOW_MS);
  return c.text("At last.");
});

/** Starts a body and leaves it open for a minute. */
app.get("/api/stalled", (c) =>
  streamed(c, async (writer) => {
    await writer.write(bytes("It begins"));
    await wait(SLOW_MS);
  }),
);

/** Announces a thousand bytes and breaks off after ten. */
app.get("/api/broken", (c) => {
  const { readable, writable } = new FixedLengthStream(1000);
  const writer = writable.getWriter();
  const write = async () => {
    await writer.write(bytes("Ten bytes."));
    await wait(FLUSH_MS);
    await writer.abort(new Error("broken on purpose"));
  };
  c.executionCtx.waitUntil(write().catch(() => undefined));
  return new Response(readable, { headers: { "Content-Type": "text/plain" } });
});

/** A hundred million bytes without an announced length. */
app.get("/api/huge", (c) =>
  streamed(c, async (writer) => {
    const chunk = new Uint8Array(65_536).fill(0x78);
    for (let sent = 0; sent < HUGE_BYTES; sent += chunk.byteLength) await writer.write(chunk);
  }),
);

app.notFound((c) => c.json({ error: "not_found", message: "This site has no such page." }, 404));

type Writer = WritableStreamDefaultWriter<Uint8Array>;

/** Streams what `write` produces; a reader that leaves ends it. */
function streamed(c: Context, write: (writer: Writer) => Promise<void>): Response {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const writer = writable.getWriter();
  c.executionCtx.waitUntil(
    write(writer)
      .then(() => writer.close())
      .catch(() => undefined),
  );
  return new Response(readable, { headers: { "Content-Type": "text/plain; charset=utf-8" } });
}

function bytes(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

function wait(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

export default app;
