/** So many lines at most above the one at nought. */
const MOST_STEPS = 4;
const ROUND = [1, 2, 5, 10] as const;

/** Round marks of an axis, from 0 to the first that is not below the largest value; whole numbers. */
export function ticksOf(largest: number): readonly number[] {
  const least = Math.max(1, largest / MOST_STEPS);
  const power = 10 ** Math.floor(Math.log10(least));
  const step = power * (ROUND.find((factor) => factor * power >= least) ?? 10);
  const steps = Math.max(1, Math.ceil(largest / step));
  return Array.from({ length: steps + 1 }, (_, index) => index * step);
}
