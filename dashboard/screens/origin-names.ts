import { useEffect, useReducer } from "preact/hooks";
import { queryOf } from "../api/query.ts";
import { get } from "../api/request.ts";
import type { Origin, Page } from "../api/types.ts";

/** The address of an origin never changes, so that it is asked for once. `null`: it is being asked for. */
const names = new Map<string, string | null>();
const listeners = new Set<() => void>();
/** One request names so many: `ids` of `GET /origins`. */
const MAX_IDS = 100;
const RETRY_MS = 10_000;
const waiting: string[] = [];
let isAsking = false;

function tell(): void {
  for (const listener of listeners) listener();
}

/** All that wait, in one request at a time: a page of a list, or the rules of a client, name many. */
function askNext(): void {
  if (isAsking || waiting.length === 0) return;
  const ids = waiting.splice(0, MAX_IDS);
  isAsking = true;
  get<Page<Origin>>(`/origins${queryOf({ ids: ids.join(","), limit: ids.length })}`)
    .then(({ items }) => {
      for (const id of ids) names.set(id, items.find((origin) => origin.id === id)?.origin ?? id);
    })
    // They are shown by their ids then, and asked for again where they are still shown after a while.
    .catch(() => {
      setTimeout(() => {
        for (const id of ids) names.delete(id);
        tell();
      }, RETRY_MS);
    })
    .finally(() => {
      isAsking = false;
      tell();
      askNext();
    });
}

/** Addresses of origins by their ids: the id itself until its address is known. */
export function useOriginNames(): { readonly nameOf: (id: string) => string } {
  const [, renew] = useReducer((times: number) => times + 1, 0);
  const wanted = new Set<string>();
  useEffect(() => {
    const listener = () => renew(undefined);
    listeners.add(listener);
    return () => {
      listeners.delete(listener);
    };
  }, []);
  useEffect(() => {
    for (const id of wanted) {
      if (names.has(id)) continue;
      names.set(id, null);
      waiting.push(id);
    }
    askNext();
  });
  return {
    nameOf: (id) => {
      if (/^org_[0-9a-f]{24}$/.test(id) && !names.has(id)) wanted.add(id);
      return names.get(id) ?? id;
    },
  };
}
