import { Hono } from "hono";
import { cors } from "hono/cors";

/** The demo publisher's whole API: the time of the server, which a sandboxed tool cannot know by itself. */
const app = new Hono();

// As public/_headers for the files.
app.use(cors());

app.get("/api/time", (c) => {
  const now = new Date();
  c.header("Cache-Control", "no-store");
  return c.json({ now: now.toISOString(), epoch: now.getTime() });
});

app.notFound((c) => c.json({ error: "not_found", message: "This site has no such page." }, 404));

export default app;
