/** A graph on canvases, without WebGL.
 *
 * A picture of the view and what lies around it is painted at rest. While one pans or zooms, the
 * picture is moved as a whole, and a new one is painted behind it, a little in each frame. So a frame
 * costs the same for 100 and for 5,000 entities.
 */

import { type Palette, readPalette } from "./colours";
import { LABEL_HEIGHT, type Label, type Labelled, placeLabels } from "./labels";
import { iconOf, outlineOf } from "./types";

export interface Dot {
  id: string;
  label: string;
  x: number;
  y: number;
  /** Pixels, at the scale where neighbours are `UNIT` pixels apart. */
  radius: number;
  color: string;
  type: string;
  /** How much it stands out: 1, or less for what is dimmed. */
  share: number;
}

export interface Line {
  source: string;
  target: string;
  width: number;
  color: string;
  share: number;
  isDashed?: boolean;
  hasArrow?: boolean;
  /** What is written on it. */
  label?: string;
}

export interface Drawing {
  /** The most important first: their labels come first. */
  dots: readonly Dot[];
  lines: readonly Line[];
}

/** The place in the middle, and pixels for each unit of the map. */
export interface View {
  x: number;
  y: number;
  scale: number;
}

export interface CanvasEvents {
  onPick: (id: string | null, withShift: boolean) => void;
  onGrow: (id: string) => void;
  /** The view is at rest somewhere else. */
  onRest: (view: View) => void;
  /** An entity was dragged to a place. */
  onDrop: (id: string, x: number, y: number) => void;
}

const UNIT = 60;
const MARGIN = 220;
/** A frame that took longer had too much to paint. */
const SLOW_MS = 22;
const MOST_STEPS = 7;
const REST_MS = 110;
const FLIGHT_MS = 260;
const [FARTHEST, CLOSEST] = [2, 400];
/** A picture may be stretched this much before a new one is painted while moving. */
const STRETCH = 2.2;
const ALL_AT_ONCE = 400;
const LINES_A_STEP = 80;
const DOTS_A_STEP = 60;
const ICONS_A_STEP = 30;
const LABELS_A_STEP = 20;
const LONGEST_LABEL = 30;
const LEAST_ICON = 6.5;
const REACH = 6;
const TAP = 4;

type Context = CanvasRenderingContext2D;
type Size = readonly [width: number, height: number];

/** Return how much larger or smaller dots are than their radius. */
function growthOf(scale: number): number {
  return Math.min(1.5, Math.max(0.3, Math.sqrt(scale / UNIT)));
}

function shorten(text: string): string {
  const letters = [...text];
  return letters.length > LONGEST_LABEL ? `${letters.slice(0, LONGEST_LABEL - 1).join("")}…` : text;
}

/** Return where a place of the map is on a surface of a size, in pixels. */
function onto(view: View, [width, height]: Size, x: number, y: number): [number, number] {
  return [width / 2 + (x - view.x) * view.scale, height / 2 + (y - view.y) * view.scale];
}

/** Return whether a place is on a surface, or not far beside it. */
function isOn([width, height]: Size, x: number, y: number, margin: number): boolean {
  return x > -margin && y > -margin && x < width + margin && y < height + margin;
}

/** Where dots are on a surface: `x`, `y` and the radius, in pixels, by id. */
type Placed = ReadonlyMap<string, readonly [number, number, number]>;

function placesOf({ dots }: Drawing, view: View, size: Size): Placed {
  const growth = growthOf(view.scale);
  return new Map(
    dots.map(({ id, x, y, radius }) => [id, [...onto(view, size, x, y), radius * growth]]),
  );
}

const widths = new Map<string, number>();

/** Yield the labels of a drawing in a view, and null now and then. */
function* labelsOf(
  drawing: Drawing,
  places: Placed,
  size: Size,
  context: Context,
): Generator<Label | null> {
  const isNear = ({ x, y }: Labelled) => isOn(size, x, y, 40);
  const dots = drawing.dots
    .filter(({ share }) => share >= 0.5)
    .map(({ id, label }) => {
      const [x = 0, y = 0, radius = 0] = places.get(id) ?? [];
      return { text: label, x, y, radius };
    })
    .filter(isNear);
  const lines = drawing.lines.flatMap((line) => {
    const [source, target] = [places.get(line.source), places.get(line.target)];
    if (!line.label || !source || !target) return [];
    const [x, y] = [(source[0] + target[0]) / 2, (source[1] + target[1]) / 2];
    return [{ text: line.label, x, y, radius: 0, isFixed: true }];
  });
  const measure = (text: string) => {
    const known = widths.get(text);
    if (known !== undefined) return known;
    if (widths.size > 20_000) widths.clear();
    const width = context.measureText(shorten(text)).width;
    widths.set(text, width);
    return width;
  };
  for (const label of placeLabels([...dots, ...lines.filter(isNear)], measure, dots))
    yield label && { ...label, text: shorten(label.text) };
}

/** Paint a drawing step by step, so that a frame need not wait for all of it. */
function* paint(
  context: Context,
  drawing: Grouped,
  view: View,
  size: Size,
  ratio: number,
  palette: Palette,
): Generator<void> {
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.globalAlpha = 1;
  context.fillStyle = palette.background;
  context.fillRect(0, 0, ...size);
  const places = placesOf(drawing, view, size);
  for (const group of drawing.lineGroups) {
    const [look] = group;
    if (!look) continue;
    for (let first = 0; first < group.length; first += LINES_A_STEP) {
      context.globalAlpha = look.share;
      context.strokeStyle = context.fillStyle = look.color;
      context.lineWidth = look.width;
      context.setLineDash(look.isDashed ? [4, 4] : []);
      context.beginPath();
      const part = group.slice(first, first + LINES_A_STEP);
      for (const line of part) addLine(context, places, line, size);
      context.stroke();
      for (const line of part) if (line.hasArrow) addArrow(context, places, line);
      yield;
    }
  }
  context.setLineDash([]);
  const isNear = ([x, y]: readonly [number, number, number]) => isOn(size, x, y, 20);
  context.lineWidth = 1.25;
  context.lineCap = context.lineJoin = "round";
  context.strokeStyle = palette.background;
  for (const group of drawing.dotGroups) {
    const [look] = group;
    for (let first = 0; first < group.length; first += DOTS_A_STEP) {
      context.beginPath();
      for (const { id } of group.slice(first, first + DOTS_A_STEP)) {
        const place = places.get(id);
        if (!place || !isNear(place)) continue;
        const [x, y, radius] = place;
        context.moveTo(x + radius, y);
        context.arc(x, y, Math.max(1.5, radius), 0, 2 * Math.PI);
      }
      context.globalAlpha = look?.share ?? 1;
      context.fillStyle = look?.color ?? palette.other;
      context.fill();
      context.stroke();
      yield;
    }
  }
  let icons = 0;
  for (const { id, type, share } of drawing.dots) {
    const place = places.get(id);
    if (!type || !place || place[2] < LEAST_ICON || !isNear(place)) continue;
    const [x, y, radius] = place;
    const side = (radius * 1.25) / 24;
    context.globalAlpha = share;
    context.lineWidth = 2.2;
    context.setTransform(side * ratio, 0, 0, side * ratio, x * ratio, y * ratio);
    context.translate(-12, -12);
    context.stroke(outlineOf(iconOf(type)));
    icons += 1;
    if (icons % ICONS_A_STEP === 0) yield;
  }
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.globalAlpha = 1;
  context.font = `12px ${palette.font}`;
  context.textAlign = "center";
  context.textBaseline = "middle";
  let labels = 0;
  for (const label of labelsOf(drawing, places, size, context)) {
    labels += label ? 1 : 0;
    if (!label || labels % LABELS_A_STEP === 0) yield;
    if (!label) continue;
    const { text, x, y, width } = label;
    context.globalAlpha = 0.78;
    context.fillStyle = palette.background;
    context.fillRect(x - width / 2 - 2, y - LABEL_HEIGHT / 2 + 1, width + 4, LABEL_HEIGHT - 2);
    context.globalAlpha = 1;
    context.fillStyle = palette.text;
    context.fillText(text, x, y);
  }
}

/** A drawing whose parts that look the same are painted as one path: each of its own takes seconds. */
interface Grouped extends Drawing {
  /** What is dimmed comes first. */
  lineGroups: readonly Line[][];
  dotGroups: readonly Dot[][];
}

function group(drawing: Drawing): Grouped {
  const lookOf = ({ share, color, width, isDashed }: Line) =>
    [share, color, width, isDashed].join();
  return {
    ...drawing,
    lineGroups: groupBy(drawing.lines, lookOf),
    dotGroups: groupBy(drawing.dots, ({ share, color }) => `${share} ${color}`),
  };
}

function groupBy<Item extends { share: number }>(
  items: readonly Item[],
  keyOf: (item: Item) => string,
): Item[][] {
  const shareOf = ([first]: readonly Item[]) => first?.share ?? 0;
  const groups = [...Map.groupBy(items, keyOf).values()];
  return groups.sort((one, other) => shareOf(one) - shareOf(other));
}

/** Add the part of a line that is on the surface: dashes far outside of it would take seconds. */
function addLine(context: Context, places: Placed, line: Line, [width, height]: Size): void {
  const [source, target] = [places.get(line.source), places.get(line.target)];
  if (!source || !target) return;
  const [x, y] = source;
  const [dx, dy] = [target[0] - x, target[1] - y];
  let [start, end] = [0, 1];
  for (const [step, room] of [
    [-dx, x],
    [dx, width - x],
    [-dy, y],
    [dy, height - y],
  ] as const) {
    if (step < 0) start = Math.max(start, room / step);
    else if (step > 0) end = Math.min(end, room / step);
    else if (room < 0) return;
  }
  if (start > end) return;
  context.moveTo(x + start * dx, y + start * dy);
  context.lineTo(x + end * dx, y + end * dy);
}

function addArrow(context: Context, places: Placed, line: Line): void {
  const [source, target] = [places.get(line.source), places.get(line.target)];
  if (!source || !target) return;
  const turn = Math.atan2(target[1] - source[1], target[0] - source[0]);
  const [x, y] = [
    target[0] - Math.cos(turn) * (target[2] + 2),
    target[1] - Math.sin(turn) * (target[2] + 2),
  ];
  context.beginPath();
  context.moveTo(x, y);
  for (const side of [-0.4, 0.4])
    context.lineTo(x - 8 * Math.cos(turn + side), y - 8 * Math.sin(turn + side));
  context.fill();
}

/** A canvas, and the view that was painted on it. */
interface Sheet {
  canvas: HTMLCanvasElement;
  context: Context;
  view: View;
}

export class GraphCanvas {
  view: View = { x: 0, y: 0, scale: UNIT };
  private drawing = group({ dots: [], lines: [] });
  private palette = readPalette();
  private size: Size = [0, 0];
  private readonly sheets: [Sheet, Sheet];
  private readonly ring = document.createElement("div");
  private pointed: string | null = null;
  private job: { steps: Generator<void>; view: View } | null = null;
  private isStale = true;
  private frame = 0;
  /** When the last frame began, and how many steps of painting one does. */
  private last = 0;
  private pace = 1;
  private restTimer = 0;
  private flight: { from: View; to: View; start: number } | null = null;
  private readonly fingers = new Map<number, readonly [number, number]>();
  private grip: { dot: Dot | null; x: number; y: number; hasMoved: boolean } | null = null;
  private readonly leave = new AbortController();
  private readonly calm = window.matchMedia("(prefers-reduced-motion: reduce)");

  events: CanvasEvents | null = null;

  constructor(private readonly host: HTMLElement) {
    this.sheets = [this.addSheet(), this.addSheet()];
    this.ring.className = "graph-ring";
    this.ring.hidden = true;
    host.append(this.ring);
    const observer = new ResizeObserver(() => this.resize());
    observer.observe(host);
    this.leave.signal.addEventListener("abort", () => observer.disconnect());
    this.listen();
    this.resize();
  }

  destroy(): void {
    this.leave.abort();
    cancelAnimationFrame(this.frame);
    clearTimeout(this.restTimer);
    for (const { canvas } of this.sheets) canvas.remove();
    this.ring.remove();
  }

  /** Replace what is drawn. */
  draw(drawing: Drawing): void {
    this.drawing = group(drawing);
    this.palette = readPalette();
    this.repaint();
    this.showRing();
  }

  /** Show all entities, as large as there is room. */
  fit(): void {
    const { dots } = this.drawing;
    const [width, height] = this.size;
    if (!dots.length || !width) return;
    const [xs, ys] = [dots.map(({ x }) => x), dots.map(({ y }) => y)];
    const [left, right] = [Math.min(...xs), Math.max(...xs)];
    const [top, bottom] = [Math.min(...ys), Math.max(...ys)];
    const room = [Math.max(80, width - 170), Math.max(80, height - 90)] as const;
    const scale = Math.min(room[0] / (right - left || 1), room[1] / (bottom - top || 1), 150);
    this.go({ x: (left + right) / 2, y: (top + bottom) / 2, scale });
  }

  /** Move to a view, smoothly unless that is unwanted. */
  go(view: View, isSmooth = true): void {
    const to = { ...view, scale: Math.min(CLOSEST, Math.max(FARTHEST, view.scale)) };
    this.flight = null;
    if (!isSmooth || this.calm.matches || this.isStale) this.move(to);
    else {
      this.flight = { from: this.view, to, start: performance.now() };
      this.ask();
    }
  }

  /** Bring an entity into the middle, if it is not well in view. */
  reveal(id: string): void {
    const dot = this.dotOf(id);
    const [width, height] = this.size;
    if (!dot || !width) return;
    const [x, y] = onto(this.view, this.size, dot.x, dot.y);
    // On a narrow screen, the panel covers the lower half.
    const bottom = width < 600 ? height * 0.4 : height - 40;
    if (x > 40 && y > 30 && x < width - 40 && y < bottom) return;
    const scale = Math.max(this.view.scale, UNIT / 2);
    this.go({ x: dot.x, y: dot.y + (height - 30 - bottom) / 2 / scale, scale });
  }

  pan(left: number, top: number): void {
    const { x, y, scale } = this.view;
    this.move({ x: x - left / scale, y: y - top / scale, scale });
  }

  /** Zoom around a place of the screen, by default the middle. */
  zoom(factor: number, left = this.size[0] / 2, top = this.size[1] / 2): void {
    const [x, y] = this.toMap(left, top);
    const scale = Math.min(CLOSEST, Math.max(FARTHEST, this.view.scale * factor));
    this.move({
      x: x - (left - this.size[0] / 2) / scale,
      y: y - (top - this.size[1] / 2) / scale,
      scale,
    });
  }

  /** Ring one entity and name it, as where the pointer or the keyboard is. */
  point(id: string | null): void {
    if (id === this.pointed) return;
    this.pointed = id;
    this.host.classList.toggle("points", id !== null);
    this.showRing();
  }

  /** Return what is painted, twice as fine as the screen. */
  async picture(): Promise<Blob> {
    const canvas = document.createElement("canvas");
    const [width, height] = this.size;
    canvas.width = width * 2;
    canvas.height = height * 2;
    const context = canvas.getContext("2d", { willReadFrequently: true });
    if (!context) throw new Error("no canvas");
    Array.from(paint(context, this.drawing, this.view, this.size, 2, this.palette));
    return await new Promise((done, fail) => {
      canvas.toBlob((blob) => (blob ? done(blob) : fail(new Error("no picture"))));
    });
  }

  /** Return where everything is on the screen: for an export as SVG. */
  layout(): { size: Size; places: Placed; labels: Label[] } {
    const { drawing, view, size } = this;
    const places = placesOf(drawing, view, size);
    const labels = labelsOf(drawing, places, size, this.sheets[0].context);
    return { size, places, labels: [...labels].filter((label) => label !== null) };
  }

  private addSheet(): Sheet {
    const canvas = document.createElement("canvas");
    canvas.className = "graph-sheet";
    canvas.setAttribute("aria-hidden", "true");
    // It is painted by the processor: without a graphics card, an emulated one takes seconds.
    const context = canvas.getContext("2d", { alpha: false, willReadFrequently: true });
    if (!context) throw new Error("no canvas");
    this.host.append(canvas);
    return { canvas, context, view: this.view };
  }

  private get ratio(): number {
    return Math.min(2, window.devicePixelRatio || 1);
  }

  private resize(): void {
    const { clientWidth: width, clientHeight: height } = this.host;
    if (!width || !height || (width === this.size[0] && height === this.size[1])) return;
    this.size = [width, height];
    for (const { canvas } of this.sheets) {
      canvas.width = Math.round((width + 2 * MARGIN) * this.ratio);
      canvas.height = Math.round((height + 2 * MARGIN) * this.ratio);
      canvas.style.width = `${width + 2 * MARGIN}px`;
      canvas.style.height = `${height + 2 * MARGIN}px`;
    }
    this.repaint();
  }

  /** Paint again: at once where that is quick, so that nothing old is seen. */
  private repaint(): void {
    this.job = null;
    this.isStale = true;
    if (!this.size[0]) return;
    const isQuick = this.drawing.dots.length <= ALL_AT_ONCE;
    this.begin();
    if (isQuick) this.work(Number.POSITIVE_INFINITY);
    this.pace = 1;
    this.ask();
  }

  private begin(): void {
    const [, back] = this.sheets;
    const size = [this.size[0] + 2 * MARGIN, this.size[1] + 2 * MARGIN] as const;
    const view = this.view;
    const steps = paint(back.context, this.drawing, view, size, this.ratio, this.palette);
    this.job = { steps, view };
  }

  private work(steps: number): void {
    for (let step = 0; this.job && step < steps; step += 1) {
      if (this.job.steps.next().done) {
        this.sheets.reverse();
        const [front, back] = this.sheets;
        front.view = this.job.view;
        front.canvas.style.visibility = "visible";
        back.canvas.style.visibility = "hidden";
        this.job = null;
        this.isStale = false;
        this.place();
      }
    }
  }

  private move(view: View): void {
    this.view = view;
    this.ask();
    clearTimeout(this.restTimer);
    this.restTimer = window.setTimeout(() => {
      this.restTimer = 0;
      this.ask();
      this.events?.onRest(this.view);
    }, REST_MS);
  }

  private ask(): void {
    this.frame ||= requestAnimationFrame((now) => {
      this.frame = 0;
      this.step(now);
    });
  }

  private step(now: number): void {
    if (this.flight) {
      const { from, to, start } = this.flight;
      const share = Math.min(1, Math.max(0, (now - start) / FLIGHT_MS));
      const eased = share < 0.5 ? 2 * share ** 2 : 1 - 2 * (1 - share) ** 2;
      const between = (one: number, other: number) => one + (other - one) * eased;
      if (share === 1) this.flight = null;
      this.move({
        x: between(from.x, to.x),
        y: between(from.y, to.y),
        scale: from.scale * (to.scale / from.scale) ** eased,
      });
    }
    this.place();
    if (!this.job && this.needsPaint()) this.begin();
    if (this.job) {
      // The browser paints what was drawn at the end of the frame, so its cost shows in the next.
      const isSlow = now - this.last > SLOW_MS;
      this.pace = isSlow ? Math.max(1, this.pace >> 1) : Math.min(MOST_STEPS, this.pace + 1);
      this.work(this.pace);
      this.ask();
    }
    this.last = now;
  }

  /** Return whether the picture is not good enough: at rest it must be exact. */
  private needsPaint(): boolean {
    const [{ view }] = this.sheets;
    if (this.isStale) return true;
    const factor = this.view.scale / view.scale;
    const isSame = factor === 1 && view.x === this.view.x && view.y === this.view.y;
    if (!this.restTimer) return !isSame;
    if (factor > STRETCH || factor < 1 / STRETCH) return true;
    // The picture must reach over the edges of the view.
    const [dx, dy] = [view.x - this.view.x, view.y - this.view.y].map(Math.abs);
    const { scale } = this.view;
    return (
      (dx ?? 0) * scale > (this.size[0] / 2 + MARGIN) * factor - this.size[0] / 2 ||
      (dy ?? 0) * scale > (this.size[1] / 2 + MARGIN) * factor - this.size[1] / 2
    );
  }

  /** Move the picture to where the view is. */
  private place(): void {
    const [{ canvas, view }] = this.sheets;
    const factor = this.view.scale / view.scale;
    const [left, top] = [0, 1].map((axis) => {
      const half = (this.size[axis] ?? 0) / 2;
      const away = axis ? view.y - this.view.y : view.x - this.view.x;
      return half + away * this.view.scale - factor * (half + MARGIN);
    });
    canvas.style.transform = `translate(${left}px, ${top}px) scale(${factor})`;
    this.showRing();
  }

  private showRing(): void {
    const dot = this.pointed === null ? null : this.dotOf(this.pointed);
    this.ring.hidden = !dot;
    if (!dot) return;
    const [x, y] = onto(this.view, this.size, dot.x, dot.y);
    const radius = Math.max(4, dot.radius * growthOf(this.view.scale)) + 3;
    this.ring.style.transform = `translate(${x}px, ${y}px)`;
    this.ring.style.setProperty("--reach", `${radius}px`);
    this.ring.dataset.name = dot.label;
  }

  private dotOf(id: string): Dot | undefined {
    return this.drawing.dots.find((dot) => dot.id === id);
  }

  private toMap(left: number, top: number): [number, number] {
    const { x, y, scale } = this.view;
    return [x + (left - this.size[0] / 2) / scale, y + (top - this.size[1] / 2) / scale];
  }

  private dotAt(left: number, top: number): Dot | null {
    const [x, y] = this.toMap(left, top);
    const growth = growthOf(this.view.scale);
    let best: Dot | null = null;
    let nearest = Number.POSITIVE_INFINITY;
    for (const dot of this.drawing.dots) {
      const away = Math.hypot(dot.x - x, dot.y - y) * this.view.scale;
      if (away > dot.radius * growth + REACH || away >= nearest) continue;
      [best, nearest] = [dot, away];
    }
    return best;
  }

  private listen(): void {
    const { host } = this;
    const on = <K extends keyof HTMLElementEventMap>(
      name: K,
      run: (event: HTMLElementEventMap[K]) => void,
      passive = true,
    ) => host.addEventListener(name, run, { signal: this.leave.signal, passive });
    const at = (event: MouseEvent): [number, number] => {
      const box = host.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    on(
      "wheel",
      (event) => {
        event.preventDefault();
        this.flight = null;
        const step = event.deltaMode === 1 ? event.deltaY * 16 : event.deltaY;
        this.zoom(Math.exp(-Math.max(-120, Math.min(120, step)) / 240), ...at(event));
      },
      false,
    );
    on("pointerdown", (event) => {
      if (event.button !== 0) return;
      host.setPointerCapture(event.pointerId);
      const place = at(event);
      this.fingers.set(event.pointerId, place);
      const dot = this.fingers.size === 1 ? this.dotAt(...place) : null;
      this.grip = { dot, x: place[0], y: place[1], hasMoved: this.fingers.size > 1 };
      this.flight = null;
    });
    on("pointermove", (event) => {
      const before = this.fingers.get(event.pointerId);
      const place = at(event);
      if (!before) {
        this.point(this.dotAt(...place)?.id ?? null);
        return;
      }
      this.drag(event.pointerId, before, place);
    });
    const release = (event: PointerEvent) => {
      this.fingers.delete(event.pointerId);
      const { grip } = this;
      if (this.fingers.size || !grip) return;
      this.grip = null;
      if (!grip.hasMoved && event.type === "pointerup")
        this.events?.onPick(grip.dot?.id ?? null, event.shiftKey);
      else if (grip.hasMoved && grip.dot) this.events?.onDrop(grip.dot.id, grip.dot.x, grip.dot.y);
    };
    on("pointerup", release);
    on("pointercancel", release);
    on("pointerleave", () => this.point(null));
    on("dblclick", (event) => {
      const dot = this.dotAt(...at(event));
      if (dot) this.events?.onGrow(dot.id);
      else this.zoom(1.8, ...at(event));
    });
  }

  private drag(
    finger: number,
    before: readonly [number, number],
    [left, top]: readonly [number, number],
  ): void {
    const { grip } = this;
    if (!grip) return;
    if (Math.hypot(left - grip.x, top - grip.y) > TAP) grip.hasMoved = true;
    if (!grip.hasMoved) return;
    const [dx, dy] = [left - before[0], top - before[1]];
    const others = [...this.fingers].filter(([id]) => id !== finger);
    this.fingers.set(finger, [left, top]);
    const [other] = others;
    if (other) {
      const [, [x, y]] = other;
      const was = Math.hypot(before[0] - x, before[1] - y) || 1;
      this.pan(dx / 2, dy / 2);
      this.zoom(Math.hypot(left - x, top - y) / was, (left + x) / 2, (top + y) / 2);
    } else if (grip.dot) {
      grip.dot.x += dx / this.view.scale;
      grip.dot.y += dy / this.view.scale;
      this.repaint();
    } else this.pan(dx, dy);
  }
}
