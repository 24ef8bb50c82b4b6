import { useEffect, useState } from "preact/hooks";
import { queryOf, useSettled } from "../api/query.ts";
import { go, usePlace } from "../router.tsx";

/** A filter's fields: a moment is typed as local time, and is milliseconds since 1970 in the address and for the API. */
export type FilterKinds = Readonly<Record<string, "text" | "moment">>;
type Fields<Kinds extends FilterKinds> = Readonly<Record<keyof Kinds & string, string>>;

/** By the path of a list: the filter that it was last looked at with in this tab. */
const lastAsked = new Map<string, string>();

/** The address of a list with the filter that it was last looked at with. */
export function listAddress(path: string): string {
  return path + (lastAsked.get(path) ?? "");
}

/**
 * The filter of the list at this address. It lives in the address, so that links and the browser's Back keep it; there it is what the
 * API is asked, with its question mark: `asked`. What somebody types goes there once it has stood for a moment.
 *
 * @param kinds the same at every call.
 */
export function useFilter<const Kinds extends FilterKinds>(kinds: Kinds) {
  const { path, query } = usePlace();
  const [fields, setFields] = useState(() => fieldsOf(kinds, query));
  const asked = filterQuery(kinds, fieldsOf(kinds, query));
  const typed = useSettled(filterQuery(kinds, fields));
  useEffect(() => {
    if (typed !== asked) go(path + typed, { replace: true });
  }, [typed]);
  useEffect(() => {
    lastAsked.set(path, asked);
    // Somebody went to another filter of the same list.
    if (typed !== asked) setFields(fieldsOf(kinds, query));
  }, [path, asked]);
  const set = (name: keyof Kinds & string, value: string) => setFields((before) => ({ ...before, [name]: value }));
  return { fields, set, asked };
}

export function fieldsOf<Kinds extends FilterKinds>(kinds: Kinds, query: URLSearchParams): Fields<Kinds> {
  const fields = Object.entries(kinds).map(([name, kind]) => {
    const value = query.get(name) ?? "";
    return [name, kind === "moment" ? localTime(value) : value];
  });
  return Object.fromEntries(fields);
}

export function filterQuery<Kinds extends FilterKinds>(kinds: Kinds, fields: Fields<Kinds>): string {
  const values = Object.entries(kinds).map(([name, kind]) => {
    const value = fields[name] ?? "";
    const at = kind === "moment" ? Date.parse(value) : Number.NaN;
    return [name, kind === "text" ? value : Number.isNaN(at) ? null : at] as const;
  });
  return queryOf(Object.fromEntries(values));
}

/** As a field of the type `datetime-local` has it, to the minute; empty for what is no moment. */
function localTime(milliseconds: string): string {
  const at = new Date(/^\d{1,14}$/.test(milliseconds) ? Number(milliseconds) : Number.NaN);
  if (Number.isNaN(at.getTime())) return "";
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
