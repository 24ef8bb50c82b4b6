import type { ComponentChildren } from "preact";
import { HOUR_MS } from "../../src/core/durations.ts";
import type { Usage } from "../api/types.ts";
import { slotsOf, type UsageSlot } from "../usage-slots.ts";
import { Empty } from "./parts.tsx";
import { ticksOf } from "./ticks.ts";
import { milliseconds, number } from "./words.ts";

const WIDTH = 560;
const HEIGHT = 210;
const LEFT = 58;
const RIGHT = 8;
const TOP = 16;
const BOTTOM = 36;

const TIME = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const DAY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
const BOTH = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });

/** Calls and errors over time. */
export function Calls({ hourly, from }: { readonly hourly: readonly Usage[]; readonly from: number }) {
  const slots = slotsOf(hourly, from);
  const ticks = ticksOf(Math.max(...slots.map(({ calls }) => calls)));
  const y = (value: number) => scaleY(value, ticks.at(-1) ?? 1);
  const step = (WIDTH - LEFT - RIGHT) / slots.length;
  const total = slots.reduce((sum, { calls }) => sum + calls, 0);
  const failed = slots.reduce((sum, { errors }) => sum + errors, 0);
  return (
    <Plot
      title="Calls and errors"
      about={`${number(total)} calls, ${number(failed)} of them errors`}
      isEmpty={total === 0}
      legend={[
        ["", "answered"],
        ["bad", "errors"],
      ]}
      heads={["From", "Calls", "Errors"]}
      rows={slots
        .filter(({ calls }) => calls > 0)
        .map(({ at, calls, errors }) => [BOTH.format(at), number(calls), number(errors)])}
    >
      <Axes slots={slots} ticks={ticks} />
      {slots.map(({ at, calls, errors }, index) => {
        const x = LEFT + index * step + step * 0.12;
        const width = Math.max(1, step * 0.76);
        const good = Math.max(0, calls - errors);
        return (
          <g key={at}>
            {errors > 0 && <rect class="b" x={x} width={width} y={y(errors)} height={y(0) - y(errors)} />}
            {good > 0 && <rect class="a" x={x} width={width} y={y(calls)} height={y(errors) - y(calls)} />}
          </g>
        );
      })}
    </Plot>
  );
}

/** Latency over time. */
export function Latency({ hourly, from }: { readonly hourly: readonly Usage[]; readonly from: number }) {
  const slots = slotsOf(hourly, from);
  const known = slots.filter(({ p95 }) => p95 !== null);
  const ticks = ticksOf(Math.max(0, ...known.map(({ p95 }) => p95 ?? 0)));
  const most = ticks.at(-1) ?? 1;
  const step = (WIDTH - LEFT - RIGHT) / slots.length;
  const points = (pick: (slot: UsageSlot) => number | null) =>
    slots.flatMap((slot, index) => {
      const value = pick(slot);
      return value === null ? [] : [`${(LEFT + (index + 0.5) * step).toFixed(1)},${scaleY(value, most).toFixed(1)}`];
    });
  const dots = (list: readonly string[], kind: string) =>
    list.map((point) => {
      const [x, y] = point.split(",");
      return <circle key={point} class={kind} cx={x} cy={y} r="2.4" />;
    });
  const p50 = points((slot) => slot.p50);
  const p95 = points((slot) => slot.p95);
  return (
    <Plot
      title="Latency in milliseconds"
      about="The time within which half, and 95 of 100, calls were answered"
      isEmpty={known.length === 0}
      legend={[
        ["", "p50"],
        ["warn", "p95"],
      ]}
      heads={["From", "p50", "p95"]}
      rows={known.map((slot) => [BOTH.format(slot.at), milliseconds(slot.p50), milliseconds(slot.p95)])}
    >
      <Axes slots={slots} ticks={ticks} />
      <polyline class="b" points={p95.join(" ")} />
      <polyline class="a" points={p50.join(" ")} />
      {dots(p95, "b")}
      {dots(p50, "a")}
    </Plot>
  );
}

function scaleY(value: number, most: number): number {
  return HEIGHT - BOTTOM - (value / most) * (HEIGHT - TOP - BOTTOM);
}

function Axes({ slots, ticks }: { readonly slots: readonly UsageSlot[]; readonly ticks: readonly number[] }) {
  const most = ticks.at(-1) ?? 1;
  const step = (WIDTH - LEFT - RIGHT) / slots.length;
  const first = slots[0]?.at ?? 0;
  const last = slots.at(-1)?.at ?? first;
  const format = last - first > 48 * HOUR_MS ? DAY : TIME;
  const every = Math.max(1, Math.ceil(slots.length / 6));
  return (
    <>
      {ticks.map((mark) => (
        <g key={mark}>
          <line class="grid" x1={LEFT} x2={WIDTH - RIGHT} y1={scaleY(mark, most)} y2={scaleY(mark, most)} />
          <text x={LEFT - 6} y={scaleY(mark, most) + 4} text-anchor="end">
            {number(mark)}
          </text>
        </g>
      ))}
      {slots.map(({ at }, index) =>
        index % every === 0 ? (
          <text key={at} x={LEFT + (index + 0.5) * step} y={HEIGHT - 6} text-anchor="middle">
            {format.format(at)}
          </text>
        ) : null,
      )}
    </>
  );
}

function Plot({
  title,
  about,
  legend,
  heads,
  rows,
  isEmpty,
  children,
}: {
  readonly title: string;
  readonly about: string;
  readonly legend: readonly (readonly [string, string])[];
  readonly heads: readonly string[];
  readonly rows: readonly (readonly string[])[];
  readonly isEmpty: boolean;
  readonly children: ComponentChildren;
}) {
  return (
    <div class="card plot">
      <h3>{title}</h3>
      {isEmpty ? (
        <Empty title="No calls in this span." />
      ) : (
        <>
          <ul class="legend">
            {legend.map(([kind, label]) => (
              <li key={label} class={kind}>
                {label}
              </li>
            ))}
          </ul>
          <svg
            viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
            role="img"
            aria-label={`${title}: ${about}. The table below has the figures.`}
          >
            {children}
          </svg>
          <details>
            <summary>Show as a table</summary>
            <div class="table-frame plain">
              <table>
                <caption class="unseen">{title}</caption>
                <thead>
                  <tr>
                    {heads.map((head) => (
                      <th key={head} scope="col">
                        {head}
                      </th>
                    ))}
                  </tr>
                </thead>
                <tbody>
                  {rows.map((row) => (
                    <tr key={row[0]}>
                      {row.map((cell, index) => (
                        <td key={index}>{cell}</td>
                      ))}
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
          </details>
        </>
      )}
    </div>
  );
}
