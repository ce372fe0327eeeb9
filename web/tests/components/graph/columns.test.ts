import { describe, expect, it } from "vitest";
import { NODE, placeInLevels, stepsFrom } from "../../../src/components/graph/columns";

const edges = [
  { source: "a", target: "b" },
  { source: "c", target: "b" },
  { source: "c", target: "d" },
];

describe("steps", () => {
  it("count edges in either direction from the starts", () => {
    expect([...stepsFrom(["a"], ["a", "b", "c", "d"], edges)]).toEqual([
      ["a", 0],
      ["b", 1],
      ["c", 2],
      ["d", 3],
    ]);
  });

  it("put what is never reached last, and begin somewhere where nothing is a start", () => {
    const steps = stepsFrom([], ["a", "b", "x"], edges);
    expect(steps.get("a")).toBe(0);
    expect(steps.get("x")).toBe(2);
  });
});

describe("levels", () => {
  it("of a chain are below each other, those of a star beside each other", () => {
    const chain = placeInLevels(["a"], ["a", "b", "c", "d"], edges);
    expect(chain.isTall).toBe(true);
    expect(chain.width).toBeLessThan(chain.height);
    const y = ["a", "b", "c", "d"].map((id) => chain.places.get(id)?.y ?? 0);
    expect(y).toEqual([...new Set(y)].sort((one, other) => one - other));
    const star = [1, 2, 3].map((number) => ({ source: "a", target: `${number}` }));
    expect(placeInLevels(["a"], ["a", "1", "2", "3"], star).isTall).toBe(false);
  });

  it("keep every node inside, and no two on each other", () => {
    const ids = Array.from({ length: 30 }, (_, index) => `n${index}`);
    const star = ids.slice(1).map((id) => ({ source: "n0", target: id }));
    const { places, width, height } = placeInLevels(["n0"], ids, star);
    for (const { x, y } of places.values()) {
      expect(x).toBeGreaterThanOrEqual(NODE.width / 2);
      expect(x).toBeLessThanOrEqual(width - NODE.width / 2);
      expect(y).toBeGreaterThanOrEqual(NODE.height / 2);
      expect(y).toBeLessThanOrEqual(height - NODE.height / 2);
    }
    const rows = [...places.values()].filter(({ x }) => x > NODE.width).map(({ y }) => y);
    rows.sort((one, other) => one - other);
    for (const [index, y] of rows.slice(1).entries())
      expect(y - (rows[index] ?? 0)).toBeGreaterThanOrEqual(NODE.height);
  });
});
