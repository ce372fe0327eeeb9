/** Text on a canvas, in lines of a width: Chinese breaks anywhere, other scripts between words. */

export interface Measure {
  font: string;
  measureText(text: string): { width: number };
}

/** A Chinese character with the stops after it, which begin no line; or a word. */
const PIECES =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}][^\s\p{L}\p{N}]*|[^\s、，\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]+[、，]*\s*|[、，]+/gu;
const MOST_KEPT = 2_000;
const kept = new Map<string, Lines>();

export interface Lines {
  lines: readonly string[];
  /** That of the widest, in pixels. */
  width: number;
}

/** Return the lines of a text; what is over ends the last with an ellipsis. */
export function breakLines(text: string, width: number, most: number, measure: Measure): Lines {
  // Widths in steps, so that a zoom does not measure every text again for every frame.
  const room = Math.max(40, Math.floor(width / 8) * 8);
  const key = `${measure.font}\n${room}\n${most}\n${text}`;
  const known = kept.get(key);
  if (known) return known;
  const laid = layLines(text, room, most, measure);
  const widths = laid.map((line) => measure.measureText(line).width);
  const lines = { lines: laid, width: Math.max(0, ...widths) };
  if (kept.size >= MOST_KEPT) kept.clear();
  kept.set(key, lines);
  return lines;
}

function layLines(text: string, room: number, most: number, measure: Measure): string[] {
  const fits = (line: string) => measure.measureText(line.trimEnd()).width <= room;
  const lines: string[] = [];
  let line = "";
  for (const piece of text.match(PIECES) ?? [text]) {
    if (fits(line + piece) || !line) {
      line += piece;
      continue;
    }
    if (lines.length === most - 1) return [...lines, shorten(`${line}${piece}`, fits)];
    lines.push(fits(line) ? line.trimEnd() : shorten(line, fits));
    line = piece;
  }
  return [...lines, fits(line) ? line.trimEnd() : shorten(line, fits)];
}

function shorten(line: string, fits: (line: string) => boolean): string {
  const letters = [...line.trimEnd()];
  while (letters.length > 1 && !fits(`${letters.join("")}…`)) letters.pop();
  return `${letters.join("").replace(/[\s,、，;:]+$/u, "")}…`;
}
