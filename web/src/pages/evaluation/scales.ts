/** No quarters: a tick such as 1.25 s would be written as 1.3 s. */
const STEPS = [1, 2, 5, 10];

/** Return round values from 0 on, about so many, that hold `greatest` between them. */
export function ticksTo(greatest: number, most: number): number[] {
  const rough = (greatest || 1) / Math.max(1, Math.floor(most) - 1);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * (STEPS.find((each) => each * power >= rough * (1 - 1e-12)) ?? 10);
  const last = Math.max(1, Math.ceil(greatest / step - 1e-9));
  // Through a decimal text: 3 * 0.1 is not 0.3.
  return Array.from({ length: last + 1 }, (_, at) => Number((at * step).toPrecision(12)));
}
