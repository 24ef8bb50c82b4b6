import type { CanonicalOrigin } from "../../core/origin.ts";
import type { OriginStatus } from "../../core/runtime/origin-status.ts";
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
 * Starts a runtime. An origin that has nothing to serve, or that failed, is looked at again after 1 s, then after twice as long each time, at
 * most every minute; one that is well after `intervalMs`, where that is given.
 */
export function keepRefreshing(runtime: Runtime, intervalMs: number | null): Refreshing {
  const timers = new Map<CanonicalOrigin, NodeJS.Timeout>();
  const attempts = new Map<CanonicalOrigin, number>();
  let isOver = false;

  const look = async (only?: ReadonlySet<CanonicalOrigin>) => {
    await (only === undefined ? runtime.refresh() : runtime.refresh(only));
    for (const status of runtime.statuses) if (only === undefined || only.has(status.origin)) plan(status);
  };
  const plan = (status: OriginStatus) => {
    const { origin } = status;
    clearTimeout(timers.get(origin));
    if (isOver) return;
    const attempt = isWell(runtime, status) ? 0 : (attempts.get(origin) ?? 0) + 1;
    attempts.set(origin, attempt);
    const wait = attempt === 0 ? intervalMs : Math.min(FIRST_RETRY_MS * 2 ** (attempt - 1), LAST_RETRY_MS);
    if (wait !== null)
      timers.set(
        origin,
        setTimeout(() => void look(new Set([origin])), wait),
      );
  };

  void runtime.start().then(() => runtime.statuses.forEach(plan));
  return {
    now: () => void look(),
    [Symbol.dispose]: () => {
      isOver = true;
      for (const timer of timers.values()) clearTimeout(timer);
    },
  };
}

function isWell(runtime: Runtime, status: OriginStatus): boolean {
  if (status.state !== "discovered" || status.failure !== null) return false;
  return runtime.catalogs.some(({ origin, skills }) => origin === status.origin && skills.length > 0);
}
