import { beforeEach, describe, expect, it } from "vitest";
import { type Answer, type Question, Run } from "./runs";
import { forgetThreads, listThreads, openThread, save, Thread, turnsOf } from "./threads";
import { writeThread } from "./writing";

const ask = (text: string, workspace = "w"): Question => ({
  workspace,
  text,
  retriever: "",
  mode: "auto",
  usesModel: true,
  filter: "",
  only: "",
  edited: "",
});
const answered = (answer: string) =>
  ({
    answer,
    short: "",
    answered: answer !== "",
    strength: answer ? "strong" : "none",
    notes: [],
    memory: [],
    citations: [{ number: 1, title: "Guide", document: "guide.md", section: "Guide", page: "" }],
  }) as unknown as Answer;
const done = (text: string, answer: string, understood = "", workspace = "w") => {
  const kept = { answer: answered(answer), evidence: null, understood };
  return Run.restore(ask(text, workspace), kept, { at: 7, isPartial: false });
};

describe("threads", () => {
  beforeEach(() => localStorage.clear());

  it("are kept with all their turns, apart for each workspace, the newest first", () => {
    save(new Thread("w", "1", [done("a", "A."), done("b", "")]));
    save(new Thread("w", "2", [done("c", "C.")]));
    save(new Thread("v", "3", [done("d", "D.", "", "v")]));
    save(new Thread("w", "4", [new Run(ask("not answered"))]));
    expect(listThreads("w").map(({ id, title, turns }) => [id, title, turns.length])).toEqual([
      ["2", "c", 1],
      ["1", "a", 2],
    ]);
  });

  it("are opened again as they were", () => {
    const turns = [{ question: "a", answer: answered("A."), understood: "a b", filter: "x = 1" }];
    const kept = [{ id: "old", title: "a", turns, updated: 1 }];
    localStorage.setItem("knotwork.threads.w", JSON.stringify(kept));
    const [run] = openThread("w", "old")?.runs.value ?? [];
    expect([run?.question.filter, run?.understood, run?.answer.value?.answer]).toEqual([
      "x = 1",
      "a b",
      "A.",
    ]);
    expect(openThread("w", "unknown")).toBeNull();
  });

  it("give a question the turns before it as they were understood, six at most", () => {
    const runs = ["a", "b", "c", "d", "e", "f", "g"].map((text) => done(text, `${text} is so`));
    expect(turnsOf(runs).map(({ question }) => question)).toEqual(["b", "c", "d", "e", "f", "g"]);
    const before = [done("Who is Ann?", "A."), done("And her?", "", "And Ann?"), new Run(ask("z"))];
    expect(turnsOf(before)).toEqual([
      { question: "Who is Ann?", answer: "A." },
      { question: "And Ann?", answer: "" },
    ]);
  });

  it("are forgotten one by one, or all", () => {
    for (const id of ["f1", "f2", "f3"]) save(new Thread("w", id, [done(id, "x")]));
    forgetThreads("w", "f2");
    expect(listThreads("w").map(({ id }) => id)).toEqual(["f3", "f1"]);
    expect(openThread("w", "f2")).toBeNull();
    forgetThreads("w");
    expect(listThreads("w")).toEqual([]);
  });

  it("stay small", () => {
    const runs = Array.from({ length: 20 }, (_, index) => {
      const kept = { answer: answered("x"), evidence: { hits: [] } as never, understood: "" };
      return Run.restore(ask(`q${index}`), kept, { at: index, isPartial: false });
    });
    for (let index = 0; index < 50; index += 1) save(new Thread("w", `n${index}`, runs));
    const kept = listThreads("w");
    expect(kept).toHaveLength(40);
    const withPassages = kept.flatMap(({ turns }) => turns.filter(({ evidence }) => evidence));
    expect(withPassages.map(({ question }) => question)).toContain("q19");
    expect(withPassages).toHaveLength(12);
  });

  it("take what is no thread for none", () => {
    for (const text of [
      "{",
      "7",
      '[{"id":1}]',
      '[{"id":"a","title":"","updated":1,"turns":[0]}]',
    ]) {
      localStorage.setItem("knotwork.threads.w", text);
      expect(listThreads("w")).toEqual([]);
    }
  });

  it("are written as Markdown with their sources", () => {
    expect(writeThread([done("Who is Ann?", "A [1]."), done("And her?", "", "And Ann?")])).toBe(
      `# Who is Ann?

## Who is Ann?

_Found in the text_

A [1].

- [1] Guide, guide.md

## And her?

_Understood as: And Ann?_

_Not in your files_



- [1] Guide, guide.md
`,
    );
  });
});
