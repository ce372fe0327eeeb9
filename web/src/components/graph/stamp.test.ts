import { describe, expect, it, vi } from "vitest";
import type { Viewport } from "./ground";
import { MARGIN, openStamp, shiftOf } from "./stamp";

const VIEW: Viewport = { x: 0, y: 0, scale: 2, width: 800, height: 600 };

function fakeContext() {
  const canvas = { width: 0, height: 0 };
  return { canvas, setTransform: vi.fn(), drawImage: vi.fn() };
}

describe("the stamp of the ground", () => {
  it("knows where a picture of one view lies in another", () => {
    expect(shiftOf(VIEW, { ...VIEW, x: 10, y: 5 })).toEqual([-20, 10]);
    expect(shiftOf(VIEW, { ...VIEW, x: MARGIN })).toBeNull();
    expect(shiftOf(VIEW, { ...VIEW, scale: 2.1 })).toBeNull();
    expect(shiftOf(VIEW, { ...VIEW, width: 801 })).toBeNull();
  });

  it("repaints only where the picture does not reach, or the looks or the scale change", () => {
    const [own, target] = [fakeContext(), fakeContext()];
    const paint = vi.fn();
    const stamp = openStamp(own as unknown as CanvasRenderingContext2D);
    const draw = (view: Viewport, looks: unknown[]) =>
      stamp(target as unknown as CanvasRenderingContext2D, view, looks, paint);
    draw(VIEW, ["a"]);
    expect(paint).toHaveBeenLastCalledWith(target, VIEW);
    draw({ ...VIEW, x: 5 }, ["a"]);
    expect(paint).toHaveBeenLastCalledWith(own, { ...VIEW, x: 5, margin: MARGIN });
    draw({ ...VIEW, x: 10 }, ["a"]);
    draw({ ...VIEW, x: 15, y: 3 }, ["a"]);
    expect(paint).toHaveBeenCalledTimes(2);
    expect(target.drawImage).toHaveBeenLastCalledWith(
      own.canvas,
      -20 - MARGIN,
      6 - MARGIN,
      800 + 2 * MARGIN,
      600 + 2 * MARGIN,
    );
    draw({ ...VIEW, x: 15, y: 3 }, ["b"]);
    expect(paint).toHaveBeenCalledTimes(3);
    draw({ ...VIEW, x: 15, y: 3, scale: 3 }, ["b"]);
    expect(paint).toHaveBeenCalledTimes(4);
    expect(paint.mock.lastCall?.[0]).toBe(target);
  });
});
