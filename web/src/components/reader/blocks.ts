/** What is shown of a document: its blocks as headings, lists, tables and code.
 *
 * The text of a document is Markdown. The marks of its blocks, such as `#` and `|`, are not shown.
 * All places here are in UTF-16 units.
 */

import type { Offsets } from "../offsets";
import type { Details } from "./document";

export type Block = Details["blocks"][number];

/** A part of the text that is shown. */
export interface Run {
  start: number;
  end: number;
}

export interface Item {
  /** Its mark where a browser has no such numbers, as `a)` or `①`; else empty. */
  mark: string;
  number: number | null;
  body: Shown[];
}

export type Cell = Run[];

export type Shown =
  | { kind: "heading"; level: number; runs: Run[] }
  | { kind: "paragraph"; runs: Run[] }
  | { kind: "list"; isOrdered: boolean; items: Item[] }
  | { kind: "table"; header: Cell[]; rows: Cell[][]; isPart: boolean }
  | { kind: "definition"; term: Run; body: Shown[] }
  | { kind: "code"; language: string; runs: Run[] }
  | { kind: "quote" | "figure" | "box" | "turn"; speaker: string; body: Shown[] };

/** A part of the document that is drawn by itself, from its first to its last word.
 *
 * What lies between two, as the mark of a heading, belongs to the second.
 */
export interface Row {
  start: number;
  end: number;
  shown: Shown;
}

export interface Layout {
  rows: Row[];
  /** Words that name what follows them, as a term or a speaker. */
  names: Run[];
}

/** Rows of a table that are drawn together: a table may have very many. */
const ROWS_TOGETHER = 100;

const HEADING = /#{1,6}[ \t]+/y;
const ITEM_MARK =
  /(?:[-*+•·▪◦‣–—●○■□◆]|[\p{L}\p{N}]{1,9}[.)、．]|[(（][\p{L}\p{N}]{1,9}[)）]|[\u2460-\u249b\u2776-\u2793])(?=[ \t])/uy;
const BULLET = /^[-*+•·▪◦‣–—●○■□◆]$/;
const FENCE = /(?:`{3,}|~{3,})[^\n]*(?:\n|$)/y;
const TABLE_RULE = /^\|?(?:[ \t]*:?-{3,}:?[ \t]*\|?)+$/;
const BOLD_LINE = /^\*\*(.+)\*\*$/;

/** Return what is shown of a document, in its order. */
export function layOut(blocks: readonly Block[], offsets: Offsets): Layout {
  const reading = new Reading(offsets.text);
  const shown = reading.whole(blocks.map((block) => toNode(block, offsets))).flatMap(splitTable);
  let at = 0;
  const rows = shown.map((each, index): Row => {
    const runs = runsOf(each);
    const start = runs[0]?.start ?? at;
    at = runs.at(-1)?.end ?? at;
    return { start, end: index === shown.length - 1 ? Infinity : at, shown: each };
  });
  return { rows, names: reading.names };
}

/** Return the parts of the text that something shows, in their order. */
export function runsOf(shown: Shown): Run[] {
  switch (shown.kind) {
    case "heading":
    case "paragraph":
    case "code":
      return shown.runs;
    case "list":
      return shown.items.flatMap(({ body }) => body.flatMap(runsOf));
    case "table":
      return [shown.header, ...shown.rows].flat(2);
    case "definition":
      return [shown.term, ...shown.body.flatMap(runsOf)];
    default:
      return shown.body.flatMap(runsOf);
  }
}

/** Return for places in the text, in their order, the next ones that are shown. */
export function placeInRuns(rows: readonly Row[], places: readonly number[]): number[] {
  const runs = rows.flatMap(({ shown }) => runsOf(shown));
  let at = 0;
  return places.map((place) => {
    for (let run = runs[at]; run && run.end <= place; run = runs[at]) at += 1;
    return Math.max(place, runs[at]?.start ?? place);
  });
}

type Node = Pick<Block, "kind" | "label" | "level"> & Run & { children: Node[] };

function toNode({ span: [start = 0, end = 0], children, ...block }: Block, offsets: Offsets): Node {
  const within = children.map((child) => toNode(child, offsets));
  return { ...block, start: offsets.toUnit(start), end: offsets.toUnit(end), children: within };
}

/** Reads the text of blocks. `prefix` is what their lines have before them, but for the first. */
class Reading {
  readonly names: Run[] = [];

  constructor(private readonly text: string) {}

  /** Return what is shown of the whole text: sections are one after the other, not in each other. */
  whole(children: Node[]): Shown[] {
    return this.body({ children, end: this.text.length }, 0, "");
  }

  private read(node: Node, prefix: string): Shown[] {
    switch (node.kind) {
      case "section": {
        const { heading, from } = this.heading(node);
        return [...(heading ? [heading] : []), ...this.body(node, from, prefix)];
      }
      case "list":
        return this.list(node, prefix);
      case "item":
        return this.list({ ...node, children: [node] }, prefix);
      case "table":
      case "row":
        return this.table(node, prefix);
      case "definition":
        return this.definition(node, prefix);
      case "code":
        return this.code(node, prefix);
      case "quote": {
        const mark = this.text.startsWith("> ", node.start) ? "> " : "";
        return framed("quote", this.body(node, node.start + mark.length, prefix + mark));
      }
      case "figure":
      case "box":
        return framed(node.kind, this.body(node, node.start, prefix));
      case "turn": {
        const speaker = this.name(node) ? "" : node.label;
        return framed("turn", this.body(node, node.start, prefix), speaker);
      }
      default:
        return node.children.length > 0
          ? this.body(node, node.start, prefix)
          : this.paragraphs(node.start, node.end, prefix);
    }
  }

  /** Return the blocks in a block, and its own text between them. */
  private body(node: Pick<Node, "children" | "end">, from: number, prefix: string): Shown[] {
    const shown: Shown[] = [];
    let at = from;
    for (const child of node.children) {
      shown.push(...this.paragraphs(at, child.start, prefix), ...this.read(child, prefix));
      at = Math.max(at, child.end);
    }
    shown.push(...this.paragraphs(at, node.end, prefix));
    return shown;
  }

  /** Return the heading of a section, and where what is below it begins. */
  private heading({ start, end, label, level }: Node): { heading: Shown | null; from: number } {
    const stop = this.lineEnd(start, end);
    const mark = match(HEADING, this.text, start);
    const isThere = mark !== "" || (label !== "" && this.text.slice(start, stop).includes(label));
    // Where a file has its headings elsewhere, its text has none to show.
    if (!isThere) return { heading: null, from: start };
    const runs = [{ start: start + mark.length, end: stop }];
    return { heading: { kind: "heading", level, runs }, from: stop };
  }

  private list(node: Node, prefix: string): Shown[] {
    const items: Item[] = [];
    let isOrdered = false;
    for (const child of node.children) {
      const mark = child.kind === "item" ? match(ITEM_MARK, this.text, child.start) : "";
      const width = mark ? mark.length + 1 : 0;
      const isNumbered = mark !== "" && !BULLET.test(mark);
      const number = /^\d+\.$/.test(mark) ? Number.parseInt(mark, 10) : null;
      isOrdered ||= isNumbered;
      const body =
        child.kind === "item"
          ? this.body(child, child.start + width, prefix + " ".repeat(width))
          : this.read(child, prefix);
      items.push({ mark: isNumbered && number === null ? mark : "", number, body });
    }
    if (items.length === 0) return this.paragraphs(node.start, node.end, prefix);
    return [{ kind: "list", isOrdered, items }];
  }

  private table(node: Node, prefix: string): Shown[] {
    if (this.text[node.start] !== "|") return this.paragraphs(node.start, node.end, prefix);
    const spans = node.kind === "row" ? [node] : node.children.filter(({ kind }) => kind === "row");
    const above = this.lines(node.start, spans[0]?.start ?? node.end, prefix)
      .map((line) => this.trim(line))
      .filter(({ start, end }) => start < end);
    const header = above
      .filter(({ start, end }) => !TABLE_RULE.test(this.text.slice(start, end)))
      .map((line) => this.cells(line));
    const [first = [], ...others] = header;
    const isNamed = first.some((cell) => cell.length > 0);
    const rows = [...others, ...spans.map((row) => this.cells(row))];
    return [{ kind: "table", header: isNamed ? first : [], rows, isPart: false }];
  }

  /** Return the cells of a row between bars; a bar after a backslash is a part of its cell. */
  private cells({ start, end }: Run): Cell[] {
    const cells: Cell[] = [];
    let cell: Cell = [];
    let from = start;
    for (const { 0: bar, index } of this.text.slice(start, end).matchAll(/\\?\|/g)) {
      cell.push({ start: from, end: start + index });
      from = start + index + 1;
      if (bar !== "|") continue;
      if (index > 0) cells.push(this.trimAll(cell));
      cell = [];
    }
    const rest = this.trimAll([...cell, { start: from, end }]);
    return rest.length > 0 ? [...cells, rest] : cells;
  }

  private definition(node: Node, prefix: string): Shown[] {
    const stop = this.lineEnd(node.start, node.end);
    const line = this.text.slice(node.start, stop).trimEnd();
    const isBold = BOLD_LINE.test(line);
    if (!isBold && line !== node.label) {
      this.name(node);
      return this.body(node, node.start, prefix);
    }
    const marks = isBold ? 2 : 0;
    const term = { start: node.start + marks, end: node.start + line.length - marks };
    return [{ kind: "definition", term, body: this.body(node, stop, prefix) }];
  }

  /** Note the label of a block as the name that its text begins with; return whether it does. */
  private name({ start, label }: Node): boolean {
    if (!label || !this.text.startsWith(label, start)) return false;
    this.names.push({ start, end: start + label.length });
    return true;
  }

  private code(node: Node, prefix: string): Shown[] {
    const fence = match(FENCE, this.text, node.start);
    const lines = this.lines(Math.min(node.start + fence.length, node.end), node.end, prefix, {
      isFirstWhole: fence !== "",
    });
    const last = lines.at(-1);
    if (fence && last && /^(?:`{3,}|~{3,})\s*$/.test(this.text.slice(last.start, last.end)))
      lines.pop();
    const runs = join(lines);
    const end = runs.at(-1);
    if (end && this.text[end.end - 1] === "\n") end.end -= 1;
    return runs.length > 0 ? [{ kind: "code", language: node.label, runs }] : [];
  }

  /** Return the paragraphs of a text without blocks. */
  private paragraphs(from: number, to: number, prefix: string): Shown[] {
    const shown: Shown[] = [];
    let lines: Run[] = [];
    const end = () => {
      const runs = this.trimAll(join(lines));
      if (runs.length > 0) shown.push({ kind: "paragraph", runs });
      lines = [];
    };
    for (const line of this.lines(from, to, prefix)) {
      if (this.text.slice(line.start, line.end).trim()) lines.push(line);
      else end();
    }
    end();
    return shown;
  }

  /** Return lines with their breaks; the prefix of the first one is before `from`. */
  private lines(from: number, to: number, prefix: string, { isFirstWhole = false } = {}): Run[] {
    const lines: Run[] = [];
    for (let at = from; at < to; ) {
      const end = Math.min(this.lineEnd(at, to) + 1, to);
      const skipped = at === from && !isFirstWhole ? 0 : this.prefixLength(at, prefix);
      lines.push({ start: Math.min(at + skipped, end), end });
      at = end;
    }
    return lines;
  }

  private prefixLength(at: number, prefix: string): number {
    let length = 0;
    while (length < prefix.length && this.text[at + length] === prefix[length]) length += 1;
    return length;
  }

  private lineEnd(from: number, to: number): number {
    const end = this.text.indexOf("\n", from);
    return end < 0 ? to : Math.min(end, to);
  }

  private trim({ start, end }: Run): Run {
    const part = this.text.slice(start, end);
    const from = start + part.length - part.trimStart().length;
    return { start: from, end: Math.max(from, start + part.trimEnd().length) };
  }

  /** Return runs without white space at both ends, and without empty ones. */
  private trimAll(runs: readonly Run[]): Run[] {
    const last = runs.length - 1;
    const trimmed = runs.map((run, at) => {
      const { start, end } = this.trim(run);
      return { start: at === 0 ? start : run.start, end: at === last ? end : run.end };
    });
    return trimmed.filter(({ start, end }) => start < end);
  }
}

function framed(kind: "quote" | "figure" | "box" | "turn", body: Shown[], speaker = ""): Shown[] {
  return body.length > 0 ? [{ kind, speaker, body }] : [];
}

/** Cut a long table into parts that are drawn by themselves. */
function splitTable(shown: Shown): Shown[] {
  if (shown.kind !== "table" || shown.rows.length <= ROWS_TOGETHER) return [shown];
  const parts: Shown[] = [];
  for (let at = 0; at < shown.rows.length; at += ROWS_TOGETHER) {
    const rows = shown.rows.slice(at, at + ROWS_TOGETHER);
    parts.push({ kind: "table", header: at ? [] : shown.header, rows, isPart: true });
  }
  return parts;
}

/** Join runs where nothing is left out between them. */
function join(runs: readonly Run[]): Run[] {
  const joined: Run[] = [];
  for (const run of runs) {
    const before = joined.at(-1);
    if (before && before.end === run.start) joined[joined.length - 1] = { ...before, end: run.end };
    else joined.push(run);
  }
  return joined;
}

function match(pattern: RegExp, text: string, at: number): string {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0] ?? "";
}
