import { describe, expect, it } from "vitest";
import { FIRST, isFiltering, readAsked, readList, writeList } from "../../../src/pages/graph/asked";

describe("the address of the graph", () => {
  it("keeps names with commas and signs of percent", () => {
    const names = ["a, b", "50%", "%2C", "", "同义"];
    expect(readList(writeList(names))).toEqual(names);
  });

  it("says nothing where it makes no sense", () => {
    const asked = readAsked(new URLSearchParams("at=1,2&limit=x&view=globe&depth=-3"));
    expect(asked).toMatchObject({ at: null, limit: FIRST, view: "map", way: null, depth: 0 });
    expect(isFiltering(asked.filter)).toBe(false);
  });

  it("recognizes a path without ends, and with one", () => {
    expect(readAsked(new URLSearchParams("path=1")).way).toEqual({ from: "", to: "", pick: 0 });
    expect(readAsked(new URLSearchParams("from=a")).way).toEqual({ from: "a", to: "", pick: 0 });
  });

  it("is read back as it was written", () => {
    const query = "c=1&focus=2&at=1.5,-2,30&types=PERSON,PLACE&limit=300&depth=2&hubs=0&co=1";
    const asked = readAsked(new URLSearchParams(query));
    expect(asked).toMatchObject({ focus: "2", at: { x: 1.5, y: -2, scale: 30 }, limit: 300 });
    expect(asked).toMatchObject({ depth: 2, hubs: false });
    expect(asked.filter).toMatchObject({ types: ["PERSON", "PLACE"], community: "1" });
    expect(asked.filter.coOccurrence).toBe(true);
  });
});
