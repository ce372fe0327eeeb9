import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type Answer, PLAIN, type Question, Run } from "../../../src/pages/ask/runs";
import {
  forgetThreads,
  listThreads,
  openThread,
  Thread,
  turnsOf,
} from "../../../src/pages/ask/threads";
import { runOf, serveThreads } from "./threads.testing";

const ask = (text: string): Question => ({ ...PLAIN, workspace: "w", text });
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
const done = (text: string, answer: string, understood = "") =>
  runOf(ask(text), answered(answer), { understood });

describe("threads", () => {
  const server = serveThreads();
  beforeEach(() => {
    server.stored.clear();
    vi.stubGlobal("fetch", server.answer);
  });
  afterEach(() => vi.unstubAllGlobals());

  it("are kept with all their turns once there is an answer", async () => {
    const thread = new Thread("w", "", [new Run(ask("not answered"))]);
    await thread.save();
    expect([thread.id.value, server.stored.size]).toEqual(["", 0]);
    thread.runs.value = [done("a", "A."), done("b", "")];
    // The first answer may still be on its way to the server when the second one is there.
    await Promise.all([thread.save(), thread.save()]);
    expect(await listThreads("w")).toEqual([
      { id: thread.id.value, title: "a", turns: 2, updated: "" },
    ]);
  });

  it("are opened again as they were", async () => {
    const answer = { ...answered("A."), kept: { filter: "x = 1" } };
    server.stored.set("old", {
      title: "a",
      turns: [{ question: "a", understood: "a b", answer }],
    });
    const [run] = (await openThread("w", "old"))?.runs.value ?? [];
    expect([run?.question.filter, run?.understood, run?.answer.value?.answer]).toEqual([
      "x = 1",
      "a b",
      "A.",
    ]);
    expect(await openThread("w", "unknown")).toBeNull();
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

  it("are forgotten one by one, or all", async () => {
    for (const text of ["f1", "f2", "f3"]) await new Thread("w", "", [done(text, "x")]).save();
    const [, second = ""] = server.stored.keys();
    await forgetThreads("w", second);
    expect((await listThreads("w")).map(({ title }) => title)).toEqual(["f1", "f3"]);
    expect(await openThread("w", second)).toBeNull();
    await forgetThreads("w");
    expect(await listThreads("w")).toEqual([]);
  });

  it("keep the passages of their newest turns alone", async () => {
    const runs = Array.from({ length: 20 }, (_, index) =>
      runOf(ask(`q${index}`), answered("x"), { evidence: { hits: [] } as never }),
    );
    await new Thread("w", "", runs).save();
    const [stored] = server.stored.values();
    const turns = stored?.turns as { answer: { kept: { evidence: unknown } } }[];
    expect(turns.map(({ answer }) => answer.kept.evidence !== null)).toEqual([
      ...Array(8).fill(false),
      ...Array(12).fill(true),
    ]);
  });
});
