import { expect, it } from "vitest";
import { readSummary } from "../../../src/pages/graph/summary";

it("reads what an extractive report says in either language", () => {
  expect(readSummary("One. Two.\nNames: A, B.\nKey phrases: field work, salt.")).toEqual({
    paragraphs: ["One. Two."],
    phrases: ["field work", "salt"],
  });
  expect(readSummary("一。\n核心名称：甲、乙。\n关键词：浮标、海雾。")).toEqual({
    paragraphs: ["一。"],
    phrases: ["浮标", "海雾"],
  });
});

it("leaves what a model wrote as it is", () => {
  expect(readSummary("A model wrote: names, many.\n\nAnd more.")).toEqual({
    paragraphs: ["A model wrote: names, many.", "And more."],
    phrases: [],
  });
});
