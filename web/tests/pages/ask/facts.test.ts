import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import {
  type Fact,
  factOrigin,
  factTimes,
  forgetFact,
  forgetFacts,
  type StatedFact,
} from "../../../src/pages/ask/facts";
import type { Answer } from "../../../src/pages/ask/runs";
import { Thread } from "../../../src/pages/ask/threads";
import { runOf, serveThreads } from "./threads.testing";

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
const server = serveThreads();
const keepAnswer = (text: string, answer: Answer) =>
  new Thread("w", "", [runOf({ workspace: "w", text }, answer)]).save();
const keptAnswers = () => [...server.stored.values()].map(({ title }) => title);
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
  const asked: string[] = [];
  let isKnown = true;
  beforeEach(() => {
    server.stored.clear();
    asked.length = 0;
    isKnown = true;
    vi.stubGlobal("fetch", async (request: Request) => {
      const { pathname } = new URL(request.url);
      if (pathname.includes("/threads")) return server.answer(request);
      asked.push(`${request.method} ${pathname}`);
      if (isKnown) return Response.json({ data: fact("Oslo"), request_id: "r" });
      return Response.json({ error: { code: "not_found", message: "", fix: "" } }, { status: 404 });
    });
  });
  afterEach(() => vi.unstubAllGlobals());

  it("forgets a fact with the answers of threads that cite it", async () => {
    for (const object of ["Oslo", "Rome"]) await keepAnswer(object, citing(object));
    await forgetFact("w", fact("Oslo"));
    expect(keptAnswers()).toEqual(["Rome"]);
  });

  it("forgets all facts with the answers that cite one", async () => {
    const uncited = { ...citing("Turku"), memory: [] };
    await keepAnswer("Oslo", citing("Oslo"));
    await keepAnswer("Turku", uncited);
    await forgetFacts("w");
    expect(asked).toEqual(["DELETE /api/v1/workspaces/w/memory"]);
    expect(keptAnswers()).toEqual(["Turku"]);
  });

  it("keeps them if the server does not forget it", async () => {
    isKnown = false;
    await keepAnswer("Oslo", citing("Oslo"));
    await expect(forgetFact("w", fact("Oslo"))).rejects.toThrow();
    expect(keptAnswers()).toEqual(["Oslo"]);
  });
});
