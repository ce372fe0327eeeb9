/** The map, drawn by sigma: entities and relations above the ground of their communities. */

import Graph from "graphology";
import Sigma from "sigma";
import type { Settings } from "sigma/settings";
import type { EdgeDisplayData, NodeDisplayData, PartialButFor } from "sigma/types";
import { mix, type Palette, readPalette, veiled } from "./colours";
import {
  type Circle,
  circleAt,
  type Ground,
  type Lit,
  paintGround,
  paintTitles,
  toMap,
  type Viewport,
} from "./ground";
import { openStamp } from "./stamp";
import type { Drawing, DrawnEdge, DrawnNode, Emphasis, GraphView, ViewEvents } from "./view";

export interface MapEvents extends ViewEvents {
  onCircle?: (id: string | null) => void;
  /** The camera moved; comes with every frame that differs. */
  onMove?: (view: Viewport) => void;
}

export interface Target {
  x: number;
  y: number;
  radius: number;
}

export interface MapView extends GraphView {
  drawGround(ground: Ground): void;
  choose(circle: string | null): void;
  /** Ring one node, as where the keyboard is. */
  point(node: string | null): void;
  viewport(): Viewport;
  /** Bring a place into the middle, with all that is within a radius of it. */
  fly(target: Target, durationMs?: number): void;
  /** Go somewhere at once, as an address says. */
  jump(x: number, y: number, scale: number): void;
  pan(left: number, top: number): void;
  zoom(factor: number): void;
  /** Read the colours of the theme again. */
  recolour(): void;
}

export const FLIGHT_MS = 280;
const FILL = 0.86;
const CLOSEST = 0.0004;
const FARTHEST = 4;
const PADDING = 18;
/** Pixels: a view that has less is not there yet. */
const SMALLEST = 60;
/** How much nodes grow with the zoom: hardly, names need the room. */
const GROWTH = 0.18;
/** Radius of what was a mere dot, and stands out now. */
const FOUND_SIZE = 5;
const LONGEST_NAME = 34;

type NodeData = {
  label: string;
  x: number;
  y: number;
  size: number;
  color: string;
  isDot: boolean;
};
type EdgeData = { label: string; size: number; color: string; alpha: number };

/** Draw a map of a radius into an element. */
export function openMapView(container: HTMLElement, radius: number, events: MapEvents): MapView {
  const graph = new Graph<NodeData, EdgeData>({ type: "undirected", multi: false });
  let palette = readPalette();
  let ground: Ground = { circles: [], links: [] };
  let emphasis: Emphasis | null = null;
  let pointed: string | null = null;
  const written: Written = [];
  const lit: Lit = { hovered: null, chosen: null, isQuiet: false };
  const calm = window.matchMedia("(prefers-reduced-motion: reduce)");

  const sigma = new Sigma<NodeData, EdgeData>(graph, container, {
    ...settingsOf(() => palette, written),
    nodeReducer: (id, data) => dressNode(id, data, palette, emphasis),
    edgeReducer: (id, data) => dressEdge(id, data, palette, emphasis),
  });
  pickOnlyAtRest(sigma);
  sigma.on("beforeRender", () => {
    written.length = 0;
  });
  sigma.setCustomBBox({ x: [-radius, radius], y: [-radius, radius] });
  const layers = {
    ground: context2d(sigma.createCanvas("ground", { beforeLayer: "edges" })),
    ring: context2d(sigma.createCanvas("ring", { afterLayer: "labels" })),
  };
  sigma.resize(true);

  const viewport = (): Viewport => {
    const { width, height } = sigma.getDimensions();
    const middle = sigma.viewportToGraph({ x: width / 2, y: height / 2 });
    const right = sigma.viewportToGraph({ x: width / 2 + 100, y: height / 2 });
    return { x: middle.x, y: middle.y, scale: 100 / (right.x - middle.x), width, height };
  };

  const stamp = openStamp();
  const paint = () => {
    const view = viewport();
    const floor = prepare(layers.ground, view);
    if (floor) {
      const looks = [ground, palette, lit.hovered, lit.chosen, lit.isQuiet];
      stamp(floor, view, looks, (context, shown) => {
        paintGround(context, shown, ground, palette, lit);
        // Below the nodes: a layer of their own would cost as much again for every frame.
        paintTitles(context, shown, ground, palette, lit);
      });
    }
    paintRing(view);
  };
  let isRinged = false;
  const paintRing = (view: Viewport) => {
    const wanted = pointed !== null && graph.hasNode(pointed) ? pointed : null;
    if (wanted === null && !isRinged) return;
    const above = prepare(layers.ring, view);
    isRinged = wanted !== null;
    if (above && wanted !== null) ringNode(above, sigma, wanted, palette);
  };
  sigma.on("afterRender", paint);

  let before = "";
  const tellMove = () => {
    const view = viewport();
    if (view.width < SMALLEST || view.height < SMALLEST) return;
    const now = `${view.x} ${view.y} ${view.scale} ${view.width} ${view.height}`;
    if (now === before) return;
    before = now;
    events.onMove?.(view);
  };
  sigma.on("afterRender", tellMove);

  sigma.on("clickNode", ({ node }) => events.onNode?.(node));
  sigma.on("clickStage", ({ event }) => {
    const found = circleAt(ground, ...toMap(viewport(), event.x, event.y));
    events.onCircle?.(found && !found.isOpen ? found.id : null);
  });
  const point = (circle: Circle | null) => {
    const id = circle && !circle.isOpen ? circle.id : null;
    container.classList.toggle("points", id !== null);
    if (id === lit.hovered) return;
    lit.hovered = id;
    paint();
  };
  sigma.on("moveBody", ({ event }) => {
    point(circleAt(ground, ...toMap(viewport(), event.x, event.y)));
  });
  const pointAt = (node: string | null) => {
    pointed = node;
    container.classList.toggle("points", node !== null);
    paint();
  };
  sigma.on("enterNode", ({ node }) => pointAt(node));
  sigma.on("leaveNode", () => pointAt(null));
  sigma.on("leaveStage", () => point(null));

  const observer = new ResizeObserver(() => {
    if (!container.clientWidth || !container.clientHeight) return;
    sigma.resize();
    sigma.refresh({ skipIndexation: true });
  });
  observer.observe(container);

  const camera = sigma.getCamera();
  const move = (state: { x?: number; y?: number; ratio?: number }, durationMs: number) => {
    if (durationMs <= 0 || calm.matches) camera.setState(state);
    else void camera.animate(state, { duration: durationMs, easing: "quadraticInOut" });
  };
  const framed = (x: number, y: number) => ({
    x: 0.5 + x / (2 * radius),
    y: 0.5 + y / (2 * radius),
  });
  const ratioFor = (scale: number) => {
    const { width, height } = sigma.getDimensions();
    const whole = (Math.min(width, height) - 2 * PADDING) / (2 * radius);
    return Math.min(FARTHEST, Math.max(CLOSEST, whole / scale));
  };

  return {
    draw: (drawing) => {
      replace(graph, drawing);
      sigma.refresh();
    },
    drawGround: (next) => {
      ground = next;
      const below = ground.circles.find(({ id }) => id === lit.hovered);
      if (!below || below.isOpen) lit.hovered = null;
      paint();
    },
    emphasise: (next) => {
      emphasis = next;
      lit.isQuiet = next !== null;
      sigma.refresh({ skipIndexation: true });
    },
    choose: (circle) => {
      lit.chosen = circle;
      paint();
    },
    point: (node) => {
      pointed = node;
      paint();
    },
    viewport,
    fly: (target, durationMs = FLIGHT_MS) => {
      const { width, height } = sigma.getDimensions();
      const scale = (FILL * Math.min(width, height)) / 2 / Math.max(target.radius, 0.6);
      move({ ...framed(target.x, target.y), ratio: ratioFor(scale) }, durationMs);
    },
    jump: (x, y, scale) => move({ ...framed(x, y), ratio: ratioFor(scale) }, 0),
    pan: (left, top) => {
      const view = viewport();
      move(framed(view.x + left / view.scale, view.y - top / view.scale), 120);
    },
    zoom: (factor) => move({ ratio: ratioFor(viewport().scale * factor) }, 160),
    fit: (ids) => {
      const places = (ids ?? []).flatMap((id) =>
        graph.hasNode(id) ? [graph.getNodeAttributes(id)] : [],
      );
      if (!places.length) {
        move({ x: 0.5, y: 0.5, ratio: 1 }, FLIGHT_MS);
        return;
      }
      const [xs, ys] = [places.map((place) => place.x), places.map((place) => place.y)];
      const [left, right] = [Math.min(...xs), Math.max(...xs)];
      const [low, high] = [Math.min(...ys), Math.max(...ys)];
      const reach = Math.max(right - left, high - low) / 2;
      const { width, height } = sigma.getDimensions();
      const scale = (0.8 * Math.min(width, height)) / 2 / Math.max(reach, 1.6);
      const state = { ...framed((left + right) / 2, (low + high) / 2), ratio: ratioFor(scale) };
      move(state, FLIGHT_MS);
    },
    recolour: () => {
      palette = readPalette();
      sigma.setSettings(settingsOf(() => palette, written));
      sigma.refresh();
    },
    picture: () => takePicture(sigma, palette.background),
    destroy: () => {
      observer.disconnect();
      sigma.kill();
    },
  };
}

function context2d(canvas: HTMLCanvasElement): CanvasRenderingContext2D | null {
  return canvas.getContext("2d");
}

/** Leave out what is below the mouse while it drags: to know it, sigma reads back from the graphics
 * card, and the whole page waits for that, at every move.
 */
function pickOnlyAtRest(sigma: Sigma<NodeData, EdgeData>): void {
  const picking = sigma as unknown as { getNodeAtPosition?: (at: unknown) => string | null };
  const pick = picking.getNodeAtPosition?.bind(sigma);
  const captor = sigma.getMouseCaptor();
  if (pick) picking.getNodeAtPosition = (at) => (captor.isMoving ? null : pick(at));
}

/** Empty a layer, and give it the size of the view. */
function prepare(
  context: CanvasRenderingContext2D | null,
  { width, height }: Viewport,
): CanvasRenderingContext2D | null {
  if (!context) return null;
  const ratio = window.devicePixelRatio || 1;
  const { canvas } = context;
  const [wide, high] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== wide || canvas.height !== high) {
    canvas.width = wide;
    canvas.height = high;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
  }
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return context;
}

/** Draw a ring around a node, and its name, as where the keyboard is. */
function ringNode(
  context: CanvasRenderingContext2D,
  sigma: Sigma<NodeData, EdgeData>,
  id: string,
  palette: Palette,
): void {
  const shown = sigma.getNodeDisplayData(id);
  if (!shown) return;
  const { x, y } = sigma.framedGraphToViewport(shown);
  const size = sigma.scaleSize(shown.size);
  context.beginPath();
  context.arc(x, y, size + 4, 0, 2 * Math.PI);
  context.lineWidth = 3;
  context.strokeStyle = palette.accent;
  context.stroke();
  const label = sigma.getGraph().getNodeAttribute(id, "label");
  writeName(context, { x, y, size: size + 3, label, color: palette.text, isWhole: true }, palette);
}

/** Make the graph what is drawn, changing no more than differs. */
function replace(graph: Graph<NodeData, EdgeData>, drawing: Drawing): void {
  const nodes = new Map<string, DrawnNode>(drawing.nodes.map((node) => [node.id, node]));
  const edges = new Map<string, DrawnEdge>(
    drawing.edges
      .filter((edge) => nodes.has(edge.source) && nodes.has(edge.target))
      .map((edge) => [edge.id, edge]),
  );
  for (const id of graph.edges()) if (!edges.has(id)) graph.dropEdge(id);
  for (const id of graph.nodes()) if (!nodes.has(id)) graph.dropNode(id);
  for (const { id, label, x, y, size, color, isDot = false } of nodes.values()) {
    graph.mergeNode(id, { label, x, y, size, color, isDot });
  }
  for (const { id, source, target, label, width, color, alpha = 1 } of edges.values()) {
    const data = { label, size: width, color, alpha };
    if (graph.hasEdge(id)) graph.mergeEdgeAttributes(id, data);
    else if (!graph.hasEdge(source, target)) graph.addEdgeWithKey(id, source, target, data);
  }
}

/** Where relations are written in a frame, so that none lies on another. */
type Written = { x: number; y: number; half: number }[];
type Shown<T> = Partial<T>;

function dressNode(
  id: string,
  data: NodeData,
  palette: Palette,
  emphasis: Emphasis | null,
): Shown<NodeDisplayData> & { labelColor: string } {
  const share = emphasis ? (emphasis.nodes.get(id) ?? emphasis.rest) : 1;
  const isFull = share >= 1;
  const isMarked = emphasis !== null && isFull;
  return {
    ...data,
    color: isFull ? data.color : veiled(data.color, share),
    label: share < 0.3 || (data.isDot && !isMarked) ? "" : data.label,
    labelColor: isFull ? palette.text : mix(palette.text, palette.background, share + 0.15),
    forceLabel: isMarked && (emphasis?.nodes.size ?? 0) <= 60,
    size: data.isDot && isMarked ? FOUND_SIZE : data.size,
    zIndex: isFull && emphasis ? 1 : 0,
  };
}

function dressEdge(
  id: string,
  data: EdgeData,
  palette: Palette,
  emphasis: Emphasis | null,
): Shown<EdgeDisplayData> {
  if (!emphasis) return { ...data, label: "", color: veiled(data.color, data.alpha) };
  const isFull = emphasis.edges.has(id);
  const isLabelled = emphasis.labelled.has(id);
  return {
    ...data,
    label: isLabelled ? data.label : "",
    forceLabel: isLabelled,
    color: isFull ? palette.faint : veiled(data.color, data.alpha * emphasis.rest),
    size: isFull ? Math.max(1.4, data.size) : data.size,
    zIndex: isFull ? 1 : 0,
  };
}

function settingsOf(
  palette: () => Palette,
  written: Written,
): Partial<Settings<NodeData, EdgeData>> {
  const { font, muted } = palette();
  return {
    allowInvalidContainer: true,
    hideEdgesOnMove: false,
    renderEdgeLabels: true,
    zIndex: true,
    stagePadding: PADDING,
    minCameraRatio: CLOSEST,
    maxCameraRatio: FARTHEST,
    labelFont: font,
    labelSize: 12,
    labelWeight: "500",
    labelColor: { attribute: "labelColor" },
    edgeLabelFont: font,
    edgeLabelSize: 11,
    edgeLabelWeight: "400",
    edgeLabelColor: { color: muted },
    labelDensity: 0.7,
    labelGridCellSize: 90,
    labelRenderedSizeThreshold: 3.5,
    minEdgeThickness: 0.6,
    zoomToSizeRatioFunction: (ratio) => Math.max(ratio, CLOSEST) ** GROWTH,
    enableCameraRotation: false,
    doubleClickZoomingDuration: 200,
    inertiaDuration: 200,
    zoomDuration: 160,
    defaultDrawEdgeLabel: (context, data, source, target) =>
      writeRelation(context, data.label, source, target, palette(), written),
    defaultDrawNodeLabel: (context, data) => writeName(context, data, palette()),
    // What is pointed at is ringed above all layers, see `ringNode`.
    defaultDrawNodeHover: () => undefined,
  };
}

type Named = PartialButFor<NodeDisplayData, "x" | "y" | "size" | "label" | "color"> & {
  labelColor?: string;
  isWhole?: boolean;
};

function writeName(context: CanvasRenderingContext2D, data: Named, palette: Palette): void {
  if (!data.label) return;
  context.font = `500 12px ${palette.font}`;
  context.textAlign = "left";
  context.textBaseline = "alphabetic";
  context.lineJoin = "round";
  context.lineWidth = 3;
  context.strokeStyle = palette.background;
  const [x, y] = [data.x + data.size + 4, data.y + 4];
  // Whole, it stands in the panel, and where something points at it.
  const isCut = !data.isWhole && data.label.length > LONGEST_NAME;
  const label = isCut ? `${data.label.slice(0, LONGEST_NAME - 1).trimEnd()}…` : data.label;
  context.strokeText(label, x, y);
  context.fillStyle = data.labelColor ?? palette.text;
  context.fillText(label, x, y);
}

/** Write a relation across the middle of its line, level, so that it can be read. */
function writeRelation(
  context: CanvasRenderingContext2D,
  label: string | null | undefined,
  source: { x: number; y: number },
  target: { x: number; y: number },
  palette: Palette,
  written: Written,
): void {
  if (!label || Math.hypot(source.x - target.x, source.y - target.y) < 60) return;
  context.font = `400 11px ${palette.font}`;
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.lineJoin = "round";
  context.lineWidth = 4;
  context.strokeStyle = palette.background;
  const [x, y] = [(source.x + target.x) / 2, (source.y + target.y) / 2];
  const half = context.measureText(label).width / 2;
  if (
    written.some((other) => Math.abs(other.y - y) < 13 && Math.abs(other.x - x) < other.half + half)
  )
    return;
  written.push({ x, y, half });
  context.strokeText(label, x, y);
  context.fillStyle = palette.muted;
  context.fillText(label, x, y);
  context.textBaseline = "alphabetic";
}

/** Draw all layers over each other; the WebGL ones must be drawn again for it. */
async function takePicture(sigma: Sigma<NodeData, EdgeData>, background: string): Promise<Blob> {
  const { width, height } = sigma.getDimensions();
  const ratio = window.devicePixelRatio || 1;
  const canvas = document.createElement("canvas");
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  const context = canvas.getContext("2d");
  if (!context) throw new Error("no canvas");
  context.fillStyle = background;
  context.fillRect(0, 0, canvas.width, canvas.height);
  sigma.refresh();
  const layers = sigma.getCanvases();
  for (const name of ["ground", "edges", "edgeLabels", "nodes", "labels"]) {
    const layer = layers[name];
    if (layer) context.drawImage(layer, 0, 0, canvas.width, canvas.height);
  }
  return new Promise((resolve, reject) => {
    canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("no picture"))), "image/png");
  });
}
