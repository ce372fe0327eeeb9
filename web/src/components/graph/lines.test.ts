import { describe, expect, it } from "vitest";
import { breakLines } from "./lines";

const measure = { font: "test", measureText: (text: string) => ({ width: 10 * [...text].length }) };

describe("lines", () => {
  it("break between words, and anywhere in Chinese", () => {
    expect(breakLines("The Ashmere Water Board", 130, 3, measure).lines).toEqual([
      "The Ashmere",
      "Water Board",
    ]);
    expect(breakLines("差旅管理办法与报销", 50, 3, measure).lines).toEqual([
      "差旅管理",
      "办法与报",
      "销",
    ]);
  });

  it("begin with no stop", () => {
    expect(breakLines("甲乙丙丁、戊", 40, 9, measure).lines).toEqual(["甲乙丙", "丁、戊"]);
  });

  it("break after the stops between names of any script", () => {
    expect(breakLines("Heron、Kestrel、苍鹭", 104, 3, measure).lines).toEqual([
      "Heron、",
      "Kestrel、苍鹭",
    ]);
  });

  it("are never wider than the room, whatever the word", () => {
    const { lines } = breakLines("Donaudampfschifffahrt Linz", 80, 2, measure);
    expect(lines).toEqual(["Donauda…", "Linz"]);
  });

  it("know the width of the widest", () => {
    expect(breakLines("one two three", 80, 2, measure).width).toBe(70);
  });

  it("end with an ellipsis where there is more", () => {
    expect(breakLines("one two three four", 80, 1, measure).lines).toEqual(["one two…"]);
    expect(breakLines("Donaudampfschifffahrt", 80, 2, measure).lines).toEqual(["Donauda…"]);
  });
});
