import { type OpenAPIHono, z } from "@hono/zod-openapi";
import { KEPT_EVENTS, MAX_STREAMS } from "../live/live-event.ts";
import { openLiveStream } from "../live/live-feed.ts";
import type { AdminEnv } from "./environment.ts";
import { problemResponse } from "./problem.ts";
import { adminRoute } from "./roles.ts";
import { problems } from "./shapes.ts";

const open = adminRoute({
  role: "viewer",
  method: "get",
  path: "/events",
  tags: ["live"],
  summary: "What happens, as it happens",
  description: `Server-sent events: \`audit\` (seq, at, actor, action, subject), \`discovery\` (origin, at, and how it ended, where that is not as before), \`usage\` (at, calls, errors: there is more to read at /usage), \`ready\` (everything missed was sent), \`reset\` (too much was missed: look at everything again). A stream ends after five minutes; \`Last-Event-ID\` goes on with the next one, as browsers do by themselves, from the last ${KEPT_EVENTS} events. At most ${MAX_STREAMS} streams an operator at once: with the next one the oldest ends with \`displaced\`, and should be opened again after half a minute, not at once.`,
  responses: {
    200: { description: "The stream.", content: { "text/event-stream": { schema: z.string() } } },
    ...problems,
  },
});

export function addEventRoutes(app: OpenAPIHono<AdminEnv>): void {
  app.openapi(open, async (c) => {
    const answer = await openLiveStream(c.env, c.get("signedIn").actor, c.req.header("Last-Event-ID") ?? null);
    // Who was signed out before the stream was there to be ended is found here; who is from now on, by the feed.
    let isOpen = false;
    try {
      isOpen = await c.get("isStillSignedIn")();
    } finally {
      if (!isOpen) await answer.body?.cancel();
    }
    return isOpen ? new Response(answer.body, answer) : problemResponse(c, "unauthorized");
  });
}
