/** Which communities are open: those that are large on the screen, with some slack on the way back. */

import type { Viewport } from "../../components/graph/ground";

export interface Ring {
  id: string;
  parent: string | null;
  x: number;
  y: number;
  radius: number;
}

/** A circle opens when its radius takes this share of the smaller side of the view... */
export const OPENS = 0.26;
/** ...and closes again below this one: else it would flicker where one stops between. */
export const CLOSES = 0.2;
/** What is this large lies in view as a whole, or is all there is to see. */
const ALWAYS = 0.3;

function isNear(view: Viewport, ring: Ring): boolean {
  const [wide, high] = [view.width / 2 / view.scale, view.height / 2 / view.scale];
  const dx = Math.max(0, Math.abs(ring.x - view.x) - wide);
  const dy = Math.max(0, Math.abs(ring.y - view.y) - high);
  return Math.hypot(dx, dy) < ring.radius;
}

/** Return the circles that are open in a view; none is open in one that is closed. */
export function openRings(
  rings: readonly Ring[],
  view: Viewport,
  before: ReadonlySet<string>,
): Set<string> {
  const side = Math.min(view.width, view.height);
  const wanted = new Set<string>();
  for (const ring of rings) {
    const share = (ring.radius * view.scale) / side;
    if (share < (before.has(ring.id) ? CLOSES : OPENS)) continue;
    if (isNear(view, ring) || (before.has(ring.id) && share < ALWAYS)) wanted.add(ring.id);
  }
  const parents = new Map(rings.map((ring) => [ring.id, ring.parent]));
  const isOpen = (id: string): boolean => {
    const parent = parents.get(id) ?? null;
    return wanted.has(id) && (parent === null || !parents.has(parent) || isOpen(parent));
  };
  return new Set([...wanted].filter(isOpen));
}

/** Return the innermost open circle that a place of the map lies in. */
export function innermost(
  rings: readonly Ring[],
  open: ReadonlySet<string>,
  x: number,
  y: number,
): Ring | null {
  const holding = rings.filter(
    (ring) => open.has(ring.id) && Math.hypot(ring.x - x, ring.y - y) <= ring.radius,
  );
  return holding.reduce<Ring | null>(
    (best, ring) => (best && best.radius <= ring.radius ? best : ring),
    null,
  );
}
