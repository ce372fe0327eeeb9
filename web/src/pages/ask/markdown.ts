/** Text of answers as it comes: finished blocks are read once, only the end again and again. */

import { getDefaults, Lexer, type Token, Tokenizer, type Tokens } from "marked";

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

/** Reads pieces of documents: they have bold words and code, and no other inline Markdown. */
class QuoteTokenizer extends Tokenizer {
  override emStrong(src: string, masked: string, before?: string) {
    const token = super.emStrong(src, masked, before);
    return token?.type === "strong" ? token : undefined;
  }

  override del(): Tokens.Del | undefined {
    return undefined;
  }

  override escape(): Tokens.Escape | undefined {
    return undefined;
  }

  override link(): Tokens.Link | undefined {
    return undefined;
  }

  override html(): Tokens.HTML | undefined {
    return undefined;
  }

  override def(): Tokens.Def | undefined {
    return undefined;
  }

  override lheading(): Tokens.Heading | undefined {
    return undefined;
  }
}

/** Return what a block of Markdown consists of. */
export function readBlock(text: string, { isQuoted }: { isQuoted: boolean }): Token[] {
  const tokenizer = isQuoted ? new QuoteTokenizer() : new Tokenizer();
  return new Lexer({ ...getDefaults(), tokenizer }).lex(text);
}

/** A text, the mark of a citation such as `[1]`, or that of a remembered fact such as `[M1]`. */
export type Piece =
  | { kind: "text"; text: string }
  | { kind: "mark"; number: number }
  | { kind: "fact"; number: number };

const MARK = /\[(M?)(\d{1,4})\]/g;

/** Cut a text at marks that are known, or at all of them; others are text. */
export function cutAtMarks(
  text: string,
  known: ReadonlySet<number> | "all",
  facts: ReadonlySet<number> = new Set(),
): Piece[] {
  const pieces: Piece[] = [];
  let from = 0;
  for (const match of text.matchAll(MARK)) {
    const kind = match[1] ? "fact" : "mark";
    const number = Number(match[2]);
    const named = kind === "fact" ? facts : known;
    if (known !== "all" && named !== "all" && !named.has(number)) continue;
    // The space before a mark is the mark's: it must not stand alone at the end of a line.
    const before = text.slice(from, match.index).replace(/ $/, "");
    if (before) pieces.push({ kind: "text", text: before });
    pieces.push({ kind, number });
    from = match.index + match[0].length;
  }
  if (from < text.length) pieces.push({ kind: "text", text: text.slice(from) });
  return pieces;
}

/** Return the pieces without a citation mark, if others have one: nothing was cited for them. */
export function findUncited(pieces: readonly Piece[]): Set<Piece> {
  const last = pieces.findLastIndex(({ kind }) => kind !== "text");
  const uncited = pieces
    .slice(last + 1)
    .filter((piece) => piece.kind === "text" && /\p{L}/u.test(piece.text));
  return new Set(last < 0 ? [] : uncited);
}
