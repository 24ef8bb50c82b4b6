import { Hono } from "hono";

/** What the gateway is measured against: the framework it uses, and nothing else. */
const app = new Hono();

app.get("/", (c) => c.text("hello"));

export default app;
