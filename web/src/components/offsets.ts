/** Offsets: the server counts Unicode code points, JavaScript UTF-16 units. */

/** From and to, in code points. */
export type Span = readonly number[];

/** Converts offsets of one text between code points and UTF-16 units. */
export class Offsets {
  /** Where the characters that take two units begin, in units; empty for most texts. */
  private readonly wide: number[] = [];

  constructor(readonly text: string) {
    for (const match of text.matchAll(/[\u{10000}-\u{10ffff}]/gu)) this.wide.push(match.index);
  }

  /** Return the offset in units of an offset in code points. */
  toUnit(point: number): number {
    // A character that takes two units shifts every later one by one: find how many lie before.
    const before = countBefore(this.wide.length, (at) => (this.wide[at] ?? 0) - at < point);
    return Math.min(point + before, this.text.length);
  }

  /** Return the offset in code points of an offset in units. */
  toPoint(unit: number): number {
    return unit - countBefore(this.wide.length, (at) => (this.wide[at] ?? 0) < unit);
  }

  /** Return a part of the text by offsets in code points. */
  slice(start: number, end: number): string {
    return this.text.slice(this.toUnit(start), this.toUnit(end));
  }
}

/** Return how many of so many things in order come before a place, those for which `isBefore`. */
export function countBefore(total: number, isBefore: (at: number) => boolean): number {
  let low = 0;
  let high = total;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isBefore(middle)) low = middle + 1;
    else high = middle;
  }
  return low;
}

export interface Piece {
  text: string;
  /** Where it begins, in code points of the document. */
  start: number;
  /** The numbers of the spans that cover it, in their order. */
  covers: number[];
}

/** Cut a part of a document where spans begin and end.
 *
 * `start` and `end` say which part; spans are those of the whole document, and may overlap. Places
 * in a plain string are in UTF-16 units.
 */
export function cutAtSpans(
  text: Pick<Offsets, "slice"> | string,
  start: number,
  end: number,
  spans: readonly Span[],
): Piece[] {
  const inside = spans
    .map(([from = 0, to = 0], number) => ({
      from: Math.max(from, start),
      to: Math.min(to, end),
      number,
    }))
    .filter(({ from, to }) => from < to);
  const cuts = new Set([start, end]);
  for (const { from, to } of inside) cuts.add(from).add(to);
  const places = [...cuts].sort((a, b) => a - b);
  return places.slice(1).map((to, index) => {
    const from = places[index] ?? 0;
    const covering = inside.filter((span) => span.from <= from && span.to >= to);
    return { text: text.slice(from, to), start: from, covers: covering.map((s) => s.number) };
  });
}
