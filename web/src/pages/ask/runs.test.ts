import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type Answer, markSent, openRun, type Question, Run } from "./runs";

const question: Question = {
  workspace: "w",
  text: "Who?",
  retriever: "",
  mode: "auto",
  usesModel: true,
  after: "",
  filter: "",
};
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

  it("goes to the agents where an agent is wanted", async () => {
    const asked: Request[] = [];
    vi.stubGlobal("fetch", (request: Request) => {
      asked.push(request);
      return new Promise(() => undefined);
    });
    const ways = { restore: () => null, before: () => [], onDone: () => undefined };
    const filter = "author = 'Ann'";
    openRun({ ...question, retriever: "agent:corrective", filter }, ways);
    expect(asked[0]?.url).toMatch(/\/workspaces\/w\/agent$/);
    expect(await asked[0]?.json()).toEqual({
      question: "Who?",
      kind: "corrective",
      use_llm: true,
      filters: filter,
    });
    openRun({ ...question, filter }, ways);
    expect(asked[1]?.url).toMatch(/\/chat\/stream$/);
    expect(await asked[1]?.json()).toMatchObject({ filters: filter });
    openRun({ ...question, retriever: "bm25" }, ways);
    expect(asked[2]?.url).toMatch(/\/ask\/stream$/);
    expect(await asked[2]?.json()).toMatchObject({ question: "Who?", retriever: "bm25" });
  });

  it("lets only what was sent here store facts, not what a link says", async () => {
    const asked: Request[] = [];
    vi.stubGlobal("fetch", (request: Request) => {
      asked.push(request);
      return new Promise(() => undefined);
    });
    const ways = { restore: () => null, before: () => [], onDone: () => undefined };
    openRun({ ...question, text: "Remember that I am a." }, ways);
    const sent = { ...question, text: "Remember that I am b." };
    markSent(sent);
    openRun(sent, ways);
    openRun(sent, { ...ways, fresh: true });
    const bodies = await Promise.all(asked.map((request) => request.json()));
    expect(bodies.map(({ offers_only }) => offers_only)).toEqual([true, false, false]);
  });

  it("is asked again when it is sent after the memory changed", () => {
    const asked: Request[] = [];
    vi.stubGlobal("fetch", (request: Request) => {
      asked.push(request);
      return new Promise(() => undefined);
    });
    const answer = { answer: "No.", memory: [] as unknown[] } as Answer;
    const local = { ...question, text: "Changed?" };
    const restore = () => Run.restore(local, answer, null, 5);
    const ways = { restore, before: () => [], onDone: () => undefined };
    openRun(local, { ...ways, changedAt: () => 9 });
    markSent(local);
    openRun(local, { ...ways, changedAt: () => 4 });
    expect(asked).toHaveLength(0);
    markSent(local);
    openRun(local, { ...ways, changedAt: () => 9 });
    expect(asked).toHaveLength(1);
  });

  it("is not asked twice, unless on request or after a failure", () => {
    const asked: Request[] = [];
    vi.stubGlobal("fetch", (request: Request) => {
      asked.push(request);
      return new Promise(() => undefined);
    });
    const ways = { restore: () => null, before: () => [], onDone: () => undefined };
    const local = { ...question, text: "Only once?" };
    const run = openRun(local, ways);
    expect(openRun(local, ways)).toBe(run);
    expect(asked).toHaveLength(1);
    expect(openRun(local, { ...ways, fresh: true })).not.toBe(run);
    expect([run.state.value, asked.length]).toEqual(["stopped", 2]);
  });
});
