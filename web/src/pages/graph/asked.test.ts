import { describe, expect, it } from "vitest";
import { isFiltering, readAsked, readList, writeList } from "./asked";

describe("the address of the map", () => {
  it("keeps names with commas and signs of percent", () => {
    const names = ["a, b", "50%", "%2C", "", "同义"];
    expect(readList(writeList(names))).toEqual(names);
  });

  it("says nothing where it makes no sense", () => {
    const asked = readAsked(new URLSearchParams("at=1,2&circles=x&view=globe&weight=-3"));
    expect(asked).toMatchObject({ at: null, circles: 60, view: "", way: null });
    expect(isFiltering(asked.filter)).toBe(false);
  });

  it("recognizes a path that has only one end", () => {
    expect(readAsked(new URLSearchParams("from=a")).way).toEqual({ from: "a", to: "", pick: 0 });
  });

  it("is read back as it was written", () => {
    const asked = readAsked(
      new URLSearchParams("c=1&focus=2&at=1.5,-2,30&types=PERSON,PLACE&entities=100"),
    );
    expect(asked).toMatchObject({ community: "1", focus: "2", at: [1.5, -2, 30], entities: 100 });
    expect(asked.filter.types).toEqual(["PERSON", "PLACE"]);
  });
});
