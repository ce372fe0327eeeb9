import { describe, expect, it } from "vitest";
import { Atlas, type Entity } from "./atlas";
import { compose, joinLines, MOST_DRAWN, namesOf } from "./drawing";

const entity = (id: string): Entity => ({
  id,
  name: id,
  type: "",
  x: 0,
  y: 0,
  chunks: 1,
  community: null,
});
const relation = (source: string, target: string, name: string, weight = 1) => ({
  id: `${source} ${target} ${name}`,
  source,
  target,
  name,
  weight,
});

function atlasOf(ids: readonly string[]): Atlas {
  const atlas = new Atlas("w", { types: [], relations: [], weight: 0, document: "" });
  for (const id of ids) atlas.entities.set(id, entity(id));
  return atlas;
}

describe("a scene", () => {
  it("has no relation without its ends", () => {
    const atlas = atlasOf(["a", "b"]);
    for (const known of [relation("a", "b", "is"), relation("a", "c", "is")])
      atlas.relations.set(known.id, known);
    const scene = compose(atlas, new Set(), ["a", "b", "c"]);
    expect(scene.entities.map(({ id }) => id)).toEqual(["a", "b"]);
    expect(scene.relations.map(({ id }) => id)).toEqual(["a b is"]);
  });

  it("cuts entities, and says how many", () => {
    const ids = Array.from({ length: MOST_DRAWN + 5 }, (_, index) => `n${index}`);
    const scene = compose(atlasOf(ids), new Set(), ids);
    expect(scene.entities.length).toBe(MOST_DRAWN);
    expect(scene.left).toBe(5);
  });

  it("draws one line for all relations of the same two", () => {
    const relations = [
      relation("b", "a", "is", 3),
      relation("a", "b", "was", 2),
      relation("a", "c", "is"),
    ];
    const lines = joinLines(relations);
    expect(lines.map(({ id, weight }) => [id, weight])).toEqual([
      ["a b", 5],
      ["a c", 1],
    ]);
    const [line] = lines;
    expect(line && namesOf(line, relations)).toEqual(["is", "was"]);
  });
});
