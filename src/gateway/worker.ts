import { createApp } from "./app.ts";
import type { Env } from "./env.ts";
import { wakeRecent } from "./wake.ts";

export { AuditHead } from "./durable/audit-head.ts";
export { MetricsStore } from "./durable/metrics-store.ts";
export { OriginHub } from "./durable/origin-hub.ts";
export { RateLimiter } from "./durable/rate-limiter.ts";

const app = createApp();

export default {
  fetch: (request, env, ctx) => app.fetch(request, env, ctx),
  async scheduled(_controller, env) {
    const { woken, failed } = await wakeRecent(env, Date.now());
    console.log(JSON.stringify({ event: "cron", woken, failed }));
  },
} satisfies ExportedHandler<Env>;
