import { describe, expect, it } from "vitest";
import { neighboursOf, standAlong, standOut } from "./standing";

const line = (source: string, target: string, weight = 1) => ({
  id: `${source}-${target}`,
  source,
  target,
  weight,
});
const lines = [line("a", "b"), line("c", "a", 3), line("b", "d"), line("d", "e"), line("x", "y")];

describe("standing out", () => {
  it("lists neighbours by weight", () => {
    expect(neighboursOf("a", lines)).toEqual(["c", "b"]);
  });

  it("keeps one step whole, the second by 40 %, and all else by 12 %", () => {
    const found = standOut("a", lines);
    expect(found.rest).toBe(0.12);
    expect(Object.fromEntries(found.nodes)).toEqual({ a: 1, b: 1, c: 1, d: 0.4 });
    expect([...found.edges]).toEqual(["a-b", "c-a"]);
    expect([...found.labelled]).toEqual(["c-a", "a-b"]);
  });

  it("follows a path in either direction", () => {
    const found = standAlong(["d", "b", "a"], lines);
    expect([...found.edges]).toEqual(["a-b", "b-d"]);
    expect(found.nodes.get("x")).toBeUndefined();
  });
});
