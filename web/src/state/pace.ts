/** The speed of a job and the time left, from the progress reported in the last seconds. */

export interface Sample {
  /** Milliseconds. */
  at: number;
  done: number;
  stage: string;
}

export interface Pace {
  /** Documents a second. */
  rate: number;
  /** Seconds that are left, at this rate. */
  leftS: number;
}

const WINDOW_MS = 30_000;
const SHORTEST_MS = 1_500;
/** What arrives at once is history that is sent again, and says nothing about the speed. */
const BURST_MS = 300;

/** Return the samples with a new one, without those that are too old or of before. */
export function takeSample(samples: readonly Sample[], sample: Sample): readonly Sample[] {
  const last = samples.at(-1);
  const first = samples[0];
  if (last && sample.done < last.done) return [sample];
  if (first && samples.length === 1 && sample.at - first.at < BURST_MS)
    return [{ ...sample, at: first.at }];
  return [...samples.filter((old) => sample.at - old.at <= WINDOW_MS), sample];
}

/** Return how fast it goes, or null where that cannot be said yet. */
export function paceOf(samples: readonly Sample[], total: number): Pace | null {
  const [first, last] = [samples[0], samples.at(-1)];
  if (!first || !last || last.at - first.at < SHORTEST_MS || last.done <= first.done) return null;
  const rate = ((last.done - first.done) * 1000) / (last.at - first.at);
  return { rate, leftS: Math.max(0, total - last.done) / rate };
}
