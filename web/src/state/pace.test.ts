import { describe, expect, it } from "vitest";
import { paceOf, type Sample, takeSample } from "./pace";

const run = (readings: readonly [number, number][]): readonly Sample[] =>
  readings.reduce<readonly Sample[]>(
    (samples, [at, done]) => takeSample(samples, { at, done, stage: "store" }),
    [],
  );

describe("the pace of a job", () => {
  it("is what was done in the time, and says how long the rest takes", () => {
    expect(
      paceOf(
        run([
          [0, 0],
          [1_000, 10],
          [2_000, 20],
        ]),
        100,
      ),
    ).toEqual({ rate: 10, leftS: 8 });
  });

  it("is not known at first, nor where nothing goes on", () => {
    expect(paceOf(run([]), 9)).toBeNull();
    expect(
      paceOf(
        run([
          [0, 0],
          [500, 5],
        ]),
        9,
      ),
    ).toBeNull();
    expect(
      paceOf(
        run([
          [0, 4],
          [5_000, 4],
        ]),
        9,
      ),
    ).toBeNull();
  });

  it("does not take history that arrives at once for speed", () => {
    const samples = run([
      [0, 0],
      [5, 300],
      [10, 600],
      [2_010, 620],
    ]);
    expect(paceOf(samples, 1_000)?.rate).toBeCloseTo(10, 0);
  });

  it("forgets what is long ago", () => {
    const slow = Array.from({ length: 50 }, (_, n): [number, number] => [n * 1_000, n]);
    const fast = Array.from({ length: 40 }, (_, n): [number, number] => [
      50_000 + n * 1_000,
      50 + n * 10,
    ]);
    expect(paceOf(run([...slow, ...fast]), 1_000)?.rate).toBe(10);
  });
});
