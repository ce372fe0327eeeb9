/** What is drawn, as files: SVG for print, GraphML for other programs. */

import { faded, type Palette, readPalette } from "../../components/graph/colours";
import { type Ground, toScreen, type Viewport } from "../../components/graph/ground";
import type { MapView } from "../../components/graph/map-view";
import type { Drawing } from "../../components/graph/view";
import type { Atlas, Tie } from "./atlas";
import { drawGround, drawLines, drawNodes, fullOf, type Scene } from "./drawing";

const SVG = "http://www.w3.org/2000/svg";
const GRAPHML = "http://graphml.graphdrawing.org/xmlns";
const HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n';
const MARKS: Record<string, string> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
};
type Values = Record<string, string | number>;

/** Return a text as XML holds it, without what it has no way to write. */
function escaped(text: string): string {
  const allowed = [...text].filter((letter) => {
    const code = letter.codePointAt(0) ?? 0;
    const isControl = code < 32 && code !== 9 && code !== 10 && code !== 13;
    return !isControl && !(code >= 0xd800 && code <= 0xdfff) && code !== 0xfffe && code !== 0xffff;
  });
  return allowed.map((letter) => MARKS[letter] ?? letter).join("");
}

/** Return an element; its content is XML already, but for a text under `text`. */
function element(name: string, values: Values, content: readonly string[] = [], text = ""): string {
  const written = Object.entries(values).map(([key, value]) => ` ${key}="${escaped(`${value}`)}"`);
  return `<${name}${written.join("")}>${escaped(text)}${content.join("")}</${name}>`;
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}

/** Return a drawing as it is on the screen, with words as text. */
export function writeSvg(
  view: Viewport,
  ground: Ground,
  drawing: Drawing,
  palette: Palette,
): string {
  const { width, height } = view;
  const circles = ground.circles.flatMap((circle) => {
    const [cx, cy] = placeOf(view, circle.x, circle.y);
    const tint = palette.data[circle.colour % palette.data.length] ?? palette.other;
    const r = round(circle.radius * view.scale);
    const fill = faded(tint, circle.isOpen ? 0.05 : 0.18);
    const drawn = element("circle", { cx, cy, r, fill, stroke: faded(tint, 0.5) });
    if (r < 16) return [drawn];
    const y = circle.isOpen ? cy - r - 4 : cy;
    const look = { x: cx, y, "font-size": 12, "text-anchor": "middle", fill: palette.text };
    return [drawn, element("text", look, [], circle.title)];
  });
  const places = new Map(drawing.nodes.map((node) => [node.id, placeOf(view, node.x, node.y)]));
  const lines = drawing.edges.flatMap((edge) => {
    const [from, to] = [places.get(edge.source), places.get(edge.target)];
    if (!from || !to) return [];
    const ends = { x1: from[0], y1: from[1], x2: to[0], y2: to[1] };
    return [
      element("line", {
        ...ends,
        stroke: faded(edge.color, edge.alpha ?? 1),
        "stroke-width": round(edge.width),
      }),
    ];
  });
  const nodes = drawing.nodes.flatMap((node) => {
    const [cx, cy] = places.get(node.id) ?? [0, 0];
    const beside = { x: round(cx + node.size + 4), y: cy + 4, "font-size": 12, fill: palette.text };
    return [
      element("circle", { cx, cy, r: round(node.size), fill: node.color }),
      element("text", beside, [], node.label),
    ];
  });
  const look = { xmlns: SVG, viewBox: `0 0 ${width} ${height}`, width, height };
  const backdrop = element("rect", { width, height, fill: palette.background });
  const parts = [backdrop, ...[circles, lines, nodes].map((group) => element("g", {}, group))];
  return HEAD + element("svg", { ...look, "font-family": "system-ui, sans-serif" }, parts);
}

function placeOf(view: Viewport, x: number, y: number): [number, number] {
  const [left, top] = toScreen(view, x, y);
  return [round(left), round(top)];
}

const FIELDS = [
  ["node", "kind", "string"],
  ["node", "name", "string"],
  ["node", "type", "string"],
  ["node", "passages", "int"],
  ["node", "entities", "int"],
  ["node", "community", "string"],
  ["node", "x", "double"],
  ["node", "y", "double"],
  ["edge", "relation", "string"],
  ["edge", "weight", "double"],
] as const;

function data(kind: "node" | "edge", values: Values): string[] {
  return Object.entries(values).map(([name, value]) =>
    element("data", { key: `${kind}_${name}` }, [], String(value)),
  );
}

/** Return what is drawn as other programs read graphs: entities and relations, and the communities
 * that are closed, with the links among them.
 */
export function writeGraphml(scene: Scene, ties: readonly Tie[]): string {
  const titles = new Map(scene.communities.map(({ id, title }) => [id, title]));
  const closed = scene.communities.filter(({ id }) => !scene.open.has(id));
  const isClosed = new Set(closed.map(({ id }) => id));
  const keys = FIELDS.map(([kind, name, type]) =>
    element("key", { id: `${kind}_${name}`, for: kind, "attr.name": name, "attr.type": type }),
  );
  const circles = closed.map(({ id, title, size, x, y }) => {
    const values = { kind: "community", name: title, entities: size, x, y };
    return element("node", { id }, data("node", values));
  });
  const nodes = scene.entities.map(({ id, name, type, chunks, community, x, y }) => {
    const title = titles.get(community ?? "") ?? community ?? "";
    const values = { kind: "entity", name, type, passages: chunks, community: title, x, y };
    return element("node", { id }, data("node", values));
  });
  const links = ties
    .filter(({ source, target }) => isClosed.has(source) && isClosed.has(target))
    .map(({ source, target, weight }) =>
      element("edge", { source, target, directed: "false" }, data("edge", { weight })),
    );
  const edges = scene.relations.map(({ source, target, name, weight }) =>
    element("edge", { source, target }, data("edge", { relation: name, weight })),
  );
  const parts = [...circles, ...nodes, ...links, ...edges];
  const graph = element("graph", { id: "knotwork", edgedefault: "directed" }, parts);
  return HEAD + element("graphml", { xmlns: GRAPHML }, [...keys, graph]);
}

/** Have the browser keep a file. */
export function download(name: string, content: Blob | string, type = "text/xml"): void {
  const blob = typeof content === "string" ? new Blob([content], { type }) : content;
  const address = URL.createObjectURL(blob);
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

interface Exported {
  atlas: Atlas;
  scene: Scene;
  /** Null where nothing is drawn: then there is no picture. */
  view: MapView | null;
  name: string;
}

/** Have the browser keep what is drawn. */
export async function exportScene(
  kind: "png" | "svg" | "graphml",
  { atlas, scene, view, name }: Exported,
): Promise<void> {
  if (kind === "graphml")
    download(`${name}.graphml`, writeGraphml(scene, [...atlas.ties.values()].flat()));
  else if (view && kind === "png") download(`${name}.png`, await view.picture());
  else if (view) {
    const palette = readPalette();
    const ground = drawGround(atlas, scene, () => "");
    const full = fullOf(atlas, scene, atlas.pinned);
    const nodes = drawNodes(scene.entities, full, palette);
    const edges = drawLines(scene, full, palette, new Set(), (relation) => relation);
    download(`${name}.svg`, writeSvg(view.viewport(), ground, { nodes, edges }, palette));
  }
}
