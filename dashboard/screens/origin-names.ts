import { useEffect, useReducer } from "preact/hooks";
import { toProblem } from "../api/problem.ts";
import { get } from "../api/request.ts";
import type { Origin } from "../api/types.ts";

/** The address of an origin never changes, so that it is asked for once. `null`: it is being asked for. */
const names = new Map<string, string | null>();
const listeners = new Set<() => void>();
/** Asked at once; a page of a list may name fifty. */
const MAX_ASKED = 6;
const RETRY_MS = 10_000;
const waiting: string[] = [];
let asked = 0;

function tell(): void {
  for (const listener of listeners) listener();
}

function askNext(): void {
  while (asked < MAX_ASKED) {
    const id = waiting.shift();
    if (id === undefined) return;
    asked++;
    get<Origin>(`/origins/${id}`)
      .then(({ origin }) => names.set(id, origin))
      // It is shown by its id then, and asked for again where it is still shown after a while.
      .catch((error) => {
        if (toProblem(error).status === 404) return names.set(id, id);
        return setTimeout(() => {
          names.delete(id);
          tell();
        }, RETRY_MS);
      })
      .finally(() => {
        asked--;
        tell();
        askNext();
      });
  }
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
      if (/^org_[0-9a-f]+$/.test(id) && !names.has(id)) wanted.add(id);
      return names.get(id) ?? id;
    },
  };
}
