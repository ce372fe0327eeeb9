/** The ground of the map: circles of communities, the links among them, and their titles. */

import { faded, mix, type Palette } from "./colours";
import { breakLines } from "./lines";

export interface Circle {
  id: string;
  title: string;
  /** What stands below the title, as how many entities it holds. */
  note: string;
  x: number;
  y: number;
  radius: number;
  depth: number;
  /** Which of the colours: all inside one of the largest have the same. */
  colour: number;
  /** Whether one sees what is inside. */
  isOpen: boolean;
  /** 1, or less where little or nothing inside fits the filters. */
  share: number;
}

export interface Link {
  source: string;
  target: string;
  /** From 0 to 1. */
  strength: number;
}

export interface Ground {
  /** The outer before the inner. */
  circles: readonly Circle[];
  links: readonly Link[];
}

/** What a view shows: the middle in the map's own measure, and how many pixels one of it takes. */
export interface Viewport {
  x: number;
  y: number;
  scale: number;
  width: number;
  height: number;
  /** Pixels around it that are painted too. */
  margin?: number;
}

export interface Lit {
  hovered: string | null;
  chosen: string | null;
  /** Whether something else stands out, so that circles step back. */
  isQuiet: boolean;
}

interface Box {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

const MOST_TITLES = 60;
const WIDEST_LINK = 7;

export function toScreen(view: Viewport, x: number, y: number): [number, number] {
  return [view.width / 2 + (x - view.x) * view.scale, view.height / 2 - (y - view.y) * view.scale];
}

export function toMap(view: Viewport, left: number, top: number): [number, number] {
  return [
    view.x + (left - view.width / 2) / view.scale,
    view.y - (top - view.height / 2) / view.scale,
  ];
}

function isInView(view: Viewport, circle: Circle): boolean {
  const [left, top] = toScreen(view, circle.x, circle.y);
  const reach = circle.radius * view.scale + (view.margin ?? 0);
  return (
    left + reach > 0 && left - reach < view.width && top + reach > 0 && top - reach < view.height
  );
}

/** Return the innermost circle at a place of the map. */
export function circleAt(ground: Ground, x: number, y: number): Circle | null {
  let found: Circle | null = null;
  for (const circle of ground.circles) {
    if (Math.hypot(circle.x - x, circle.y - y) > circle.radius) continue;
    if (!found || circle.depth > found.depth) found = circle;
  }
  return found;
}

/** Draw circles and links. */
export function paintGround(
  context: CanvasRenderingContext2D,
  view: Viewport,
  ground: Ground,
  palette: Palette,
  lit: Lit,
): void {
  const open = ground.circles.filter((circle) => circle.isOpen && isInView(view, circle));
  const closed = ground.circles.filter((circle) => !circle.isOpen && isInView(view, circle));
  for (const circle of open) paintCircle(context, view, circle, palette, lit);
  paintLinks(context, view, ground, palette, lit);
  for (const circle of closed) paintCircle(context, view, circle, palette, lit);
}

function tintOf(circle: Circle, palette: Palette): string {
  return palette.data[circle.colour % palette.data.length] ?? palette.other;
}

function paintCircle(
  context: CanvasRenderingContext2D,
  view: Viewport,
  circle: Circle,
  palette: Palette,
  lit: Lit,
): void {
  const [left, top] = toScreen(view, circle.x, circle.y);
  const tint = tintOf(circle, palette);
  const share = circle.share * (lit.isQuiet ? 0.5 : 1);
  context.beginPath();
  context.arc(left, top, circle.radius * view.scale, 0, 2 * Math.PI);
  if (circle.isOpen) context.fillStyle = faded(tint, 0.045 * share);
  else context.fillStyle = mix(tint, palette.background, 0.05 + 0.13 * share);
  context.fill();
  const isMarked = circle.id === lit.hovered || circle.id === lit.chosen;
  context.lineWidth = isMarked ? 2 : 1;
  context.strokeStyle = isMarked
    ? mix(tint, palette.background, 0.95)
    : faded(tint, (circle.isOpen ? 0.32 : 0.5) * Math.max(0.35, share));
  context.stroke();
}

function paintLinks(
  context: CanvasRenderingContext2D,
  view: Viewport,
  ground: Ground,
  palette: Palette,
  lit: Lit,
): void {
  const closed = new Map(ground.circles.filter((c) => !c.isOpen).map((c) => [c.id, c]));
  context.lineCap = "round";
  for (const link of ground.links) {
    const [source, target] = [closed.get(link.source), closed.get(link.target)];
    if (!source || !target) continue;
    const share = Math.min(source.share, target.share) * (lit.isQuiet ? 0.35 : 1);
    const isMarked = lit.hovered === source.id || lit.hovered === target.id;
    const [left, top] = toScreen(view, source.x, source.y);
    const [right, bottom] = toScreen(view, target.x, target.y);
    context.beginPath();
    context.moveTo(left, top);
    context.lineTo(right, bottom);
    context.lineWidth = 0.8 + (WIDEST_LINK - 0.8) * link.strength;
    context.strokeStyle = isMarked
      ? faded(tintOf(lit.hovered === source.id ? source : target, palette), 0.8)
      : faded(palette.strongLine, (0.3 + 0.4 * link.strength) * share);
    context.stroke();
  }
}

/** Write the titles that there is room for: those of large circles first. */
export function paintTitles(
  context: CanvasRenderingContext2D,
  view: Viewport,
  ground: Ground,
  palette: Palette,
  lit: Lit,
): void {
  const taken: Box[] = [];
  const shown = ground.circles.filter((circle) => isInView(view, circle));
  const priority = (circle: Circle) => (circle.id === lit.hovered ? 1e9 : circle.radius);
  shown.sort((one, other) => priority(other) - priority(one));
  let written = 0;
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.lineJoin = "round";
  for (const circle of shown) {
    if (written >= MOST_TITLES) break;
    const radius = circle.radius * view.scale;
    if (circle.isOpen ? radius > view.height : radius < 9 && circle.id !== lit.hovered) continue;
    if (paintTitle(context, view, circle, radius, palette, lit, ground, taken)) written += 1;
  }
}

function paintTitle(
  context: CanvasRenderingContext2D,
  view: Viewport,
  circle: Circle,
  radius: number,
  palette: Palette,
  lit: Lit,
  ground: Ground,
  taken: Box[],
): boolean {
  const [middle, center] = toScreen(view, circle.x, circle.y);
  const size = Math.round(Math.max(10, Math.min(15, 8 + radius / 14)));
  const inside = !circle.isOpen && radius >= 24;
  context.font = `${circle.isOpen ? 560 : 600} ${size}px ${palette.font}`;
  const width = inside ? 1.66 * radius : circle.isOpen ? Math.max(150, 1.9 * radius) : 150;
  const most = inside ? Math.max(1, Math.min(4, Math.floor((1.1 * radius) / (size * 1.25)))) : 1;
  const { lines, width: widest } = breakLines(circle.title, width, most, context);
  const height = size * 1.25;
  const hasNote = inside && radius >= 44 && circle.note !== "";
  const whole = lines.length * height + (hasNote ? height : 0);
  const top = inside
    ? center - whole / 2
    : circle.isOpen
      ? center - radius - whole - 3
      : center + radius + 2;
  const box = {
    left: middle - widest / 2 - 3,
    right: middle + widest / 2 + 3,
    top,
    bottom: top + whole,
  };
  if (taken.some((other) => overlaps(box, other))) return false;
  if (!inside && circle.id !== lit.hovered && covers(view, ground, circle, box)) return false;
  taken.push(box);
  const share = Math.max(0.45, circle.share) * (lit.isQuiet ? 0.35 : 1);
  const color = mix(
    circle.isOpen ? tintOf(circle, palette) : palette.text,
    palette.background,
    share,
  );
  lines.forEach((line, index) => {
    const y = top + (index + 0.5) * height;
    if (!inside) {
      context.lineWidth = 3;
      context.strokeStyle = palette.background;
      context.strokeText(line, middle, y);
    }
    context.fillStyle = color;
    context.fillText(line, middle, y);
  });
  if (hasNote) {
    context.font = `400 ${Math.max(10.5, size - 2)}px ${palette.font}`;
    context.fillStyle = mix(palette.muted, palette.background, share);
    context.fillText(circle.note, middle, top + (lines.length + 0.5) * height);
  }
  return true;
}

/** Return whether a title would overlap other circles that are closed. */
function covers(view: Viewport, ground: Ground, own: Circle, box: Box): boolean {
  return ground.circles.some((circle) => {
    if (circle.isOpen || circle.id === own.id) return false;
    const [left, top] = toScreen(view, circle.x, circle.y);
    const dx = Math.max(box.left - left, 0, left - box.right);
    const dy = Math.max(box.top - top, 0, top - box.bottom);
    return Math.hypot(dx, dy) < circle.radius * view.scale - 2;
  });
}

function overlaps(one: Box, other: Box): boolean {
  return (
    one.left < other.right &&
    one.right > other.left &&
    one.top < other.bottom &&
    one.bottom > other.top
  );
}
