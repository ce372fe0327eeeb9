import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type Answer, PLAIN, type Question, Run, verdictOf } from "../../../src/pages/ask/runs";

const question: Question = { ...PLAIN, workspace: "w", text: "Who?" };
const event = (name: string, data: unknown) => ({ name, data, id: "" });

describe("a run", () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
    vi.unstubAllGlobals();
  });

  it("draws what comes not for each piece, but loses none", () => {
    const run = new Run(question);
    let drawn = 0;
    run.text.subscribe(() => {
      drawn += 1;
    });
    for (let piece = 0; piece < 200; piece += 1) run.take(event("text", { text: "ab" }));
    vi.advanceTimersByTime(1_000);
    expect(run.text.value).toBe("ab".repeat(200));
    expect(drawn).toBeLessThan(4);
  });

  it("forgets a text that does not count, with what was not drawn yet", () => {
    const run = new Run(question);
    run.take(event("text", { text: "wrong" }));
    run.take(event("withdrawn", { reason: "It cites nothing." }));
    vi.advanceTimersByTime(1_000);
    expect([run.text.value, run.withdrawn.value]).toEqual(["", "It cites nothing."]);
  });

  it("keeps what came when it is stopped, and takes no more for its end", () => {
    const run = new Run(question);
    run.take(event("text", { text: "half" }));
    run.stop();
    expect([run.text.value, run.state.value]).toEqual(["half", "stopped"]);
  });

  it("has the reply of a conversation, with an answer or without", () => {
    const told = new Run(question);
    told.take(event("done", { message: "Ann lives in Oslo.", answer: null, offer: { id: "o" } }));
    expect([told.state.value, told.answer.value]).toEqual(["done", null]);
    expect(told.reply.value?.offer?.id).toBe("o");
    const chosen = new Run({ ...question, retriever: "bm25" });
    chosen.take(event("done", { answer: "Ann." }));
    expect([chosen.reply.value, chosen.answer.value?.answer]).toEqual([null, "Ann."]);
  });

  it("counts a stage on in its place", () => {
    const run = new Run(question);
    run.take(event("stage", { stage: "map", done: 1, total: 3 }));
    run.take(event("stage", { stage: "map", done: 2, total: 3 }));
    run.take(event("stage", { stage: "writing", model: "m" }));
    expect(run.stages.value.map(({ name, done }) => [name, done])).toEqual([
      ["map", 2],
      ["writing", 0],
    ]);
  });

  it("reports each step of an agent by itself", () => {
    const run = new Run({ ...question, retriever: "agent:iterative" });
    run.take(event("step", { number: 1, question: "Who?", passages: 10 }));
    run.take(event("step", { number: 2, question: "Who, then?", passages: 4 }));
    expect(run.stages.value.map(({ search, passages }) => [search, passages])).toEqual([
      ["Who?", 10],
      ["Who, then?", 4],
    ]);
  });

  it("goes to the route of its retriever, with what it is limited to", async () => {
    const asked: Request[] = [];
    vi.stubGlobal("fetch", (request: Request) => {
      asked.push(request);
      return new Promise(() => undefined);
    });
    const turns = [{ question: "Before?", answer: "Yes." }];
    const ask = async (change: Partial<Question>, isSent = true) => {
      void new Run({ ...question, ...change }).start({ turns, isSent });
      const request = asked.at(-1);
      return [request?.url.split("/w/")[1], await request?.json()];
    };
    const filter = "author = 'Ann'";
    expect(await ask({ retriever: "agent:corrective", filter })).toEqual([
      "agent",
      { question: "Who?", kind: "corrective", use_llm: true, filters: filter },
    ]);
    const only = "uri in ('a.md')";
    expect(await ask({ filter, only })).toMatchObject([
      "chat/stream",
      { filters: `(${filter}) and ${only}`, turns, offers_only: false },
    ]);
    expect(await ask({ retriever: "bm25", only })).toMatchObject([
      "ask/stream",
      { question: "Who?", retriever: "bm25", filters: only },
    ]);
    expect(await ask({ edited: "Who is it?" })).toMatchObject([
      "chat/stream",
      { message: "Who is it?", turns: [] },
    ]);
    // Only what was sent here may store facts, not what a link says.
    expect(await ask({}, false)).toMatchObject(["chat/stream", { offers_only: true }]);
  });
});

describe("the verdict on an answer", () => {
  it.each([
    [true, "strong", "found"],
    [true, "weak", "likely"],
    [true, null, "found"],
    [false, "none", "absent"],
  ])("that is answered %s with %s is %s", (answered, strength, verdict) => {
    expect(verdictOf({ answered, strength } as Answer)).toBe(verdict);
  });
});
