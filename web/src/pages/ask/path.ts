/** The way from a question to the passages that its answer cites, as a small graph. */

import { type Place, placeOf } from "./address";
import type { Answer, Evidence, Hit } from "./runs";

export interface PathNode {
  id: string;
  label: string;
  /** A name of the question, an entity, a passage on the way, or a passage that is cited. */
  kind: "name" | "thing" | "passage" | "cited";
  place: Place | null;
}

export interface PathEdge {
  id: string;
  source: string;
  target: string;
  /** A relation; empty where it only leads on. */
  label: string;
  /** The sentence that leads on, if there is one. */
  sentence: string;
  place: Place | null;
}

/** Names that say something: two letters at least, and no option of a command. */
const NAME = /^(?!-).*\p{L}{2}/u;

/** Return the hops that lead to a cited passage, and nothing else that was found on the way. */
export function findPath(answer: Answer, evidence: Evidence) {
  const citationsOf = (passage: Pick<Hit, "chunk_id">) =>
    answer.citations.filter(({ chunk_id }) => chunk_id === passage.chunk_id);
  const hits = new Map(evidence.hits.map((hit) => [hit.chunk_id, hit]));
  const nodes = new Map<string, PathNode>();
  const edges = new Map<string, PathEdge>();
  const addNode = (node: PathNode) => {
    if (!nodes.has(node.id)) nodes.set(node.id, node);
    return node.id;
  };
  const addEdge = (source: string, target: string, more: Partial<PathEdge> = {}) => {
    const edge = { source, target, label: "", sentence: "", place: null, ...more };
    const id = `${source} ${edge.label} ${target}`;
    if (source !== target && !edges.has(id)) edges.set(id, { ...edge, id });
  };
  const addThing = (id: string, label: string) =>
    addNode({ id, label, kind: "thing", place: null });
  const addPassage = (hit: Hit) => {
    const cited = citationsOf(hit);
    const marks = cited.map(({ number }) => `[${number}] `).join("");
    return addNode({
      id: `passage ${hit.chunk_id}`,
      label: marks + (hit.title || hit.document),
      kind: cited.length ? "cited" : "passage",
      place: placeOf(hit),
    });
  };
  const addSeeds = (hit: Hit) => {
    for (const seed of hit.seeds.filter((each) => NAME.test(each))) {
      const id = addNode({ id: `name ${seed}`, label: seed, kind: "name", place: null });
      addEdge(id, addPassage(hit));
    }
  };
  for (const hit of evidence.hits.filter((each) => citationsOf(each).length)) {
    addSeeds(hit);
    for (const step of hit.path) {
      const from = hits.get(step.chunk_id);
      if (!from || !NAME.test(step.entity_name)) continue;
      addSeeds(from);
      const thing = addThing(step.entity_id, step.entity_name);
      const place = placeOf({ ...from, span: step.sentence });
      addEdge(addPassage(from), thing, { sentence: step.sentence_text, place });
      addEdge(thing, addPassage(hit));
    }
  }
  for (const hop of evidence.paths.flatMap(({ hops }) => hops)) {
    const hit = hits.get(hop.chunk_id);
    if (!hit || !citationsOf(hit).length) continue;
    const source = addThing(hop.source, hop.source_name);
    const target = addThing(hop.target, hop.target_name);
    const [from, to] = hop.forward ? [source, target] : [target, source];
    addEdge(from, to, {
      label: hop.relation,
      place: placeOf({ ...hit, span: hop.span ?? hit.span }),
    });
    addEdge(to, addPassage(hit));
  }
  return { nodes: [...nodes.values()], edges: [...edges.values()] };
}
