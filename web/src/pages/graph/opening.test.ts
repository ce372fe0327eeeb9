import { describe, expect, it } from "vitest";
import { innermost, openRings } from "./opening";

const rings = [
  { id: "a", parent: null, x: 0, y: 0, radius: 10 },
  { id: "b", parent: null, x: 30, y: 0, radius: 10 },
  { id: "a1", parent: "a", x: 3, y: 0, radius: 4 },
];
const view = (scale: number, x = 0, y = 0) => ({ x, y, scale, width: 1000, height: 600 });
const none = new Set<string>();

describe("opening", () => {
  it("opens what is large, and nothing in what is closed", () => {
    expect([...openRings(rings, view(5), none)]).toEqual([]);
    expect([...openRings(rings, view(16), none)]).toEqual(["a", "b"]);
    expect([...openRings(rings, view(60), none)]).toEqual(["a", "a1"]);
  });

  it("closes later than it opens", () => {
    const scale = 14; // between the two borders: 14 * 10 / 600 = 0.23
    expect(openRings(rings, view(scale), none).has("a")).toBe(false);
    expect(openRings(rings, view(scale), new Set(["a"])).has("a")).toBe(true);
    expect(openRings(rings, view(11), new Set(["a"])).has("a")).toBe(false);
  });

  it("leaves out what is far from the view", () => {
    expect([...openRings(rings, view(60, 30), none)]).toEqual(["b"]);
  });

  it("returns the innermost open circle", () => {
    const open = new Set(["a", "a1"]);
    expect(innermost(rings, open, 3, 0)?.id).toBe("a1");
    expect(innermost(rings, open, -8, 0)?.id).toBe("a");
    expect(innermost(rings, open, 30, 0)).toBeNull();
  });
});
