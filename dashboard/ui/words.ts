const EXACT = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "medium" });
const DAY = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium" });
const NUMBER = new Intl.NumberFormat("en-GB");
const RELATIVE = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
const UNITS = [
  ["year", 31_536_000_000],
  ["month", 2_592_000_000],
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
  ["second", 1_000],
] as const;

export const exactMoment = (at: number) => EXACT.format(at);
export const dayOf = (at: number) => DAY.format(at);
export const number = (value: number) => NUMBER.format(value);

/** `3 minutes ago`, `in 2 days`. */
export function relativeMoment(at: number, now: number): string {
  const distance = at - now;
  for (const [unit, ms] of UNITS) {
    if (Math.abs(distance) >= ms) return RELATIVE.format(Math.trunc(distance / ms), unit);
  }
  return "just now";
}

/** Milliseconds, as exactly as they are worth: they come from a histogram. */
export function milliseconds(ms: number | null | undefined): string {
  if (ms === null || ms === undefined) return "";
  return `${ms < 10 ? ms.toFixed(1) : NUMBER.format(Math.round(ms))} ms`;
}

/** Seconds in the largest unit of which they are a whole number. */
export function duration(seconds: number): string {
  const unit = UNITS.find(([name, ms]) => name !== "month" && name !== "year" && (seconds * 1_000) % ms === 0);
  return seconds === 0 || unit === undefined ? count(seconds, "second") : count((seconds * 1_000) / unit[1], unit[0]);
}

export function bytes(count: number): string {
  if (count < 1024) return `${count} B`;
  if (count < 1024 * 1024) return `${(count / 1024).toFixed(1)} KiB`;
  return `${(count / 1024 / 1024).toFixed(1)} MiB`;
}

/** `1 skill`, `3 skills`. */
export function count(n: number, word: string, words = `${word}s`): string {
  return `${number(n)} ${n === 1 ? word : words}`;
}

/** `unknown_attester` as a person would write it. */
export function phrase(code: string): string {
  return code.replaceAll("_", " ");
}

/** What an unlimited number is called. */
export function limit(value: number | null): string {
  return value === null ? "unlimited" : number(value);
}

/** The public name of a skill. */
export function publicName({ scope, name }: { readonly scope: string | null; readonly name: string }): string {
  return scope === null || scope === "" ? name : `${scope}__${name}`;
}
