import { describe, expect, it } from "vitest";
import { cutIntoBlocks, pageAt, sectionsAt } from "./document";

const chunk = (id: string, start: number, end: number, is_parent = false) => ({
  id,
  section: "s",
  ordinal: 0,
  span: [start, end],
  is_parent,
  parent: null,
  sentences: [],
});

describe("blocks", () => {
  it("cover the whole text once, whatever lies between and over the passages", () => {
    const chunks = [
      chunk("b", 40, 60),
      chunk("a", 5, 30),
      chunk("p", 0, 90, true),
      chunk("c", 50, 80),
    ];
    const blocks = cutIntoBlocks(chunks, [], 90);
    expect(blocks.map(({ start, end, chunkId }) => [start, end, chunkId])).toEqual([
      [0, 5, ""],
      [5, 40, "a"],
      [40, 50, "b"],
      [50, 90, "c"],
    ]);
  });

  it("is one without passages, and none without text", () => {
    const whole = { start: 0, end: 7, ordinal: null, chunkId: "", page: "" };
    expect(cutIntoBlocks([], [], 7)).toEqual([whole]);
    expect(cutIntoBlocks([], [], 0)).toEqual([]);
  });

  it("begin where pages do, within a passage too", () => {
    const pages = [
      { label: "1", start: 0 },
      { label: "2", start: 20 },
    ];
    const blocks = cutIntoBlocks([chunk("a", 0, 30)], pages, 30);
    expect(blocks.map(({ start, end, chunkId, page }) => [start, end, chunkId, page])).toEqual([
      [0, 20, "a", "1"],
      [20, 30, "", "2"],
    ]);
    expect(cutIntoBlocks([chunk("a", 0, 30)], pages.slice(0, 1), 30)).toHaveLength(1);
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
