import { addDays, type CalendarDate, calendarDateOf, isCalendarDate } from "../../core/attestation/calendar-date.ts";
import { CommandError } from "../command-error.ts";

/** From the day of signing to the last day on which the attestation holds. */
export interface Period {
  readonly signedOn: CalendarDate;
  readonly validUntil: CalendarDate;
}

export interface PeriodFlags {
  readonly days?: string;
  readonly until?: string;
}

/** Ten years: whoever vouches for code longer than that has not thought about it. */
const MAX_DAYS = 3_653;

/**
 * Signed today (UTC), until a later day that exists.
 *
 * @param now epoch milliseconds.
 * @throws {CommandError} `usage` unless exactly one of both is given, `bad_date`.
 */
export function readPeriod({ days, until }: PeriodFlags, now: number): Period {
  const signedOn = calendarDateOf(now);
  const last = addDays(signedOn, MAX_DAYS);
  if ((days === undefined) === (until === undefined)) {
    throw new CommandError("usage", "Say how long the attestation holds: either --days N or --until YYYY-MM-DD.");
  }
  if (days !== undefined) {
    const count = /^[1-9][0-9]{0,4}$/.test(days) ? Number(days) : 0;
    if (count >= 1 && count <= MAX_DAYS) return { signedOn, validUntil: addDays(signedOn, count) };
    throw new CommandError("bad_date", `--days must be a whole number from 1 to ${MAX_DAYS}.`);
  }
  if (until === undefined || !isCalendarDate(until)) {
    throw new CommandError("bad_date", `--until must be a day of the calendar, written YYYY-MM-DD; ${until} is none.`);
  }
  if (until <= signedOn || until > last) {
    throw new CommandError("bad_date", `--until must be later than today (${signedOn}, UTC) and at most ${last}.`);
  }
  return { signedOn, validUntil: until };
}
