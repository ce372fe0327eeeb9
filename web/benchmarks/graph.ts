/** A map of as many entities and relations as the address says, for `benchmarks/service/graph.py`.
 *
 * It is drawn as on the graph page. Places and relations are drawn by lot from a seed.
 */

import { GraphCanvas } from "../src/components/graph/canvas";
import { readPalette } from "../src/components/graph/colours";
import "../src/components/graph/graph.css";
import { compose, type Entity, type Overview, type Relation } from "../src/pages/graph/scene";

const query = new URLSearchParams(location.search);
const COUNT = Number(query.get("nodes") ?? 2000);
const COMMUNITIES = 12;
const TYPES = ["PERSON", "PLACE", "ORGANIZATION", "EVENT", "WORK", ""];
const GOLDEN_ANGLE = Math.PI * (3 - Math.sqrt(5));

let seed = 7;
/** Return a number from 0 to 1; the next of a sequence that is always the same. */
function draw(): number {
  seed = (seed * 48271) % 2147483647;
  return seed / 2147483647;
}

const entities: Entity[] = Array.from({ length: COUNT }, (_, index) => {
  const away = 0.56 * Math.sqrt(index + 0.5);
  return {
    id: `n${index}`,
    name: `Entity number ${index}`,
    type: TYPES[index % TYPES.length] ?? "",
    x: away * Math.cos(index * GOLDEN_ANGLE) * 1.4,
    y: away * Math.sin(index * GOLDEN_ANGLE),
    importance: 1 / (index + 1),
    chunks: 1,
    degree: 4,
    step: 0,
    community: `c${Math.floor(draw() * COMMUNITIES)}`,
  };
});
const relations: Relation[] = Array.from({ length: 2 * COUNT }, () => ({
  source: `n${Math.floor(draw() * COUNT)}`,
  target: `n${Math.floor(draw() * COUNT)}`,
  name: "relates to",
  weight: 1,
  isStated: draw() < 0.8,
}));
const communities = Array.from({ length: COMMUNITIES }, (_, index) => ({
  id: `c${index}`,
  title: "",
  level: 0,
  count: 1,
}));
const scene = {
  overview: { communities } as Overview,
  entities,
  relations,
  total: COUNT,
  coOccurrences: 0,
  statement: "",
  merged: new Map<string, string>(),
};

const box = document.querySelector<HTMLElement>("#map");
if (!box) throw new Error("no place for the map");
const canvas = new GraphCanvas(box);
const show = (focus: string) => {
  const look = { palette: readPalette(), focus, stations: [], isNarrow: false, isLocal: false };
  canvas.draw(compose(scene, { ...look, moved: new Map(), say: (name) => name }));
};
show("");
canvas.fit();

let frames: number[] = [];
let last = 0;
const count = (now: number) => {
  frames.push(now - last);
  last = now;
  requestAnimationFrame(count);
};
requestAnimationFrame(count);

const measured = {
  show,
  /** Paint everything at once, this much closer. */
  async paint(factor: number) {
    canvas.view = { ...canvas.view, scale: canvas.view.scale * factor };
    await canvas.picture();
  },
  start() {
    frames = [];
    last = performance.now();
  },
  /** Return the milliseconds between the frames since the start. */
  stop: () => frames.slice(2),
};
Object.assign(window, { measured });
