import { describe, expect, it } from "vitest";
import {
  COMPARISONS,
  type Condition,
  needsValue,
  readFilter,
  writeFilter,
} from "../../../src/components/filters/conditions";

const NAMES = ["author", "file_date", "标签", "page count", "and", "it's", "2nd"];
const VALUES = ["Ann Lee", "O'Neil", "''", "2023-05", "a and b", "预算 = '高'", "x) or (y", "* "];

describe("a filter", () => {
  it("is read as it was written, whatever is in it", () => {
    for (const field of NAMES)
      for (const comparison of COMPARISONS)
        for (const text of VALUES) {
          const value = needsValue(comparison) ? text.trim() : "";
          const conditions: Condition[] = [
            { field, comparison, value },
            { field: "tags", comparison: "=", value: "hr" },
          ];
          expect(readFilter(writeFilter(conditions))).toEqual(conditions);
        }
  });

  it("is the language of filters", () => {
    const written = writeFilter([
      { field: "author", comparison: "=", value: "O'Neil" },
      { field: "page count", comparison: ">=", value: "10" },
      { field: "draft", comparison: "unset", value: "" },
    ]);
    expect(written).toBe("author = 'O''Neil' and 'page count' >= '10' and draft is not set");
  });

  it("leaves out what is not complete", () => {
    expect(
      writeFilter([
        { field: "", comparison: "=", value: "x" },
        { field: "author", comparison: "=", value: " " },
        { field: "author", comparison: "set", value: "" },
      ]),
    ).toBe("author is set");
    expect(readFilter("  ")).toEqual([]);
  });

  it("is not taken apart where the form has no words for it", () => {
    for (const text of [
      "author = Ann",
      "author = 'Ann' or date > '2023'",
      "not author = 'Ann'",
      "(author = 'Ann')",
      "tags in ('a', 'b')",
      "author = 'Ann' and",
      "author = 'Ann",
      "not is set",
      "date",
    ])
      expect(readFilter(text), text).toBeNull();
  });
});
