import { DAY_MS } from "../durations.ts";

declare const calendarDateBrand: unique symbol;

/** A real calendar day in UTC, `YYYY-MM-DD`. Two of them compare as text. */
export type CalendarDate = string & { readonly [calendarDateBrand]: true };

/** True for a day that exists: `2026-02-28` is one, `2026-02-30`, `2026-2-8` and `2026/02/28` are none. */
export function isCalendarDate(text: string): text is CalendarDate {
  if (!/^[0-9]{4}-[0-9]{2}-[0-9]{2}$/.test(text)) return false;
  const start = Date.parse(`${text}T00:00:00Z`);
  return !Number.isNaN(start) && calendarDateOf(start) === text;
}

/** The UTC day of a moment, epoch milliseconds within the years 0 to 9999. */
export function calendarDateOf(epochMs: number): CalendarDate {
  return new Date(epochMs).toISOString().slice(0, 10) as CalendarDate;
}

/** The day `days` days after another; `days` may be negative. */
export function addDays(date: CalendarDate, days: number): CalendarDate {
  return calendarDateOf(Date.parse(`${date}T00:00:00Z`) + days * DAY_MS);
}
