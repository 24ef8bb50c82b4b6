import { withDeadline } from "../deadline.ts";
import type { LiveFeed } from "../durable/live-feed.ts";
import type { Env } from "../env.ts";
import { describeFailure } from "../log.ts";
import type { LiveEvent } from "./live-event.ts";

const PUBLISH_TIMEOUT_MS = 2_000;

/** Tells whoever watches. Never fails: what is not told is found by whoever looks. */
export async function publishLive(env: Env, event: LiveEvent): Promise<void> {
  try {
    await withDeadline(feedOf(env).publish(event), PUBLISH_TIMEOUT_MS);
  } catch (error) {
    console.warn(JSON.stringify({ event: "live_event_not_published", error: describeFailure(error) }));
  }
}

/**
 * Opens an operator's stream: 200 with `text/event-stream`. Whoever has as many as one may have loses the oldest one.
 *
 * @param lastEventId of the stream before, to go on after it; `null`: from now.
 */
export function openLiveStream(env: Env, actor: string, lastEventId: string | null): Promise<Response> {
  const url = `https://skillgate.invalid/?actor=${encodeURIComponent(actor)}`;
  return feedOf(env).fetch(url, lastEventId === null ? {} : { headers: { "Last-Event-ID": lastEventId } });
}

/** The object's methods as a caller sees them. */
interface Feed extends Pick<Fetcher, "fetch"> {
  publish(event: LiveEvent): Promise<void>;
}

function feedOf({ LIVE_FEED }: Env): Feed {
  return LIVE_FEED.get(LIVE_FEED.idFromName("all")) as unknown as Feed & LiveFeed;
}
