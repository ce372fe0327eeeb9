/** A part of a passage around what is marked in it. */

import { Offsets } from "../../components/offsets";

/** Characters that are shown before a mark, at most: what is marked then stands in the first lines. */
const BEFORE = 70;
const ENDS = /[.!?。！？\n]\s*/gu;

/** Return a passage from the sentence of a mark on, or from some words before it, and where it begins.
 *
 * The mark is in code points of the passage; without one the passage stays as it is.
 */
export function cutAround(text: string, mark: readonly number[] | undefined) {
  const [from = 0] = mark ?? [];
  if (from <= BEFORE) return { text, start: 0 };
  const offsets = new Offsets(text);
  const unit = offsets.toUnit(from);
  const before = text.slice(0, unit);
  const earliest = offsets.toUnit(from - BEFORE);
  let start = -1;
  for (const end of before.matchAll(ENDS)) {
    const next = end.index + end[0].length;
    if (next >= earliest && next <= unit) {
      start = next;
      break;
    }
  }
  if (start < 0) {
    const space = before.indexOf(" ", earliest);
    start = space < 0 ? earliest : space + 1;
  }
  return { text: text.slice(start), start: offsets.toPoint(start) };
}
