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
    let low = 0;
    let high = this.wide.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.wide[middle] ?? 0) - middle < point) low = middle + 1;
      else high = middle;
    }
    return Math.min(point + low, this.text.length);
  }

  /** Return the offset in code points of an offset in units. */
  toPoint(unit: number): number {
    let low = 0;
    let high = this.wide.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.wide[middle] ?? 0) < unit) low = middle + 1;
      else high = middle;
    }
    return unit - low;
  }

  /** Return a part of the text by offsets in code points. */
  slice(start: number, end: number): string {
    return this.text.slice(this.toUnit(start), this.toUnit(end));
  }
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
  for (const { from, to } of inside) {
    cuts.add(from);
    cuts.add(to);
  }
  const places = [...cuts].sort((a, b) => a - b);
  const pieces: Piece[] = [];
  for (const [index, from] of places.entries()) {
    const to = places[index + 1];
    if (to === undefined) break;
    const covers = inside
      .filter((span) => span.from <= from && span.to >= to)
      .map(({ number }) => number);
    pieces.push({ text: text.slice(from, to), start: from, covers });
  }
  return pieces;
}
