/** The time that a job still takes, by the clock of the server and the work that is done. */

export interface Sample {
  /** Seconds since the job began. */
  seconds: number;
  stage: string;
  /** Parts of the stage, as files, that are done. */
  done: number;
  total: number;
  /** Bytes of files that were read. */
  bytes: number;
  bytesTotal: number;
  /** Passages that are finished, and how many there will be, 0 if unknown. */
  chunks: number;
  expected: number;
}

export interface Pace {
  /** Seconds that are left in this step, or null as long as a number would be a guess. */
  leftS: number | null;
  step: string;
  begunS: number;
  begunAt: number;
  idleS: number;
  last: Sample;
  /** The estimate as it is, shown or not. */
  guessS: number | null;
  /** The lowest estimate that was shown after the first seconds. */
  lowestS: number;
}

const READING = new Set(["load", "extract", "embed", "store", "model"]);
const LOADING_MODEL = "model";
const LEAST_S = 3;
const LEAST_SHARE = 0.02;
const SMOOTHED_S = 10;
const EARLY_S = 20;
/** An estimate that rises to this many times an earlier one is not shown. */
const MOST_RISE = 1.8;
/** Estimates below are all the same to a person: "a few seconds". */
export const SOON_S = 10;

/** Return the pace after another sample; null before the first. */
export function follow(pace: Pace | null, sample: Sample): Pace {
  const step = READING.has(sample.stage) ? "read" : sample.stage;
  const at = shareOf(sample, step);
  if (!pace || pace.step !== step || at < pace.begunAt) {
    const lowestS = pace?.lowestS ?? Number.POSITIVE_INFINITY;
    const begun = { step, begunS: sample.seconds, begunAt: at, idleS: 0, last: sample };
    return { ...begun, leftS: null, guessS: null, lowestS };
  }
  const passed = Math.max(0, sample.seconds - pace.last.seconds);
  const idleS = pace.idleS + (pace.last.stage === LOADING_MODEL ? passed : 0);
  const worked = sample.seconds - pace.begunS - idleS;
  const gained = at - pace.begunAt;
  const next = { ...pace, idleS, last: sample };
  const isWorking = step !== "read" || sample.chunks > 0 || sample.expected === 0;
  if (worked < LEAST_S || gained < LEAST_SHARE || !isWorking || at >= 1)
    return { ...next, leftS: null };
  const due = (worked * (1 - at)) / gained;
  const before = pace.guessS === null ? due : Math.max(0, pace.guessS - passed);
  const guessS = before + (due - before) * Math.min(1, passed / SMOOTHED_S);
  const counted = Math.max(guessS, SOON_S);
  const leftS = counted > MOST_RISE * pace.lowestS ? null : guessS;
  const isEarly = sample.seconds < EARLY_S || leftS === null;
  return {
    ...next,
    guessS,
    leftS,
    lowestS: isEarly ? pace.lowestS : Math.min(pace.lowestS, counted),
  };
}

function shareOf(sample: Sample, step: string): number {
  return Math.min(1, ...sharesOf(sample, step));
}

/** Return how much of a step is done, from 0 to 1, by each thing that shows it. */
function sharesOf(sample: Sample, step: string): number[] {
  const shares = [];
  if (step === "read" && sample.bytesTotal > 0) shares.push(sample.bytes / sample.bytesTotal);
  if (step === "read" && sample.expected > 0) shares.push(sample.chunks / sample.expected);
  if (shares.length > 0) return shares;
  return [sample.total > 0 ? sample.done / sample.total : 0];
}

/** Return how far a bar is, from 0 to 1: what is read and what is finished count alike. */
export function barOf(sample: Sample): number {
  const shares = sharesOf(sample, READING.has(sample.stage) ? "read" : sample.stage);
  return Math.min(1, shares.reduce((sum, share) => sum + share, 0) / shares.length);
}
