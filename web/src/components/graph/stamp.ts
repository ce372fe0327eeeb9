/** A picture of the ground, wider than the view: while the map is dragged it is moved, not painted. */

import type { Viewport } from "./ground";

export const MARGIN = 160;
const SAME_SCALE = 1e-6;

type Context = CanvasRenderingContext2D;
/** Paints what a view shows, and what lies within its margin. */
export type Painter = (context: Context, view: Viewport) => void;

interface Kept {
  view: Viewport;
  state: readonly unknown[];
}

/** Return where a picture taken of one view lies in another, in pixels; null where it cannot serve. */
export function shiftOf(taken: Viewport, view: Viewport): [number, number] | null {
  const isSame = taken.width === view.width && taken.height === view.height;
  if (!isSame || Math.abs(taken.scale - view.scale) > SAME_SCALE * view.scale) return null;
  const left = (taken.x - view.x) * view.scale;
  const top = (view.y - taken.y) * view.scale;
  return Math.abs(left) <= MARGIN && Math.abs(top) <= MARGIN ? [left, top] : null;
}

/** Return what draws the ground; `state` is all that its looks depend on beside the view. */
export function openStamp(
  context: Context | null = document.createElement("canvas").getContext("2d"),
): (target: Context, view: Viewport, state: readonly unknown[], paint: Painter) => void {
  let kept: Kept | null = null;
  let before: Viewport | null = null;

  const take = (stamp: Context, view: Viewport, ratio: number, paint: Painter) => {
    const [width, height] = [view.width + 2 * MARGIN, view.height + 2 * MARGIN];
    stamp.canvas.width = Math.round(width * ratio);
    stamp.canvas.height = Math.round(height * ratio);
    stamp.setTransform(ratio, 0, 0, ratio, MARGIN * ratio, MARGIN * ratio);
    paint(stamp, { ...view, margin: MARGIN });
  };

  return (target, view, state, paint) => {
    const isDragged = before !== null && shiftOf(before, view) !== null;
    before = view;
    // A zoom changes everything in every frame: a wider picture would only cost more.
    if (!context || !isDragged) {
      kept = null;
      paint(target, view);
      return;
    }
    const ratio = window.devicePixelRatio || 1;
    const looks = [ratio, ...state];
    let shift = kept && isEqual(kept.state, looks) ? shiftOf(kept.view, view) : null;
    if (!shift) {
      take(context, view, ratio, paint);
      kept = { view, state: looks };
      shift = [0, 0];
    }
    const [left, top] = shift.map((part) => Math.round(part * ratio) / ratio - MARGIN);
    const [width, height] = [view.width + 2 * MARGIN, view.height + 2 * MARGIN];
    target.drawImage(context.canvas, left ?? 0, top ?? 0, width, height);
  };
}

function isEqual(one: readonly unknown[], other: readonly unknown[]): boolean {
  return one.length === other.length && one.every((part, index) => Object.is(part, other[index]));
}
