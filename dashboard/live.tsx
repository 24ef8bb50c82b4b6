import { useEffect, useState } from "preact/hooks";
import { API, announceChange } from "./api/request.ts";

/** How the screens learn that something changed. */
type Way = "connecting" | "streaming" | "polling";

/** Where no stream is to be had, the screens are read anew so often, while somebody looks at them. */
const POLL_MS = 15_000;
/** A stream that fails is tried again after so long; meanwhile the console polls. */
const RETRY_MS = 30_000;
const EVENTS = ["audit", "discovery", "usage", "reset"];

/** Follows the gateway's event stream; the browser resumes it by itself where it breaks off. */
export function LiveUpdates() {
  const [way, setWay] = useState<Way>("connecting");
  useEffect(() => {
    let source: EventSource | undefined;
    let retry: ReturnType<typeof setTimeout> | undefined;
    const poll = setInterval(() => {
      if (source?.readyState !== EventSource.OPEN && document.visibilityState === "visible") announceChange();
    }, POLL_MS);
    const follow = () => {
      source = new EventSource(`${API}/events`);
      source.onopen = () => setWay("streaming");
      for (const name of EVENTS) source.addEventListener(name, announceChange);
      source.onerror = () => {
        setWay("polling");
        // While it is connecting the browser tries by itself; closed means that the gateway refused.
        if (source?.readyState === EventSource.CLOSED) retry = setTimeout(follow, RETRY_MS);
      };
    };
    follow();
    return () => {
      source?.close();
      clearTimeout(retry);
      clearInterval(poll);
    };
  }, []);
  return (
    <p class={`live ${way}`} role="status">
      {way === "streaming" ? "Live" : way === "polling" ? "Updates every 15 s" : "Connecting…"}
    </p>
  );
}
