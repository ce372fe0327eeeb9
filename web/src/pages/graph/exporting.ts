/** What is drawn, as files: SVG for print, GraphML for other programs. */

import type { Drawing, GraphCanvas } from "../../components/graph/canvas";
import { type Palette, readPalette } from "../../components/graph/colours";
import { saveFile } from "../../components/reader/files";
import type { Overview, Scene } from "./scene";

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
  drawing: Drawing,
  { size, places, labels }: ReturnType<GraphCanvas["layout"]>,
  palette: Palette,
): string {
  const [width, height] = size;
  const lines = drawing.lines.flatMap((line) => {
    const [from, to] = [places.get(line.source), places.get(line.target)];
    if (!from || !to) return [];
    const ends = { x1: round(from[0]), y1: round(from[1]), x2: round(to[0]), y2: round(to[1]) };
    const dashes: Values = line.isDashed ? { "stroke-dasharray": "4 4" } : {};
    const look = { stroke: line.color, "stroke-width": line.width, "stroke-opacity": line.share };
    return [element("line", { ...ends, ...look, ...dashes })];
  });
  const dots = drawing.dots.map((dot) => {
    const [x, y, radius] = places.get(dot.id) ?? [0, 0, 0];
    const place = { cx: round(x), cy: round(y), r: round(radius) };
    return element("circle", { ...place, fill: dot.color, "fill-opacity": dot.share });
  });
  const words = labels.map(({ text, x, y }) =>
    element("text", { x: round(x), y: round(y + 4), fill: palette.text }, [], text),
  );
  const font = { "font-family": "system-ui, sans-serif", "font-size": 12, "text-anchor": "middle" };
  const backdrop = element("rect", { width, height, fill: palette.background });
  const groups = [element("g", {}, lines), element("g", {}, dots), element("g", font, words)];
  const look = { xmlns: SVG, viewBox: `0 0 ${width} ${height}`, width, height };
  return HEAD + element("svg", look, [backdrop, ...groups]);
}

const FIELDS = [
  ["node", "name", "string"],
  ["node", "type", "string"],
  ["node", "passages", "int"],
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

/** Return entities and relations as other programs read graphs. */
export function writeGraphml(
  { entities, relations }: Pick<Scene, "entities" | "relations">,
  communities: Overview["communities"],
): string {
  const titles = new Map(communities.map(({ id, title }) => [id, title]));
  const keys = FIELDS.map(([kind, name, type]) =>
    element("key", { id: `${kind}_${name}`, for: kind, "attr.name": name, "attr.type": type }),
  );
  const nodes = entities.map(({ id, name, type, chunks, community, x, y }) => {
    const title = titles.get(community ?? "") ?? "";
    const values = { name, type, passages: chunks, community: title, x, y };
    return element("node", { id }, data("node", values));
  });
  const edges = relations.map(({ source, target, name, weight }) =>
    element("edge", { source, target }, data("edge", { relation: name, weight })),
  );
  const graph = element("graph", { id: "knotwork", edgedefault: "directed" }, [...nodes, ...edges]);
  return HEAD + element("graphml", { xmlns: GRAPHML }, [...keys, graph]);
}

export type Kind = "png" | "svg" | "graphml";

/** Have the browser keep what is shown; without a canvas there is no picture. */
export async function exportScene(
  kind: Kind,
  name: string,
  scene: Scene,
  drawing: Drawing,
  canvas: GraphCanvas | null,
): Promise<void> {
  const save = (content: Blob) => saveFile(`${name}.${kind}`, content);
  const saveXml = (text: string) => save(new Blob([text], { type: "text/xml" }));
  if (kind === "graphml") saveXml(writeGraphml(scene, scene.overview.communities));
  else if (canvas && kind === "png") save(await canvas.picture());
  else if (canvas) saveXml(writeSvg(drawing, canvas.layout(), readPalette()));
}
