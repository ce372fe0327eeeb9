/** A map of as many entities and relations as the address says, for `benchmarks/service/graph.py`.
 *
 * It is the view of the graph page with all that it draws there: circles with titles, names, and
 * what stands out. Communities and relations are drawn by lot from a seed.
 */

import { readPalette } from "../src/components/graph/colours";
import type { Circle, Link } from "../src/components/graph/ground";
import { openMapView } from "../src/components/graph/map-view";
import type { DrawnEdge, DrawnNode } from "../src/components/graph/view";
import { type Line, standOut } from "../src/pages/graph/standing";

const query = new URLSearchParams(location.search);
const COUNT = Number(query.get("nodes") ?? 2000);
const COMMUNITIES = 45;
const EDGES_PER_NODE = 2;
const INSIDE = 0.85;
const GOLDEN_ANGLE = Math.PI * (3 - Math.sqrt(5));

let seed = 7;
/** Return a number from 0 to 1; the next of a sequence that is always the same. */
function draw(): number {
  seed = (seed * 48271) % 2147483647;
  return seed / 2147483647;
}

const size = COUNT / COMMUNITIES;
const reach = 0.56 * Math.sqrt(size) + 0.5;
const circles: Circle[] = Array.from({ length: COMMUNITIES }, (_, index) => ({
  id: `c${index}`,
  title: `Community number ${index}`,
  note: String(Math.round(size)),
  x: 1.15 * reach * Math.sqrt(index) * 1.25 * Math.cos(index * GOLDEN_ANGLE),
  y: 1.15 * reach * Math.sqrt(index) * 1.25 * Math.sin(index * GOLDEN_ANGLE),
  radius: reach,
  depth: 0,
  colour: index,
  isOpen: true,
  share: 1,
}));
const links: Link[] = circles.slice(1).map((circle, index) => ({
  source: circle.id,
  target: `c${index}`,
  strength: draw(),
}));
const palette = readPalette();
const homes = Array.from({ length: COUNT }, (_, index) => index % COMMUNITIES);
const nodes: DrawnNode[] = homes.map((home, index) => {
  const rank = Math.floor(index / COMMUNITIES);
  const circle = circles[home];
  return {
    id: `n${index}`,
    label: `Entity ${index}`,
    x: (circle?.x ?? 0) + 0.56 * Math.sqrt(rank + 0.5) * Math.cos(rank * GOLDEN_ANGLE),
    y: (circle?.y ?? 0) + 0.56 * Math.sqrt(rank + 0.5) * Math.sin(rank * GOLDEN_ANGLE),
    size: 2.6 + 5 * draw() ** 4,
    color: palette.data[index % 5] ?? palette.other,
  };
});
const known = new Map<string, DrawnEdge>();
while (known.size < EDGES_PER_NODE * COUNT) {
  const one = Math.floor(draw() * COUNT);
  const steps = 1 + Math.floor(draw() * (size - 1));
  const isInside = draw() < INSIDE;
  const other = isInside ? (one + steps * COMMUNITIES) % COUNT : Math.floor(draw() * COUNT);
  if (one === other) continue;
  const [source, target] = [`n${Math.min(one, other)}`, `n${Math.max(one, other)}`];
  const id = `${source} ${target}`;
  const look = { label: "relates to", width: 1, color: palette.faint, alpha: 0.5 };
  known.set(id, { id, source, target, ...look });
}
const edges = [...known.values()];
const lines: Line[] = edges.map(({ id, source, target }) => ({ id, source, target, weight: 1 }));

const box = document.querySelector<HTMLElement>("#map");
if (!box) throw new Error("no place for the map");
const radius = Math.max(...circles.map(({ x, y }) => Math.hypot(x, y))) + reach;
const view = openMapView(box, radius, {});

const frame = () => new Promise(requestAnimationFrame);

const measured = {
  nodes: nodes.length,
  edges: edges.length,
  async draw() {
    view.drawGround({ circles, links });
    view.draw({ nodes, edges });
    await frame();
    await frame();
  },
  /** Let an entity stand out, as a click on it does; null lets all be as they are. */
  async focus(id: string | null) {
    view.emphasise(id === null ? null : standOut(id, lines));
    await frame();
  },
  async zoom(factor: number) {
    view.zoom(factor);
    await frame();
  },
};
Object.assign(window, { measured });
