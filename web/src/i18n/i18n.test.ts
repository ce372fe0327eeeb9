import { describe, expect, it } from "vitest";
import { en } from "./en";
import { zh } from "./zh";

function keysOf(value: unknown, path = ""): string[] {
  if (typeof value !== "object" || value === null) return [`${path}:${typeof value}`];
  return Object.entries(value).flatMap(([name, part]) => keysOf(part, `${path}.${name}`));
}

function textsOf(value: unknown): string[] {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null) return [];
  return Object.values(value).flatMap(textsOf);
}

describe("the words of the pages", () => {
  it("has the same keys in every language, those of open lists too", () => {
    expect(keysOf(zh).toSorted()).toEqual(keysOf(en).toSorted());
  });

  it("leaves nothing empty", () => {
    expect([...textsOf(en), ...textsOf(zh)].filter((text) => !text.trim())).toEqual([]);
  });
});
