/** Places of a small graph: columns by how many steps things are from where one begins. */

export interface Linked {
  source: string;
  target: string;
}

export interface Placed {
  x: number;
  y: number;
}

const MARGIN_X = 70;
const MARGIN_Y = 34;

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

/** Place nodes in columns, or in rows where there is more height than width, each ordered by what
 * its nodes are linked to in the one before. */
export function placeInColumns(
  starts: readonly string[],
  ids: readonly string[],
  edges: readonly Linked[],
  width: number,
  height: number,
): Map<string, Placed> {
  const steps = stepsFrom(starts, ids, edges);
  const columns: string[][] = [];
  for (const id of ids) {
    const step = steps.get(id) ?? 0;
    columns[step] ??= [];
    columns[step].push(id);
  }
  const rank = new Map<string, number>();
  for (const column of columns) {
    const wish = (id: string) => {
      const before = edges
        .filter((edge) => edge.source === id || edge.target === id)
        .map((edge) => rank.get(edge.source === id ? edge.target : edge.source))
        .filter((place) => place !== undefined);
      return before.length ? before.reduce((sum, place) => sum + place, 0) / before.length : 0.5;
    };
    const wished = column.map((id, index) => ({ id, index, wish: wish(id) }));
    wished.sort((one, other) => one.wish - other.wish || one.index - other.index);
    wished.forEach(({ id }, index) => {
      rank.set(id, (index + 1) / (wished.length + 1));
    });
  }
  const isTall = height > width;
  const [long, wide] = isTall ? [height, width] : [width, height];
  const [marginLong, marginWide] = isTall ? [MARGIN_Y, MARGIN_X] : [MARGIN_X, MARGIN_Y];
  const room = Math.max(1, columns.length - 1);
  const places = new Map<string, Placed>();
  for (const id of ids) {
    const share = columns.length === 1 ? 0.5 : (steps.get(id) ?? 0) / room;
    const along = marginLong + share * Math.max(0, long - 2 * marginLong);
    const across = marginWide / 2 + (rank.get(id) ?? 0.5) * Math.max(0, wide - marginWide);
    places.set(id, isTall ? { x: across, y: along } : { x: along, y: across });
  }
  return places;
}
