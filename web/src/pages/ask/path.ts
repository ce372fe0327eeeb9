/** The way from a question to its evidence, as a small graph. */

import type { Answer, Evidence } from "./runs";

/** Where a passage stands: what a click on it opens. */
export interface Place {
  document: string;
  start: number;
  end: number;
}

export interface PathNode {
  id: string;
  label: string;
  kind: "name" | "thing" | "passage";
  place: Place | null;
}

export interface PathEdge {
  id: string;
  source: string;
  target: string;
  /** A relation; empty where it only leads on. */
  label: string;
  /** The sentence that it stands on, if there is one. */
  sentence: string;
  place: Place | null;
}

export interface EvidencePath {
  nodes: PathNode[];
  edges: PathEdge[];
  /** Whether passages or things lead from one to another: else a list of sources says it all. */
  leadsOn: boolean;
}

/** Return how the cited passages were reached; without an answer, how the best ones were. */
export function findPath(answer: Answer, evidence: Evidence): EvidencePath {
  const cited = new Set(answer.citations.map(({ chunk_id }) => chunk_id));
  const nodes = new Map<string, PathNode>();
  const edges = new Map<string, PathEdge>();
  const byChunk = new Map(evidence.hits.map((hit) => [hit.chunk_id, hit]));
  const addNode = (node: PathNode) => {
    if (!nodes.has(node.id)) nodes.set(node.id, node);
    return node.id;
  };
  const addEdge = (edge: Omit<PathEdge, "id">) => {
    const id = `${edge.source} ${edge.label} ${edge.target}`;
    if (!edges.has(id)) edges.set(id, { ...edge, id });
  };
  const passage = (chunk: string): string => {
    const hit = byChunk.get(chunk);
    const [start = 0, end = 0] = hit?.span ?? [];
    return addNode({
      id: `passage ${chunk}`,
      label: hit ? hit.title || hit.document : "…",
      kind: "passage",
      place: hit ? { document: hit.document_id, start, end } : null,
    });
  };
  for (const hit of evidence.hits) {
    if (!cited.has(hit.chunk_id)) continue;
    for (const seed of hit.seeds) {
      const source = addNode({ id: `name ${seed}`, label: seed, kind: "name", place: null });
      addEdge({ source, target: passage(hit.chunk_id), label: "", sentence: "", place: null });
    }
    for (const step of hit.path) {
      const from = byChunk.get(step.chunk_id);
      for (const seed of from?.seeds ?? []) {
        const source = addNode({ id: `name ${seed}`, label: seed, kind: "name", place: null });
        addEdge({ source, target: passage(step.chunk_id), label: "", sentence: "", place: null });
      }
      const [start = 0, end = 0] = step.sentence;
      const place = from ? { document: from.document_id, start, end } : null;
      const thing = addNode({
        id: step.entity_id,
        label: step.entity_name,
        kind: "thing",
        place: null,
      });
      const sentence = step.sentence_text;
      addEdge({ source: passage(step.chunk_id), target: thing, label: "", sentence, place });
      addEdge({
        source: thing,
        target: passage(hit.chunk_id),
        label: "",
        sentence: "",
        place: null,
      });
    }
  }
  for (const path of evidence.paths) {
    for (const hop of path.hops) {
      const hit = byChunk.get(hop.chunk_id);
      const place =
        hit && hop.span
          ? { document: hit.document_id, start: hop.span[0] ?? 0, end: hop.span[1] ?? 0 }
          : hit
            ? { document: hit.document_id, start: hit.span[0] ?? 0, end: hit.span[1] ?? 0 }
            : null;
      const ends = [
        addNode({ id: hop.source, label: hop.source_name, kind: "thing", place: null }),
        addNode({ id: hop.target, label: hop.target_name, kind: "thing", place: null }),
      ] as const;
      const [source, target] = hop.forward ? ends : [ends[1], ends[0]];
      addEdge({ source, target, label: hop.relation, sentence: "", place });
    }
  }
  const leadsOn =
    evidence.paths.length > 0 || [...nodes.values()].some(({ kind }) => kind === "thing");
  return { nodes: [...nodes.values()], edges: [...edges.values()], leadsOn };
}
