import { describe, expect, it } from "vitest";
import { alignSources } from "../../../src/pages/ask/PassageTable";
import { findPath } from "../../../src/pages/ask/path";
import type { Answer, Evidence, Hit } from "../../../src/pages/ask/runs";

const hit = (chunk_id: string, rank: number, more: Partial<Hit> = {}): Hit => {
  const named = { chunk_id, document_id: `d-${chunk_id}`, title: chunk_id };
  return { ...named, rank, span: [0, 10], seeds: [], path: [], ...more } as Partial<Hit> as Hit;
};

describe("sources side by side", () => {
  it("have one row a passage: what all found first, then by rank", () => {
    const rows = alignSources([
      [hit("a", 1), hit("b", 2), hit("c", 3)],
      [hit("c", 1), hit("d", 2), hit("b", 3)],
    ]);
    const ranks = rows.map(({ hit, found }) => [hit.chunk_id, ...found.map((each) => each?.rank)]);
    expect(ranks).toEqual([
      ["c", 3, 1],
      ["b", 2, 3],
      ["a", 1, undefined],
      ["d", undefined, 2],
    ]);
  });
});

describe("the evidence path", () => {
  const citation = (chunk_id: string, index: number) =>
    ({ chunk_id, number: index + 1 }) as Answer["citations"][number];
  const answer = (...chunks: string[]) => ({ citations: chunks.map(citation) }) as Answer;
  const step = {
    chunk_id: "a",
    sentence: [3, 9],
    sentence_text: "It was made by Ann.",
    entity_id: "ann",
    entity_name: "Ann",
    score: 1,
  };
  const evidence = (hits: Hit[]) => ({ hits, paths: [] }) as unknown as Evidence;

  it("leads from a name over a passage and an entity to the passage that is cited", () => {
    const hits = [
      hit("a", 1, { seeds: ["Probe", "2022", "--term-old"] }),
      hit("b", 2, { path: [step] }),
      hit("z", 3, { seeds: ["Probe"], path: [step] }),
    ];
    const path = findPath(answer("b"), evidence(hits));
    expect(path.edges.map(({ source, target }) => [source, target])).toEqual([
      ["name Probe", "passage a"],
      ["passage a", "ann"],
      ["ann", "passage b"],
    ]);
    expect(path.edges[1]).toMatchObject({
      sentence: "It was made by Ann.",
      place: { document: "d-a", start: 3, end: 9 },
    });
    expect(path.nodes.map(({ label, kind }) => [label, kind])).toEqual([
      ["Probe", "name"],
      ["a", "passage"],
      ["Ann", "thing"],
      ["[1] b", "cited"],
    ]);
  });

  it("has a relation only where its sentence is cited", () => {
    const hop = { source: "x", target: "y", source_name: "Xan", target_name: "Yves" };
    const hops = ["a", "z"].map((chunk_id) => {
      return { ...hop, relation: `in ${chunk_id}`, chunk_id, span: [1, 2], forward: true };
    });
    const found = { hits: [hit("a", 1), hit("z", 2)], paths: [{ hops }] } as unknown as Evidence;
    const path = findPath(answer("a"), found);
    expect(path.edges.map(({ source, label, target }) => [source, label, target])).toEqual([
      ["x", "in a", "y"],
      ["y", "", "passage a"],
    ]);
  });
});
