/** Labels of points: each on a side of its point where it covers nothing else, or none. */

export interface Spot {
  x: number;
  y: number;
  text: string;
}

export interface PlacedLabel {
  x: number;
  y: number;
  anchor: "start" | "end" | "middle";
}

interface Box {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

const HEIGHT = 14;
const LATIN_WIDTH = 6.4;
const WIDE_WIDTH = 12.2;
const GAP = 9;

/** Return how wide a text is about, in units of the plot. */
export function textWidth(text: string): number {
  let width = 0;
  for (const letter of text) width += letter.charCodeAt(0) > 0x2e80 ? WIDE_WIDTH : LATIN_WIDTH;
  return width;
}

/** Place labels in the order of their points; one that has no room is null. */
export function placeLabels(
  spots: readonly Spot[],
  { width, height }: { width: number; height: number },
): (PlacedLabel | null)[] {
  const taken: Box[] = spots.map(({ x, y }) => boxAround(x, y));
  return spots.map((spot) => {
    for (const label of candidates(spot)) {
      const box = boxOf(label, textWidth(spot.text));
      const isInside = box.left >= 0 && box.right <= width && box.top >= 0 && box.bottom <= height;
      if (isInside && !taken.some((other) => overlap(box, other))) {
        taken.push(box);
        return label;
      }
    }
    return null;
  });
}

function candidates({ x, y }: Spot): PlacedLabel[] {
  return [
    { x: x + GAP, y: y + 4, anchor: "start" },
    { x: x - GAP, y: y + 4, anchor: "end" },
    { x, y: y - GAP, anchor: "middle" },
    { x, y: y + GAP + 10, anchor: "middle" },
    { x: x + GAP, y: y - GAP, anchor: "start" },
    { x: x + GAP, y: y + GAP + 10, anchor: "start" },
    { x: x - GAP, y: y - GAP, anchor: "end" },
    { x: x - GAP, y: y + GAP + 10, anchor: "end" },
  ];
}

function boxAround(x: number, y: number): Box {
  return { left: x - 6, top: y - 6, right: x + 6, bottom: y + 6 };
}

function boxOf({ x, y, anchor }: PlacedLabel, width: number): Box {
  const left = anchor === "start" ? x : anchor === "end" ? x - width : x - width / 2;
  return { left, top: y - HEIGHT + 4, right: left + width, bottom: y + 4 };
}

function overlap(one: Box, other: Box): boolean {
  return (
    one.left < other.right &&
    other.left < one.right &&
    one.top < other.bottom &&
    other.top < one.bottom
  );
}
