import { describe, expect, it } from "vitest";
import { colourNumber, faded, mix, veiled } from "./colours";

describe("colours", () => {
  it("mix by their share", () => {
    expect(mix("#ffffff", "#000000", 1)).toBe("#ffffff");
    expect(mix("#ffffff", "#000000", 0)).toBe("#000000");
    expect(mix("#fff", "#000000", 0.5)).toBe("#808080");
    expect(veiled("#102030", 0.5)).toBe("rgba(8, 16, 24, 0.5)");
    expect(faded("#102030", 0.5)).toBe("rgba(16, 32, 48, 0.5)");
  });

  it("are those of a type, whatever the case, and none for things of no type", () => {
    expect(colourNumber("")).toBe(0);
    expect(colourNumber("person")).toBe(colourNumber("PERSON"));
    for (const type of ["Ship", "船", "a b c"]) {
      expect(colourNumber(type)).toBeGreaterThan(0);
      expect(colourNumber(type)).toBeLessThanOrEqual(8);
    }
  });
});
