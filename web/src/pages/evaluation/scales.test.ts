import { describe, expect, it } from "vitest";
import { linearScale, shareScale } from "./scales";

describe("linearScale", () => {
  it("marks round values that hold all that is shown between them", () => {
    const scale = linearScale(3, 97, 0, 100);
    expect(scale.ticks).toEqual([0, 20, 40, 60, 80, 100]);
    expect(scale(0)).toBe(0);
    expect(scale(100)).toBe(100);
  });

  it("turns an axis around when its places do", () => {
    const scale = linearScale(0, 10, 200, 0);
    expect(scale(0)).toBe(200);
    expect(scale(10)).toBe(0);
    expect(scale(5)).toBe(100);
  });

  it("writes no tick with the faults of binary fractions", () => {
    expect(linearScale(0, 0.5, 0, 1).ticks).toEqual([0, 0.1, 0.2, 0.3, 0.4, 0.5]);
  });

  it("has no tick that needs more than one digit after the first", () => {
    expect(linearScale(0, 1.5, 0, 1, 7).ticks).toEqual([0, 0.5, 1, 1.5]);
    expect(linearScale(0, 1_100, 0, 1, 7).ticks).toEqual([0, 200, 400, 600, 800, 1000, 1200]);
  });

  it("sets equal ends apart, so that one value has a place in the middle", () => {
    for (const value of [0, 4, -4]) {
      const scale = linearScale(value, value, 0, 100);
      expect(scale(value)).toBeGreaterThan(0);
      expect(scale(value)).toBeLessThan(100);
    }
  });

  it.each([
    [0, 1e-7],
    [1e6, 3e6],
    [-5, 5],
  ])("has at most eight marks from %d to %d, all finite", (low, high) => {
    const { ticks } = linearScale(low, high, 0, 1);
    expect(ticks.length).toBeLessThanOrEqual(8);
    expect(ticks.every(Number.isFinite)).toBe(true);
    expect(Math.min(...ticks)).toBeLessThanOrEqual(low);
    expect(Math.max(...ticks)).toBeGreaterThanOrEqual(high);
  });
});

describe("shareScale", () => {
  it("goes from 0 to 1", () => {
    expect(shareScale(0, 1).ticks).toEqual([0, 0.2, 0.4, 0.6, 0.8, 1]);
  });
});
