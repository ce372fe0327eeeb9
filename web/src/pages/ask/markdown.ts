/** Text of answers as it comes: finished blocks are read once, only the end again and again. */

import { getDefaults, Lexer, type Token, Tokenizer } from "marked";

const FENCE = /^ {0,3}(```|~~~)/;

/** The first character decides: a longer prefix could change while a line is streamed. */
const LISTED = /^[-*+\d]/;

/** Split a text where a block ends: before each paragraph, not within code.
 *
 * The parts joined are the text. All but the last do not change when the text goes on.
 */
export function splitBlocks(text: string): string[] {
  const blocks: string[] = [];
  let block = "";
  let fence = "";
  let isEmptyBefore = false;
  for (const line of text.split(/(?<=\n)/)) {
    const isEmpty = line.trim() === "";
    const mark = FENCE.exec(line)?.[1] ?? "";
    // After an empty line, what is indented belongs to what is before it, as an item to its list.
    const goesOn = /^\s/.test(line) || (LISTED.test(line) && LISTED.test(block));
    const begins = isEmptyBefore && !isEmpty && fence === "" && !goesOn;
    if (begins && block) {
      blocks.push(block);
      block = "";
    }
    if (mark && fence === "") fence = mark;
    else if (mark && mark === fence) fence = "";
    block += line;
    isEmptyBefore = isEmpty;
  }
  if (block) blocks.push(block);
  return blocks;
}

const NOTHING = () => undefined;

/** Reads pieces of documents: they have bold words and code, and no other inline Markdown. */
const quoteTokenizer = Object.assign(new Tokenizer(), {
  emStrong(this: Tokenizer, ...given: Parameters<Tokenizer["emStrong"]>) {
    const token = Tokenizer.prototype.emStrong.apply(this, given);
    return token?.type === "strong" ? token : undefined;
  },
  del: NOTHING,
  escape: NOTHING,
  link: NOTHING,
  html: NOTHING,
  def: NOTHING,
  lheading: NOTHING,
});

/** Return what a block of Markdown consists of. */
export function readBlock(text: string, { isQuoted }: { isQuoted: boolean }): Token[] {
  const tokenizer = isQuoted ? quoteTokenizer : new Tokenizer();
  return new Lexer({ ...getDefaults(), tokenizer }).lex(text);
}

/** A part of a text, or the name of a citation or fact that it marks, as `1` for `[1]`. */
export interface Piece {
  text: string;
  isMark: boolean;
}

const MARK = /\[(M?\d{1,4})\]/g;

/** Cut a text at the marks that are known; others are text. */
export function cutAtMarks(text: string, isKnown: (mark: string) => boolean): Piece[] {
  const pieces: Piece[] = [];
  let from = 0;
  for (const { 0: whole, 1: mark = "", index } of text.matchAll(MARK)) {
    if (!isKnown(mark)) continue;
    // The space before a mark is the mark's: it must not stand alone at the end of a line.
    const before = text.slice(from, index).replace(/ $/, "");
    if (before) pieces.push({ text: before, isMark: false });
    pieces.push({ text: mark, isMark: true });
    from = index + whole.length;
  }
  if (from < text.length) pieces.push({ text: text.slice(from), isMark: false });
  return pieces;
}

/** Return the last piece if it has no mark, while others have one: nothing was cited for it. */
export function findUncited(pieces: readonly Piece[]): Piece | undefined {
  const last = pieces.at(-1);
  return pieces.length > 1 && last && !last.isMark && /\p{L}/u.test(last.text) ? last : undefined;
}
