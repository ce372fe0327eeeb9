import { describe, expect, it } from "vitest";
import { writeLines } from "../../../src/pages/evaluation/questions";

function read(text: string): unknown[] {
  return writeLines(text)
    .split("\n")
    .map((line) => JSON.parse(line) as unknown);
}

describe("writeLines", () => {
  it("reads a question with the documents and the answers that are known", () => {
    expect(read("Who approves trips? | travel.docx; rules/abroad.md | the Travel Office")).toEqual([
      {
        question: "Who approves trips?",
        gold_pids: ["travel.docx", "rules/abroad.md"],
        answers: ["the Travel Office"],
      },
    ]);
  });

  it("takes the marks of a Chinese keyboard, and tabs of a table", () => {
    expect(read("谁审批？｜差旅.md；会议.txt")).toEqual([
      { question: "谁审批？", gold_pids: ["差旅.md", "会议.txt"] },
    ]);
    expect(read("Who?\ta.md\tAda")).toEqual([
      { question: "Who?", gold_pids: ["a.md"], answers: ["Ada"] },
    ]);
  });

  it("leaves lines of JSON as they are, and empty lines out", () => {
    const line = '{"question": "A | B?", "gold_pids": ["a.md"]}';
    expect(writeLines(`\n${line}\n\n`)).toBe(line);
  });

  it("leaves it to the server to say what a question lacks", () => {
    expect(read("Who?")).toEqual([{ question: "Who?" }]);
    expect(read("Who? | | Ada")).toEqual([{ question: "Who?", answers: ["Ada"] }]);
  });
});
