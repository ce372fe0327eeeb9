/** Scales of plots: from values to places, and round values to mark on an axis. */

export interface Scale {
  /** The place of a value. */
  (value: number): number;
  readonly ticks: readonly number[];
}

/** No quarters: a tick such as 1.25 s would be written as 1.3 s. */
const STEPS = [1, 2, 5, 10];

/** Make a linear scale whose ends are round; equal ends are set apart. */
export function linearScale(low: number, high: number, from: number, to: number, most = 6): Scale {
  const [least, greatest] = low === high ? [low - spread(low), high + spread(high)] : [low, high];
  const step = roundStep((greatest - least) / Math.max(1, most - 1));
  const first = Math.floor(least / step + 1e-9);
  const last = Math.ceil(greatest / step - 1e-9);
  const ticks: number[] = [];
  for (let at = first; at <= last; at++) {
    // Through a decimal text: 3 * 0.1 is not 0.3.
    ticks.push(Number((at * step).toPrecision(12)));
  }
  const start = first * step;
  const reach = (last - first) * step;
  const place = (value: number) => from + ((value - start) / reach) * (to - from);
  return Object.assign(place, { ticks });
}

/** Make a scale from 0 to 1, for shares. */
export function shareScale(from: number, to: number): Scale {
  return linearScale(0, 1, from, to, 6);
}

function roundStep(rough: number): number {
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = STEPS.find((each) => each * power >= rough - 1e-12 * power) ?? 10;
  return step * power;
}

function spread(value: number): number {
  return value === 0 ? 1 : Math.abs(value) / 2;
}
