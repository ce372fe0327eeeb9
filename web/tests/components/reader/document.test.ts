import { describe, expect, it } from "vitest";
import { Offsets } from "../../../src/components/offsets";
import { endOfLine, findTicks, pageAt, sectionsAt } from "../../../src/components/reader/document";

const chunk = (ordinal: number, start: number, end: number, is_parent = false) => ({
  id: "c",
  section: "s",
  ordinal,
  span: [start, end],
  is_parent,
  parent: null,
  sentences: [],
});

describe("ticks", () => {
  it("are where passages begin, but for those that hold others", () => {
    const chunks = [chunk(1, 40, 60), chunk(0, 5, 30), chunk(2, 0, 90, true)];
    const ticks = findTicks({ chunks, pages: [] }, new Offsets("x".repeat(90)));
    expect(ticks.map(({ place, passage }) => [place, passage])).toEqual([
      [5, 1],
      [40, 2],
    ]);
  });

  it("are where pages begin, within a passage too, if there are several", () => {
    const pages = [
      { label: "1", start: 0 },
      { label: "2", start: 20 },
    ];
    const offsets = new Offsets(`😀${"x".repeat(29)}`);
    const ticks = findTicks({ chunks: [chunk(0, 0, 30)], pages }, offsets);
    expect(ticks.map(({ place, page }) => [place, page])).toEqual([
      [0, ""],
      [0, "1"],
      [21, "2"],
    ]);
    const one = findTicks({ chunks: [], pages: pages.slice(0, 1) }, offsets);
    expect(one).toEqual([]);
  });
});

describe("where a place is", () => {
  const section = (id: string, level: number, start: number, end: number) => ({
    id,
    level,
    parent: null,
    title: id,
    span: [start, end],
  });

  it("is under all headings above it, the topmost first", () => {
    const sections = [
      section("root", 0, 0, 99),
      section("2.1", 2, 40, 60),
      section("2", 1, 30, 70),
    ];
    expect(sectionsAt(sections, 45).map(({ id }) => id)).toEqual(["2", "2.1"]);
    expect(sectionsAt(sections, 60).map(({ id }) => id)).toEqual(["2"]);
  });

  it("is on the last page that began", () => {
    const pages = [
      { label: "i", start: 0 },
      { label: "1", start: 50 },
    ];
    expect([pageAt(pages, 49), pageAt(pages, 50), pageAt([], 3)]).toEqual(["i", "1", ""]);
  });
});

it("ends a line before the next one, in code points", () => {
  const offsets = new Offsets("😀 one\ntwo 😀");
  expect([0, 3, 6, 11].map((place) => endOfLine({ offsets }, place))).toEqual([5, 5, 11, 11]);
});
