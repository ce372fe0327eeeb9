/** Places of a small graph: levels by how many steps nodes are from where the graph begins. */

export interface Linked {
  source: string;
  target: string;
}

export interface Placed {
  x: number;
  y: number;
}

export const NODE = { width: 136, height: 44 };
const GAP = { along: 92, across: 12, tall: 40 };

/** Return the step at which each node is reached from the first ones; those never reached come last. */
export function stepsFrom(
  starts: readonly string[],
  ids: readonly string[],
  edges: readonly Linked[],
): Map<string, number> {
  const near = new Map<string, string[]>(ids.map((id) => [id, []]));
  for (const edge of edges) {
    near.get(edge.source)?.push(edge.target);
    near.get(edge.target)?.push(edge.source);
  }
  const first = starts.filter((id) => near.has(id));
  if (!first.length && ids[0] !== undefined) first.push(ids[0]);
  const steps = new Map<string, number>(first.map((id) => [id, 0]));
  for (const id of steps.keys()) {
    for (const other of near.get(id) ?? []) {
      if (near.has(other) && !steps.has(other)) steps.set(other, (steps.get(id) ?? 0) + 1);
    }
  }
  const last = Math.max(0, ...steps.values());
  for (const id of ids) if (!steps.has(id)) steps.set(id, last + 1);
  return steps;
}

/** Place nodes in levels, each ordered by what its nodes are linked to in the level before.
 *
 * A chain goes down and a star goes across, so that both stay narrow.
 */
export function placeInLevels(
  starts: readonly string[],
  ids: readonly string[],
  edges: readonly Linked[],
) {
  const steps = stepsFrom(starts, ids, edges);
  const levels: string[][] = [];
  for (const id of ids) {
    const step = steps.get(id) ?? 0;
    levels[step] ??= [];
    levels[step].push(id);
  }
  const rank = new Map<string, number>();
  for (const level of levels) {
    const wish = (id: string) => {
      const before = edges
        .filter((edge) => edge.source === id || edge.target === id)
        .map((edge) => rank.get(edge.source === id ? edge.target : edge.source))
        .filter((place) => place !== undefined);
      return before.length ? before.reduce((sum, place) => sum + place, 0) / before.length : 0.5;
    };
    const wished = level.map((id, index) => ({ id, index, wish: wish(id) }));
    wished.sort((one, other) => one.wish - other.wish || one.index - other.index);
    level.splice(0, level.length, ...wished.map(({ id }) => id));
    for (const [index, id] of level.entries()) rank.set(id, (index + 1) / (level.length + 1));
  }
  const most = Math.max(1, ...levels.map(({ length }) => length));
  const isTall = levels.length > most;
  const [along, across] = isTall
    ? [NODE.height + GAP.tall, NODE.width + GAP.across]
    : [NODE.width + GAP.along, NODE.height + GAP.across];
  const places = new Map<string, Placed>();
  for (const [step, level] of levels.entries()) {
    for (const [index, id] of level.entries()) {
      const far = step * along + (isTall ? NODE.height : NODE.width) / 2;
      const side = ((most - level.length) / 2 + index + 0.5) * across;
      places.set(id, isTall ? { x: side, y: far } : { x: far, y: side });
    }
  }
  const long = levels.length * along - (isTall ? GAP.tall : GAP.along);
  const wide = most * across;
  return {
    /** The middle of each node, in pixels. */
    places,
    /** Whether the levels are below each other; else they are beside each other. */
    isTall,
    ...(isTall ? { width: wide, height: long } : { width: long, height: wide }),
  };
}
