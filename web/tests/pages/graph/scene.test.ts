import { describe, expect, it } from "vitest";
import { joinLines } from "../../../src/pages/graph/scene";

const relation = (source: string, target: string, name: string, weight = 1, isStated = true) => ({
  source,
  target,
  name,
  weight,
  isStated,
});

describe("a scene", () => {
  it("draws one line for all relations of the same two, the stated ones first", () => {
    const lines = joinLines([
      relation("a", "b", "co-occurs with", 9, false),
      relation("b", "a", "is", 3),
      relation("a", "b", "was", 2),
      relation("a", "c", "co-occurs with", 1, false),
    ]);
    expect(lines).toEqual([
      { source: "b", target: "a", names: ["is", "was"], isStated: true, isBoth: true },
      { source: "a", target: "c", names: ["co-occurs with"], isStated: false, isBoth: false },
    ]);
  });

  it("has only the lines along a path, if one is shown", () => {
    const relations = [
      relation("a", "b", "is"),
      relation("c", "b", "is"),
      relation("a", "c", "is"),
    ];
    const lines = joinLines(relations, ["a", "b", "c"]);
    expect(lines.map(({ source, target }) => source + target)).toEqual(["ab", "cb"]);
  });
});
