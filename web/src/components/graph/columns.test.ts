import { describe, expect, it } from "vitest";
import { placeInColumns, stepsFrom } from "./columns";

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

describe("columns", () => {
  it("go across what is wide, and down what is tall", () => {
    const wide = placeInColumns(["a"], ["a", "b", "c", "d"], edges, 600, 200);
    const x = ["a", "b", "c", "d"].map((id) => wide.get(id)?.x ?? 0);
    expect(x).toEqual([...x].sort((one, other) => one - other));
    expect(new Set(x).size).toBe(4);
    const tall = placeInColumns(["a"], ["a", "b", "c", "d"], edges, 200, 600);
    expect((tall.get("d")?.y ?? 0) - (tall.get("a")?.y ?? 0)).toBeGreaterThan(400);
  });

  it("keep every node inside, and no two in one place", () => {
    const ids = Array.from({ length: 30 }, (_, index) => `n${index}`);
    const star = ids.slice(1).map((id) => ({ source: "n0", target: id }));
    const places = [...placeInColumns(["n0"], ids, star, 500, 300).values()];
    for (const { x, y } of places) {
      expect(x).toBeGreaterThanOrEqual(0);
      expect(x).toBeLessThanOrEqual(500);
      expect(y).toBeGreaterThanOrEqual(0);
      expect(y).toBeLessThanOrEqual(300);
    }
    expect(new Set(places.map(({ x, y }) => `${x} ${y}`)).size).toBe(30);
  });
});
