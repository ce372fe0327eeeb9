import { describe, expect, it } from "vitest";
import { follow, type Pace, type Sample } from "./pace";

const NONE = { done: 0, total: 1, bytes: 0, bytesTotal: 0, chunks: 0, expected: 0 };

function run(samples: readonly (Partial<Sample> & { seconds: number })[]): Pace | null {
  let pace: Pace | null = null;
  for (const sample of samples) pace = follow(pace, { ...NONE, stage: "load", ...sample });
  return pace;
}

const even = (from: number, to: number, of: number, stage = "load") =>
  Array.from({ length: to - from + 1 }, (_, n) => ({
    seconds: from + n,
    stage,
    bytes: ((from + n) / of) * 1e6,
    bytesTotal: 1e6,
    chunks: from + n,
    expected: of,
  }));

describe("the time that is left", () => {
  it("is what the rest takes at the pace so far", () => {
    expect(run(even(0, 30, 60))?.leftS).toBeCloseTo(30, 0);
  });

  it("is not said before there is work to judge by", () => {
    expect(run(even(0, 2, 60))?.leftS).toBeNull();
    expect(run(even(0, 30, 60).map((one) => ({ ...one, chunks: 0 })))?.leftS).toBeNull();
  });

  it("goes by the slower of reading and finishing passages", () => {
    const read = even(0, 30, 60).map((one) => ({ ...one, bytes: 1e6 }));
    expect(run(read)?.leftS).toBeCloseTo(30, 0);
  });

  it("does not count the time in which a model is loaded", () => {
    const later = even(1, 30, 60).map((one) => ({ ...one, seconds: one.seconds + 20 }));
    expect(run([{ seconds: 0 }, { seconds: 1, stage: "model" }, ...later])?.leftS).toBeCloseTo(
      30,
      0,
    );
  });

  it("is not shown where it would double what was said before", () => {
    const stuck = Array.from({ length: 200 }, (_, n) => ({
      ...even(30, 30, 60)[0],
      seconds: 31 + n,
    }));
    let pace: Pace | null = null;
    const shown: number[] = [];
    for (const sample of [...even(0, 30, 60), ...stuck]) {
      pace = follow(pace, { ...NONE, stage: "load", ...sample });
      if (sample.seconds >= 20 && pace.leftS !== null) shown.push(Math.max(pace.leftS, 10));
    }
    const lowest = Math.min(...shown);
    expect(Math.max(...shown.slice(shown.indexOf(lowest)))).toBeLessThan(2 * lowest);
    expect(pace?.leftS).toBeNull();
  });
});
