import { describe, expect, it } from "vitest";
import { cutAround } from "../../../src/pages/graph/cutting";

describe("cutting", () => {
  it("keeps what is marked near its beginning", () => {
    expect(cutAround("Short. Keld came.", [7, 11])).toEqual({
      text: "Short. Keld came.",
      start: 0,
    });
    expect(cutAround("no mark", undefined)).toEqual({ text: "no mark", start: 0 });
  });

  it("begins with a sentence if possible, and else with a word", () => {
    const long = `${"word ".repeat(40)}end. Then Keld came.`;
    const at = long.indexOf("Keld");
    expect(cutAround(long, [at, at + 4]).text).toBe("Then Keld came.");
    const flat = `${"word ".repeat(40)}Keld came.`;
    const cut = cutAround(flat, [200, 204]);
    expect(cut.text.startsWith("word word")).toBe(true);
    expect(cut.text.indexOf("Keld")).toBe(200 - cut.start);
  });

  it("counts code points", () => {
    const text = `${"𠮷".repeat(100)}。林牧河来了`;
    const cut = cutAround(text, [101, 104]);
    expect(cut).toEqual({ text: "林牧河来了", start: 101 });
  });
});
