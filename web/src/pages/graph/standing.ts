/** What stands out: one entity with its neighbours, or the entities of a path. */

import type { Emphasis } from "../../components/graph/view";

export interface Line {
  id: string;
  source: string;
  target: string;
  weight: number;
}

/** How much of their colour neighbours of neighbours keep, and how much all else. */
const SECOND = 0.4;
const REST = 0.12;
/** Relations that are written on their lines, at most. */
const MOST_LABELS = 10;

/** Return the neighbours of entities, the strongest first. */
export function neighboursOf(id: string, lines: readonly Line[]): string[] {
  const weights = new Map<string, number>();
  for (const line of lines) {
    if (line.source !== id && line.target !== id) continue;
    const other = line.source === id ? line.target : line.source;
    weights.set(other, (weights.get(other) ?? 0) + line.weight);
  }
  return [...weights].sort((one, other) => other[1] - one[1]).map(([key]) => key);
}

/** Let an entity stand out: its neighbours in full, theirs by 40 %, all else by 12 %. */
export function standOut(id: string, lines: readonly Line[]): Emphasis {
  const first = new Set(neighboursOf(id, lines));
  const nodes = new Map<string, number>();
  for (const line of lines) {
    if (first.has(line.source)) nodes.set(line.target, SECOND);
    if (first.has(line.target)) nodes.set(line.source, SECOND);
  }
  for (const near of first) nodes.set(near, 1);
  nodes.set(id, 1);
  const own = lines.filter((line) => line.source === id || line.target === id);
  const strongest = [...own].sort((one, other) => other.weight - one.weight);
  return {
    nodes,
    edges: new Set(own.map((line) => line.id)),
    rest: REST,
    labelled: new Set(strongest.slice(0, MOST_LABELS).map((line) => line.id)),
  };
}

/** Let the entities of a path stand out, and what joins each to the next. */
export function standAlong(way: readonly string[], lines: readonly Line[]): Emphasis {
  const pairs = new Set<string>();
  for (const [index, id] of way.entries()) {
    const next = way[index + 1];
    if (next !== undefined) pairs.add(`${id} ${next}`).add(`${next} ${id}`);
  }
  const edges = lines.filter((line) => pairs.has(`${line.source} ${line.target}`));
  const ids = new Set(edges.map((line) => line.id));
  return { nodes: new Map(way.map((id) => [id, 1])), edges: ids, rest: REST, labelled: ids };
}
