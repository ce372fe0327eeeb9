import { describe, expect, it } from "vitest";
import { ticksTo } from "../../../src/pages/evaluation/scales";

describe("the marks of an axis", () => {
  it.each([
    [1, 6, [0, 0.2, 0.4, 0.6, 0.8, 1]],
    [97, 6, [0, 20, 40, 60, 80, 100]],
    // without the faults of binary fractions
    [0.5, 6, [0, 0.1, 0.2, 0.3, 0.4, 0.5]],
    // with no more than one digit after the first
    [1.5, 7, [0, 0.5, 1, 1.5]],
    [1_100, 7, [0, 200, 400, 600, 800, 1000, 1200]],
    // where all is nothing, too
    [0, 2, [0, 1]],
  ])("up to %d, %d at most, are round", (greatest, most, ticks) => {
    expect(ticksTo(greatest, most)).toEqual(ticks);
  });

  it.each([1e-7, 3e6])("up to %d are few, and hold it between them", (greatest) => {
    const ticks = ticksTo(greatest, 6);
    expect(ticks.length).toBeLessThanOrEqual(8);
    expect(ticks.at(-1)).toBeGreaterThanOrEqual(greatest);
  });
});
