import { describe, expect, it } from "vitest";
import { cutAtMarks, findUncited, readBlock, splitBlocks } from "../../../src/pages/ask/markdown";

const TEXT = `First paragraph [1].

- a list
- of two

\`\`\`py
one = 1

two = 2
\`\`\`

Last, 海外出差 [2].
`;

describe("blocks of a text that comes", () => {
  it("are the text, together, at every length", () => {
    for (let end = 0; end <= TEXT.length; end += 1) {
      expect(splitBlocks(TEXT.slice(0, end)).join("")).toBe(TEXT.slice(0, end));
    }
  });

  it("stay as they are once another has begun", () => {
    let before: string[] = [];
    for (let end = 0; end <= TEXT.length; end += 1) {
      const blocks = splitBlocks(TEXT.slice(0, end));
      expect(blocks.slice(0, before.length - 1)).toEqual(before.slice(0, -1));
      before = blocks;
    }
    expect(before).toHaveLength(4);
  });

  it("do not cut code at its empty lines", () => {
    expect(splitBlocks(TEXT)[2]).toContain("one = 1\n\ntwo = 2");
  });
});

describe("a block", () => {
  const kinds = (text: string, isQuoted: boolean) => {
    const [block] = readBlock(text, { isQuoted });
    return (block && "tokens" in block ? (block.tokens ?? []) : []).map(({ type }) => type);
  };

  it("of a document has bold words, and signs that mean nothing", () => {
    expect(kinds("**Tarnby** takes *args and *kwargs* \\_x", true)).toEqual(["strong", "text"]);
    expect(kinds("a <b>c</b> *d*", false)).toContain("em");
    expect(readBlock("<b> is a tag [1]", { isQuoted: true })[0]?.type).toBe("paragraph");
    expect(readBlock("[1]: not a link", { isQuoted: true })[0]?.type).toBe("paragraph");
  });

  it("may be a table or code", () => {
    const types = (text: string) => readBlock(text, { isQuoted: true }).map(({ type }) => type);
    expect(types("| a | b |\n| --- | --- |\n| 1 | 2 |\n\n[1]")).toContain("table");
    expect(types("```sh\nls\n```\n[1]")).toEqual(["code", "paragraph"]);
    expect(types("1. a\n   - b\n2. c [1]")).toEqual(["list"]);
  });
});

describe("marks", () => {
  const known =
    (...marks: string[]) =>
    (mark: string) =>
      marks.includes(mark);
  const cut = (text: string, ...marks: string[]) =>
    cutAtMarks(text, known(...marks)).map((piece) => (piece.isMark ? [piece.text] : piece.text));

  it("are those of known citations; others are text", () => {
    const pieces = cut("So it is. [1][3] Or a[7] is.", "1", "3");
    expect(pieces).toEqual(["So it is.", ["1"], ["3"], " Or a[7] is."]);
  });

  it("are those of known facts, with an M; a fact has no number of a citation", () => {
    const pieces = cut("She lives there. [M1] [M2] [1]", "2", "M1");
    expect(pieces).toEqual(["She lives there.", ["M1"], " [M2] [1]"]);
  });

  it("know what nothing was cited for, where something was", () => {
    const uncited = (text: string) => findUncited(cutAtMarks(text, known("1")))?.text;
    expect(uncited("Cited. [1] Not cited.")).toBe(" Not cited.");
    expect(uncited("Cited. [1].")).toBeUndefined();
    expect(uncited("None at all.")).toBeUndefined();
  });
});
