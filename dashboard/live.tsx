import { useEffect, useState } from "preact/hooks";
import { API, announceChange } from "./api/request.ts";
import { changeOf } from "./api/touched.ts";

/** How the screens learn that something changed. */
type Way = "connecting" | "streaming" | "polling";

/** Where no stream is to be had, the screens are read anew so often, while somebody looks at them. */
const POLL_MS = 15_000;
/** A stream that was refused, or gave way to another tab's, is tried again after so long; meanwhile the console polls. */
const RETRY_MS = 30_000;
const EVENTS = ["audit", "discovery", "usage", "reset"];

/** Follows the gateway's event stream; the browser resumes it by itself where it breaks off. */
export function LiveUpdates() {
  const [way, setWay] = useState<Way>("connecting");
  useEffect(() => {
    let source: EventSource | undefined;
    let retry: ReturnType<typeof setTimeout> | undefined;
    const isSeen = () => document.visibilityState === "visible";
    const poll = setInterval(() => {
      if (source?.readyState !== EventSource.OPEN && isSeen()) announceChange();
    }, POLL_MS);
    const follow = (isFirst: boolean) => {
      source = new EventSource(`${API}/events`);
      source.onopen = () => {
        setWay("streaming");
        if (!isFirst) announceChange();
      };
      for (const name of EVENTS)
        source.addEventListener(name, ({ data }) => announceChange(changeOf(name, String(data))));
      source.addEventListener("displaced", () => {
        source?.close();
        rest();
      });
      source.onerror = () => {
        setWay("polling");
        // While it is connecting the browser tries by itself; closed means that the gateway refused.
        if (source?.readyState !== EventSource.CLOSED) return;
        rest();
        // Perhaps because whoever looks was signed out, which any reading tells.
        if (isSeen()) announceChange();
      };
    };
    const rest = () => {
      setWay("polling");
      clearTimeout(retry);
      retry = setTimeout(resume, RETRY_MS);
    };
    // A tab that nobody looks at takes no stream from another one.
    const resume = () => {
      if (source?.readyState !== EventSource.CLOSED || !isSeen()) return;
      clearTimeout(retry);
      follow(false);
    };
    document.addEventListener("visibilitychange", resume);
    follow(true);
    return () => {
      document.removeEventListener("visibilitychange", resume);
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
