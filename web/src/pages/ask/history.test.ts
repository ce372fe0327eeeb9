import { beforeEach, describe, expect, it } from "vitest";
import { addToHistory, forget, readHistory, restoreRun, turnsBefore } from "./history";
import { type Answer, type Question, Run } from "./runs";

const ask = (text: string, workspace = "w"): Question => ({
  workspace,
  text,
  retriever: "",
  mode: "auto",
  usesModel: true,
  after: "",
  filter: "",
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
    expect(restoreRun({ ...ask("b"), filter: "author = 'Ann'" })).toBeNull();
  });

  it("returns what a question follows, the last turn last, and no more than six", () => {
    const texts = ["a", "b", "c", "d", "e", "f", "g", "h"];
    for (const [index, text] of texts.entries()) {
      const question = { ...ask(text), after: texts[index - 1] ?? "" };
      addToHistory(Run.restore(question, answered(`${text} is so`), null, index));
    }
    expect(turnsBefore({ ...ask("next"), after: "b" })).toEqual([
      { question: "a", answer: "a is so" },
      { question: "b", answer: "b is so" },
    ]);
    expect(turnsBefore({ ...ask("next"), after: "h" }).map(({ question }) => question)).toEqual(
      texts.slice(2),
    );
    expect(turnsBefore({ ...ask("next"), after: "forgotten" })).toEqual([]);
    expect(turnsBefore(ask("next"))).toEqual([]);
  });

  it("reads what earlier pages kept, without turns, filters and words for confidence", () => {
    const { after: _, filter: __, ...old } = ask("old");
    for (const [confidence, isAnswer, strength] of [
      [0.7, true, "strong"],
      [0.3, true, "weak"],
      [0.7, false, "none"],
    ] as const) {
      const answer = { ...answered("yes"), confidence, answered: isAnswer };
      const entry = { question: old, answer, evidence: null, at: 1 };
      localStorage.setItem("knotwork.history.w", JSON.stringify([entry]));
      const restored = restoreRun(ask("old"))?.answer.value;
      expect([restored?.answer, restored?.strength]).toEqual(["yes", strength]);
    }
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
