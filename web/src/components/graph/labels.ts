/** Place labels beside dots so that none overlaps another label or a dot. */

export interface Labelled {
  text: string;
  x: number;
  y: number;
  /** Radius of the dot. */
  radius: number;
  /** Where the middle of the label must be: that of a line. */
  isFixed?: boolean;
  /** Whether it is better beside its dot than below. */
  isBeside?: boolean;
}

export interface Label {
  text: string;
  /** The middle of the label. */
  x: number;
  y: number;
  width: number;
}

export const LABEL_HEIGHT = 15;
const CELL = 48;
const GAP = 3;
const ITEMS_A_STEP = 100;
/** Dots that are smaller may be covered: among thousands, no label would find room else. */
const LEAST_OBSTACLE = 4;

type Box = readonly [left: number, top: number, right: number, bottom: number];

/** Boxes by the cells of a grid that they touch. */
class Grid {
  private readonly cells = new Map<number, Box[]>();

  add(box: Box): void {
    for (const cell of this.cellsOf(box)) {
      const held = this.cells.get(cell);
      if (held) held.push(box);
      else this.cells.set(cell, [box]);
    }
  }

  isFree(box: Box): boolean {
    for (const cell of this.cellsOf(box)) {
      for (const other of this.cells.get(cell) ?? []) {
        if (box[0] < other[2] && box[2] > other[0] && box[1] < other[3] && box[3] > other[1])
          return false;
      }
    }
    return true;
  }

  private *cellsOf([left, top, right, bottom]: Box): Generator<number> {
    for (let x = Math.floor(left / CELL); x <= Math.floor(right / CELL); x += 1)
      for (let y = Math.floor(top / CELL); y <= Math.floor(bottom / CELL); y += 1)
        yield x * 65_536 + y;
  }
}

/** Yield the labels that there is room for, the first items first, and null now and then. */
export function* placeLabels(
  items: readonly Labelled[],
  measure: (text: string) => number,
  obstacles: readonly Labelled[] = items,
): Generator<Label | null> {
  const grid = new Grid();
  for (const { x, y, radius } of obstacles) {
    if (radius >= LEAST_OBSTACLE) grid.add([x - radius, y - radius, x + radius, y + radius]);
  }
  for (const [index, item] of items.entries()) {
    if (index % ITEMS_A_STEP === 0) yield null;
    const width = measure(item.text);
    for (const [x, y] of spotsOf(item, width)) {
      const [halfWidth, halfHeight] = [width / 2 + 1, LABEL_HEIGHT / 2];
      const box = [x - halfWidth, y - halfHeight, x + halfWidth, y + halfHeight] as const;
      if (!grid.isFree(box)) continue;
      grid.add(box);
      yield { text: item.text, x, y, width };
      break;
    }
  }
}

function spotsOf(item: Labelled, width: number): [number, number][] {
  const { x, y, radius, isFixed, isBeside } = item;
  if (isFixed) return [[x, y]];
  const [beside, above] = [radius + GAP + width / 2, radius + GAP - 1 + LABEL_HEIGHT / 2];
  const sides: [number, number][] = [
    [x + beside, y],
    [x - beside, y],
  ];
  return [
    ...(isBeside ? sides : []),
    [x, y + above],
    ...sides,
    [x, y - above],
    [x + 0.85 * beside, y + 0.7 * above],
    [x - 0.85 * beside, y + 0.7 * above],
    [x + 0.85 * beside, y - 0.7 * above],
    [x - 0.85 * beside, y - 0.7 * above],
  ];
}
