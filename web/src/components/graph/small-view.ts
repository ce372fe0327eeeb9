/** Small views, drawn by G6: at most a hundred nodes, whose places are given. */

import { Graph, type GraphData, type IElementEvent } from "@antv/g6";
import { mix, readPalette } from "./colours";
import type { Drawing, Emphasis, GraphView, ViewEvents } from "./view";

export const MOST_NODES = 100;
export const MOST_EDGES = 150;

/** Draw into an element; its size is the view's. */
export async function openSmallView(
  container: HTMLElement,
  drawing: Drawing,
  events: ViewEvents,
): Promise<GraphView> {
  let drawn = drawing;
  let emphasis: Emphasis | null = null;
  const isThere = () => !graph.destroyed;
  const graph = new Graph({
    container,
    animation: false,
    data: toData(drawn, emphasis),
    autoFit: { type: "view", options: { when: "overflow" } },
    padding: 8,
    behaviors: [
      "drag-canvas",
      { type: "zoom-canvas", trigger: ["Control"], animation: false },
      // Without `inactiveState`: it would restyle every element.
      { type: "hover-activate", degree: 1 },
    ],
  });
  graph.on("node:click", (event: IElementEvent) => events.onNode?.(event.target.id));
  graph.on("edge:click", (event: IElementEvent) => events.onEdge?.(event.target.id));
  await graph.render();
  // G6 puts its canvas before all else for the Tab key; the list beside it is what keys go to.
  for (const canvas of container.querySelectorAll("canvas")) canvas.tabIndex = -1;
  const redraw = () => {
    if (!isThere()) return;
    graph.setData(toData(drawn, emphasis));
    void graph.draw();
  };
  return {
    draw(next) {
      drawn = next;
      redraw();
    },
    emphasise(next) {
      emphasis = next;
      redraw();
    },
    fit(ids) {
      if (!isThere()) return;
      if (ids?.length) void graph.focusElement([...ids], false);
      else void graph.fitView({ when: "overflow" }, false);
    },
    async picture() {
      const address = await graph.toDataURL({ mode: "overall" });
      const [head = "", body = ""] = address.split(",");
      const bytes = Uint8Array.from(atob(body), (letter) => letter.charCodeAt(0));
      return new Blob([bytes], { type: /data:([^;]+)/.exec(head)?.[1] ?? "image/png" });
    },
    destroy() {
      if (isThere()) graph.destroy();
    },
  };
}

function toData(drawing: Drawing, emphasis: Emphasis | null): GraphData {
  const palette = readPalette();
  const nodes = drawing.nodes.slice(0, MOST_NODES);
  const known = new Set(nodes.map((node) => node.id));
  const edges = drawing.edges
    .filter((edge) => known.has(edge.source) && known.has(edge.target))
    .slice(0, MOST_EDGES);
  const share = (id: string) => (emphasis ? (emphasis.nodes.get(id) ?? emphasis.rest) : 1);
  const between = curves(edges);
  return {
    nodes: nodes.map((node) => ({
      id: node.id,
      type: "circle",
      style: {
        x: node.x,
        y: node.y,
        size: 2 * node.size,
        fill: mix(node.color, palette.surface, share(node.id)),
        stroke: palette.surface,
        lineWidth: 2,
        opacity: 1,
        cursor: "pointer",
        labelText: node.label,
        labelFill: mix(palette.text, palette.surface, Math.max(0.3, share(node.id))),
        labelFontFamily: palette.font,
        labelFontSize: 12,
        labelPlacement: node.side ?? "bottom",
        ...(node.side ? { labelOffsetX: 4 } : { labelOffsetY: 2 }),
        labelBackground: true,
        labelBackgroundFill: palette.surface,
        labelBackgroundOpacity: 0.85,
        labelMaxWidth: 130,
        labelWordWrap: true,
        labelMaxLines: 2,
        labelCursor: "pointer",
        halo: false,
      },
      state: {},
    })),
    edges: edges.map((edge) => {
      const isFull = !emphasis || emphasis.edges.has(edge.id);
      return {
        id: edge.id,
        source: edge.source,
        target: edge.target,
        type: "quadratic",
        style: {
          curveOffset: between.get(edge.id) ?? 0,
          stroke: mix(edge.color, palette.surface, isFull ? 1 : (emphasis?.rest ?? 1)),
          lineWidth: edge.width,
          increasedLineWidthForHitTesting: 12,
          cursor: "pointer",
          endArrow: !edge.isMutual,
          endArrowSize: 7,
          labelText: edge.label,
          labelFill: palette.muted,
          labelFontFamily: palette.font,
          labelFontSize: 11,
          labelBackground: true,
          labelBackgroundFill: palette.surface,
          labelBackgroundOpacity: 0.92,
          labelPadding: [0, 3],
          labelCursor: "pointer",
          labelMaxWidth: 120,
          labelWordWrap: true,
          labelMaxLines: 1,
          labelAutoRotate: false,
        },
      };
    }),
  };
}

/** Return how far edges are bent, so that several between the same two lie beside each other. */
function curves(edges: Drawing["edges"]): Map<string, number> {
  const seen = new Map<string, number>();
  const found = new Map<string, number>();
  for (const edge of edges) {
    const isForward = edge.source < edge.target;
    const pair = isForward ? `${edge.source} ${edge.target}` : `${edge.target} ${edge.source}`;
    const before = seen.get(pair) ?? 0;
    seen.set(pair, before + 1);
    const bend = Math.ceil(before / 2) * 26 * (before % 2 ? 1 : -1);
    found.set(edge.id, isForward ? bend : -bend);
  }
  return found;
}
