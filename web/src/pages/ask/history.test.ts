import { beforeEach, describe, expect, it } from "vitest";
import { addToHistory, forget, readHistory, restoreRun } from "./history";
import { type Answer, type Question, Run } from "./runs";

const ask = (text: string, workspace = "w"): Question => ({
  workspace,
  text,
  retriever: "",
  mode: "auto",
  usesModel: true,
});
const answered = (text: string) => ({ answer: text, answered: true }) as Answer;

describe("the history", () => {
  beforeEach(() => localStorage.clear());

  it("has each question once, the newest first, apart for each workspace", () => {
    for (const [index, text] of ["a", "b", "a"].entries()) {
      addToHistory(Run.restore(ask(text), answered(`${text}${index}`), null, index));
    }
    addToHistory(Run.restore(ask("c", "other"), answered("c"), null, 9));
    expect(readHistory("w").map(({ answer }) => answer.answer)).toEqual(["a2", "b1"]);
    expect(restoreRun(ask("b"))?.answer.value?.answer).toBe("b1");
    expect(restoreRun({ ...ask("b"), retriever: "bm25" })).toBeNull();
  });

  it("forgets one, or all", () => {
    for (const text of ["a", "b"]) addToHistory(Run.restore(ask(text), answered(text), null, 1));
    forget("w", ask("a"));
    expect(readHistory("w").map(({ question }) => question.text)).toEqual(["b"]);
    forget("w");
    expect(readHistory("w")).toEqual([]);
  });

  it("stays small", () => {
    for (let index = 0; index < 60; index += 1) {
      const run = Run.restore(ask(`q${index}`), answered("x"), null, index);
      addToHistory(run);
    }
    expect(readHistory("w")).toHaveLength(40);
  });

  it("takes what is no history for none", () => {
    for (const text of ["{", "7", '[{"question":1}]']) {
      localStorage.setItem("knotwork.history.w", text);
      expect(readHistory("w")).toEqual([]);
    }
  });
});
