import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { type ApiProblem, toProblem } from "./problem.ts";
import { get, onChange, onReplacement } from "./request.ts";
import { isTouched, restAfter } from "./touched.ts";
import type { Page } from "./types.ts";

/** What is known of something that is read from the API. While it is read again the old stays. */
export interface Query<T> {
  readonly data: T | undefined;
  readonly problem: ApiProblem | undefined;
  readonly isLoading: boolean;
  /** Whether `data` is of what is asked for now, not of what was asked for before. */
  readonly isCurrent: boolean;
  readonly reload: () => void;
}

/** Several events in a row cause one reading, so long after the first one. */
const SETTLE_MS = 250;

/** Reads a path now, whenever it changes, and whenever something may have changed; null reads nothing. */
export function useQuery<T>(path: string | null): Query<T> {
  return useReading<T>(path, path === null ? null : (signal) => get<T>(path, signal));
}

/** As {@link useQuery} for what takes more than one request. `key` says what is read; `keepsOld`: until that is there, what was read before stays. */
export function useReading<T>(
  key: string | null,
  read: ((signal: AbortSignal) => Promise<T>) | null,
  keepsOld = false,
): Query<T> {
  const [known, setKnown] = useState<{ key: string | null; data?: T; problem?: ApiProblem }>({ key: null });
  const [isLoading, setLoading] = useState(false);
  const running = useRef<AbortController | null>(null);
  const latest = useRef(read);
  latest.current = read;

  const startedAt = useRef(0);

  const load = useCallback(() => {
    running.current?.abort();
    startedAt.current = Date.now();
    if (key === null || latest.current === null) return;
    const controller = new AbortController();
    running.current = controller;
    setLoading(true);
    latest.current(controller.signal).then(
      (data) => {
        if (controller.signal.aborted) return;
        setKnown({ key, data });
        setLoading(false);
      },
      (error) => {
        if (controller.signal.aborted) return;
        setKnown((before) => ({ ...(before.key === key ? before : {}), key, problem: toProblem(error) }));
        setLoading(false);
      },
    );
  }, [key]);

  useEffect(() => {
    load();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const stop = onChange((what) => {
      // What happens without a pause must not keep the reading away for ever: the first event sets the time.
      if (timer !== undefined || !isTouched(key ?? "", what)) return;
      const rest = startedAt.current + restAfter(key ?? "") - Date.now();
      timer = setTimeout(
        () => {
          timer = undefined;
          load();
        },
        Math.max(SETTLE_MS, rest),
      );
    });
    const stopReplacing = onReplacement((path, row) => {
      if (path !== key) return;
      // What is being read may be older than this.
      running.current?.abort();
      setKnown({ key, data: row as T });
      setLoading(false);
    });
    return () => {
      stop();
      stopReplacing();
      clearTimeout(timer);
      running.current?.abort();
    };
  }, [load, key]);

  const isCurrent = known.key === key;
  return {
    data: isCurrent || keepsOld ? known.data : undefined,
    problem: isCurrent ? known.problem : undefined,
    isLoading,
    isCurrent,
    reload: load,
  };
}

export interface PagedQuery<T> extends Query<Page<T>> {
  /** From 1. */
  readonly page: number;
  readonly next: (() => void) | null;
  readonly previous: (() => void) | null;
}

/** The way to the page after the one that is asked for; while an older page is still on the screen, its cursor leads nowhere. */
export function followed(cursors: readonly string[], following: string, isCurrent: boolean): readonly string[] {
  return isCurrent ? [...cursors, following] : cursors;
}

/** A list, one page at a time: what is on the screen stays small however long the list is. */
export function usePages<T>(path: string | null, limit = 50): PagedQuery<T> {
  const [trail, setTrail] = useState<{ path: string | null; cursors: readonly string[] }>({ path, cursors: [] });
  const cursors = trail.path === path ? trail.cursors : [];
  const cursor = cursors.at(-1);
  const joint = path?.includes("?") ? "&" : "?";
  const asked =
    path === null
      ? null
      : `${path}${joint}limit=${limit}${cursor === undefined ? "" : `&cursor=${encodeURIComponent(cursor)}`}`;
  const query = useReading<Page<T>>(asked, asked === null ? null : (signal) => get<Page<T>>(asked, signal), true);
  const following = query.data?.nextCursor ?? null;
  return {
    ...query,
    page: cursors.length + 1,
    next: following === null ? null : () => setTrail({ path, cursors: followed(cursors, following, query.isCurrent) }),
    previous: cursors.length === 0 ? null : () => setTrail({ path, cursors: cursors.slice(0, -1) }),
  };
}

/** The whole of a list that is known to be short, up to a bound. */
export function useAll<T>(path: string, most = 1_000): Query<readonly T[]> {
  return useReading<readonly T[]>(`${path} #${most}`, (signal) => readAll<T>(path, most, signal));
}

/** As {@link useAll} shows it. @throws ApiProblem. */
export async function readAll<T>(path: string, most: number, signal: AbortSignal): Promise<readonly T[]> {
  const items: T[] = [];
  const joint = path.includes("?") ? "&" : "?";
  let cursor: string | null = "";
  while (cursor !== null && items.length < most) {
    const more: string = cursor === "" ? "" : `&cursor=${encodeURIComponent(cursor)}`;
    const page: Page<T> = await get<Page<T>>(`${path}${joint}limit=100${more}`, signal);
    items.push(...page.items);
    cursor = page.nextCursor;
  }
  return items;
}

/** A text that somebody is typing, once it has stood for a moment. */
export function useSettled(text: string): string {
  const [settled, settle] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => settle(text), SETTLE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
}

/** A query string of what is set, with its question mark; empty where nothing is. */
export function queryOf(values: Readonly<Record<string, string | number | null | undefined>>): string {
  const set = Object.entries(values).filter(([, value]) => value !== null && value !== undefined && value !== "");
  const text = new URLSearchParams(set.map(([name, value]) => [name, String(value)])).toString();
  return text === "" ? "" : `?${text}`;
}
