import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import {
  type Fact,
  factOrigin,
  factTimes,
  forgetFact,
  forgetFacts,
  type StatedFact,
} from "./facts";
import { type Answer, type Question, Run } from "./runs";
import { listThreads, save, Thread } from "./threads";

const fact = (object: string): Fact => ({
  id: `id-${object}`,
  subject: "Ann",
  relation: "lives in",
  object,
  since: "2020-05",
  until: null,
  source: "conversation",
  sentence: `Ann lives in ${object}`,
});
const question = (text: string): Question => ({
  workspace: "w",
  text,
  retriever: "",
  mode: "auto",
  usesModel: true,
  filter: "",
  only: "",
  edited: "",
});
const keepAnswer = (text: string, answer: Answer) => {
  const kept = { answer, evidence: null, understood: "" };
  const run = Run.restore(question(text), kept, { at: 1, isPartial: false });
  save(new Thread("w", text, [run]));
};
const keptAnswers = () => listThreads("w").flatMap(({ turns }) => turns.map((turn) => turn.answer));

const citing = (object: string) =>
  ({
    answer: object,
    answered: true,
    memory: [{ ...fact(object), number: 1 }],
  }) as unknown as Answer;

describe("a fact", () => {
  const cited = (since: string, source = "conversation") =>
    ({ since, source }) as unknown as StatedFact;

  it("has its period, or the day of its statement", () => {
    const told = { ...fact("Oslo"), since: "2026-11-27T10:30" };
    expect(factTimes({ ...fact("Oslo"), until: "2022" })).toBe("since 2020-05, until 2022");
    expect(factTimes(told)).toBe("stated on 2026-11-27");
    expect(factTimes({ since: null, until: null })).toBe("");
  });

  it("has the place of its statement, and the day if that is known", () => {
    expect(factOrigin(cited("2026-11-27T10:30"))).toBe(
      "From a conversation · stated on 2026-11-27",
    );
    expect(factOrigin(cited("2020-05", "CRM"))).toBe("CRM");
  });
});

describe("the memory", () => {
  beforeEach(() => localStorage.clear());
  afterEach(() => vi.unstubAllGlobals());

  it("forgets a fact with the answers of this browser that cite it", async () => {
    vi.stubGlobal("fetch", async () => Response.json({ data: fact("Oslo"), request_id: "r" }));
    for (const object of ["Oslo", "Rome"]) keepAnswer(object, citing(object));
    await forgetFact("w", fact("Oslo"));
    expect(keptAnswers().map((answer) => answer?.answer)).toEqual(["Rome"]);
  });

  it("forgets all facts with the answers that cite one", async () => {
    const asked = vi.fn(async () => Response.json({ data: { deleted: 2 }, request_id: "r" }));
    vi.stubGlobal("fetch", asked);
    const uncited = { answer: "Turku", answered: true, memory: [] } as unknown as Answer;
    keepAnswer("Oslo", citing("Oslo"));
    keepAnswer("Turku", uncited);
    await forgetFacts("w");
    const [request] = asked.mock.calls[0] as unknown as [Request];
    expect([request.method, new URL(request.url).pathname]).toEqual([
      "DELETE",
      "/api/v1/workspaces/w/memory",
    ]);
    expect(keptAnswers().map((answer) => answer?.answer)).toEqual(["Turku"]);
  });

  it("keeps them if the server does not forget it", async () => {
    vi.stubGlobal("fetch", async () =>
      Response.json({ error: { code: "not_found", message: "", fix: "" } }, { status: 404 }),
    );
    keepAnswer("Oslo", citing("Oslo"));
    await expect(forgetFact("w", fact("Oslo"))).rejects.toThrow();
    expect(keptAnswers()).toHaveLength(1);
  });
});
