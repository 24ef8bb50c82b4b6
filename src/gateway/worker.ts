import { createApp } from "./app.ts";
import type { Env } from "./env.ts";
import { forgetOldSiteBytes } from "./publishing/forget-blobs.ts";
import { forgetOldUsage } from "./usage/usage.ts";
import { wakeRecent } from "./wake.ts";

export { AuditHead } from "./durable/audit-head.ts";
export { LiveFeed } from "./durable/live-feed.ts";
export { MetricsStore } from "./durable/metrics-store.ts";
export { Notifier } from "./durable/notifier.ts";
export { OriginHub } from "./durable/origin-hub.ts";
export { RateLimiter } from "./durable/rate-limiter.ts";

const app = createApp();

export default {
  fetch: (request, env, ctx) => app.fetch(request, env, ctx),
  async scheduled(_controller, env) {
    const now = Date.now();
    const { woken, failed } = await wakeRecent(env, now);
    const forgotten = await forgetOldUsage(env, now);
    const siteBytes = await forgetOldSiteBytes(env, now);
    console.log(JSON.stringify({ event: "cron", woken, failed, forgotten, siteBytes }));
  },
} satisfies ExportedHandler<Env>;
