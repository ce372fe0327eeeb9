import { describe, expect, it } from "vitest";
import { cutAtSpans, Offsets } from "../../src/components/offsets";

const TEXTS = [
  "plain",
  "",
  "a😀b𠮷c",
  "😀😀",
  "海外出差由𠀀办事处",
  "e\u0301 is two points",
  "𝒜".repeat(50),
];

describe("offsets", () => {
  it.each(TEXTS)("finds every code point of %j where the text has it", (text) => {
    const offsets = new Offsets(text);
    const points = [...text];
    let unit = 0;
    for (const [point, character] of points.entries()) {
      expect(offsets.toUnit(point)).toBe(unit);
      expect(offsets.toPoint(unit)).toBe(point);
      expect(offsets.slice(point, point + 1)).toBe(character);
      unit += character.length;
    }
    expect(offsets.toUnit(points.length)).toBe(text.length);
    expect(offsets.slice(0, points.length)).toBe(text);
  });

  it("stays within the text", () => {
    expect(new Offsets("a😀").toUnit(99)).toBe(3);
  });
});

describe("cutting at spans", () => {
  const offsets = new Offsets("😀one two three");

  it("gives back the text, whatever the spans", () => {
    const pieces = cutAtSpans(offsets, 0, 14, [
      [1, 4],
      [3, 8],
      [0, 99],
      [5, 5],
    ]);
    expect(pieces.map(({ text }) => text).join("")).toBe("😀one two three");
  });

  it("says which spans cover a piece, where they overlap too", () => {
    const pieces = cutAtSpans(offsets, 1, 8, [
      [1, 4],
      [3, 8],
    ]);
    expect(pieces).toEqual([
      { text: "on", start: 1, covers: [0] },
      { text: "e", start: 3, covers: [0, 1] },
      { text: " two", start: 4, covers: [1] },
    ]);
  });

  it("leaves out spans of elsewhere", () => {
    expect(cutAtSpans(offsets, 1, 4, [[9, 14]])).toEqual([{ text: "one", start: 1, covers: [] }]);
  });
});
