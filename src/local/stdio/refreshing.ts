import type { CanonicalOrigin } from "../../core/origin.ts";
import type { Runtime } from "../../core/runtime/runtime.ts";

/** Milliseconds before the first repetition of a look that gave nothing to serve; each next one waits twice as long. */
const FIRST_RETRY_MS = 1_000;
const LAST_RETRY_MS = 60_000;

/** Looks at the origins of a runtime again and again, from its start until it is disposed of. */
export interface Refreshing extends Disposable {
  /** Looks at all of them now. */
  now(): void;
}

/**
 * Starts a runtime. An origin that has nothing to serve, that failed, or of which something could not be pinned is looked at again after 1 s,
 * then after twice as long each time, at most every minute; one that is well after `intervalMs`, where that is given.
 */
export function keepRefreshing(runtime: Runtime, intervalMs: number | null): Refreshing {
  const timers = new Map<CanonicalOrigin, NodeJS.Timeout>();
  const attempts = new Map<CanonicalOrigin, number>();
  let isOver = false;

  // Each by itself: one that hangs keeps no other from its next look.
  const look = async (origin: CanonicalOrigin) => {
    await runtime.refresh(new Set([origin]));
    plan(origin);
  };
  const plan = (origin: CanonicalOrigin) => {
    clearTimeout(timers.get(origin));
    if (isOver) return;
    const attempt = isWell(runtime, origin) ? 0 : (attempts.get(origin) ?? 0) + 1;
    attempts.set(origin, attempt);
    const wait = attempt === 0 ? intervalMs : Math.min(FIRST_RETRY_MS * 2 ** (attempt - 1), LAST_RETRY_MS);
    if (wait !== null)
      timers.set(
        origin,
        setTimeout(() => void look(origin), wait),
      );
  };

  const origins = runtime.statuses.map(({ origin }) => origin);
  for (const origin of origins) void runtime.start(new Set([origin])).then(() => plan(origin));
  return {
    now: () => {
      for (const origin of origins) void look(origin);
    },
    [Symbol.dispose]: () => {
      isOver = true;
      for (const timer of timers.values()) clearTimeout(timer);
    },
  };
}

function isWell(runtime: Runtime, origin: CanonicalOrigin): boolean {
  const status = runtime.statuses.find((each) => each.origin === origin);
  if (status?.state !== "discovered" || status.failure !== null) return false;
  // What kept a pin from being written may have gone: a full disk, another process, a folder that could not be written to.
  if (status.refused.some(({ code }) => code === "pin_not_kept")) return false;
  return runtime.catalogs.some((catalog) => catalog.origin === origin && catalog.skills.length > 0);
}
