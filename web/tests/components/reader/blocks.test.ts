import { describe, expect, it } from "vitest";
import { Offsets } from "../../../src/components/offsets";
import {
  type Block,
  layOut,
  placeInRuns,
  type Run,
  runsOf,
  type Shown,
} from "../../../src/components/reader/blocks";

/** Return a block around a part of a text. */
function block(
  text: string,
  kind: Block["kind"],
  part: string,
  children: Block[] = [],
  { label = "", level = 0 } = {},
): Block {
  const unit = text.indexOf(part);
  if (unit < 0) throw new Error(`${part} is not in the text`);
  const start = [...text.slice(0, unit)].length;
  return { kind, span: [start, start + [...part].length], label, lead: "", level, children };
}

function show(text: string, blocks: Block[]): Shown[] {
  return layOut(blocks, new Offsets(text)).rows.map(({ shown }) => shown);
}

function read(text: string, runs: readonly Run[]): string {
  return runs.map(({ start, end }) => text.slice(start, end)).join("");
}

describe("what is shown of a document", () => {
  it("is a heading without its marks, and what is below it in the same column", () => {
    const text = "# Title\n\nOne 😀.\n\n## Part\n\nTwo.\n";
    const section = block(text, "section", text.trim(), [], { label: "Title", level: 1 });
    const part = block(text, "section", "## Part\n\nTwo.", [], { label: "Part", level: 2 });
    const shown = show(text, [{ ...section, children: [part] }]);
    expect(shown.map((row) => [row.kind, read(text, runsOf(row))])).toEqual([
      ["heading", "Title"],
      ["paragraph", "One 😀."],
      ["heading", "Part"],
      ["paragraph", "Two."],
    ]);
  });

  it("has no heading where the text has none", () => {
    const text = "Only text.";
    const section = block(text, "section", text, [], { label: "A bookmark", level: 1 });
    expect(show(text, [section]).map(({ kind }) => kind)).toEqual(["paragraph"]);
  });

  it("is all of a text without blocks, in paragraphs with their line breaks", () => {
    const text = "One\nline.\n\n\n  Two.\n";
    const shown = show(text, []);
    expect(shown.map((row) => read(text, runsOf(row)))).toEqual(["One\nline.", "Two."]);
  });

  it("is a list in a list, with numbers and marks of its own", () => {
    const text = "3. Open.\n   - lamp\n     on\n4. Close.\n\na) one";
    const inner = block(text, "list", "- lamp\n     on", [block(text, "item", "- lamp\n     on")]);
    const outer = block(text, "list", "3. Open.\n   - lamp\n     on\n4. Close.", [
      block(text, "item", "3. Open.\n   - lamp\n     on", [inner]),
      block(text, "item", "4. Close."),
    ]);
    const [first, second] = show(text, [
      outer,
      block(text, "list", "a) one", [block(text, "item", "a) one")]),
    ]);
    if (first?.kind !== "list" || second?.kind !== "list") throw new Error("no list");
    expect(first.isOrdered).toBe(true);
    expect(first.items.map(({ number }) => number)).toEqual([3, 4]);
    expect(first.items[0]?.body.map(({ kind }) => kind)).toEqual(["paragraph", "list"]);
    expect(read(text, runsOf(first))).toBe("Open.lamp\nonClose.");
    expect(second.items[0]?.mark).toBe("a)");
  });

  it("is a table with its header, and with bars that belong to a cell", () => {
    const text = "| Item | Cost |\n| --- | --- |\n| a \\| b | 900 |\n|  | 1 |";
    const table = block(text, "table", text, [
      block(text, "row", "| a \\| b | 900 |"),
      block(text, "row", "|  | 1 |"),
    ]);
    const [shown] = show(text, [table]);
    if (shown?.kind !== "table") throw new Error("no table");
    expect(shown.header.map((cell) => read(text, cell))).toEqual(["Item", "Cost"]);
    expect(shown.rows.map((row) => row.map((cell) => read(text, cell)))).toEqual([
      ["a | b", "900"],
      ["", "1"],
    ]);
  });

  it("is a table without a header where it is empty, and a long one in parts", () => {
    const rows = Array.from({ length: 250 }, (_, number) => `| ${number} | x |`);
    const text = `|  |  |\n| --- | --- |\n${rows.join("\n")}`;
    const table = block(
      text,
      "table",
      text,
      rows.map((row) => block(text, "row", row)),
    );
    const shown = show(text, [table]);
    expect(shown.map((part) => part.kind === "table" && part.rows.length)).toEqual([100, 100, 50]);
    expect(shown.map((part) => part.kind === "table" && part.header)).toEqual([[], [], []]);
  });

  it("is code without its fence, and with its own indent within an item", () => {
    const text = "- Run:\n\n  ```sh\n  a\n\n    b\n  ```";
    const code = block(text, "code", "```sh\n  a\n\n    b\n  ```", [], { label: "sh" });
    const [shown] = show(text, [block(text, "list", text, [block(text, "item", text, [code])])]);
    if (shown?.kind !== "list") throw new Error("no list");
    const [, inner] = shown.items[0]?.body ?? [];
    expect(inner?.kind).toBe("code");
    expect(inner && read(text, runsOf(inner))).toBe("a\n\n  b");
  });

  it("is a quote without its marks", () => {
    const text = "> One\n> two.\n>\n> Three.";
    const [shown] = show(text, [block(text, "quote", text)]);
    if (shown?.kind !== "quote") throw new Error("no quote");
    expect(shown.body.map((part) => read(text, runsOf(part)))).toEqual(["One\ntwo.", "Three."]);
  });

  it("names terms and speakers", () => {
    const text = "**fan**\n\nThe limit.\n\ndepth: How far.\n\nAnn: Hello.";
    const blocks = [
      block(text, "definition", "**fan**\n\nThe limit.", [], { label: "fan" }),
      block(text, "definition", "depth: How far.", [], { label: "depth" }),
      block(text, "turn", "Ann: Hello.", [], { label: "Ann" }),
    ];
    const { rows, names } = layOut(blocks, new Offsets(text));
    const [first] = rows.map(({ shown }) => shown);
    if (first?.kind !== "definition") throw new Error("no definition");
    expect(read(text, [first.term])).toBe("fan");
    expect(first.body.map((part) => read(text, runsOf(part)))).toEqual(["The limit."]);
    expect(names.map((run) => read(text, [run]))).toEqual(["depth", "Ann"]);
  });
});

describe("a place", () => {
  it("that is not shown is where the next text is", () => {
    const text = "# One\n\n- two\n- three";
    const list = block(text, "list", "- two\n- three", [
      block(text, "item", "- two"),
      block(text, "item", "- three"),
    ]);
    const section = block(text, "section", text, [list], { label: "One", level: 1 });
    const { rows } = layOut([section], new Offsets(text));
    const places = placeInRuns(rows, [0, 7, text.indexOf("- three"), text.length]);
    expect(places.map((place) => text.slice(place, place + 3))).toEqual(["One", "two", "thr", ""]);
  });
});
