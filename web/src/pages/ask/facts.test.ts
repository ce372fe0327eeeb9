import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { changedAt, type Fact, forgetFact, sayFact } from "./facts";
import { addToHistory, readHistory } from "./history";
import { type Answer, type Question, Run } from "./runs";

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
  after: "",
  filter: "",
});
const citing = (object: string) =>
  ({
    answer: object,
    answered: true,
    memory: [{ ...fact(object), number: 1 }],
  }) as unknown as Answer;

describe("a fact", () => {
  it("is told with spaces in English and without them in Chinese", () => {
    const told = { ...fact("杭州"), subject: "温青岚", relation: "住在" };
    expect([sayFact(fact("Oslo")), sayFact(told)]).toEqual(["Ann lives in Oslo", "温青岚住在杭州"]);
    expect(sayFact({ ...told, subject: "Ann Lee" })).toBe("Ann Lee 住在杭州");
  });
});

describe("the memory", () => {
  beforeEach(() => localStorage.clear());
  afterEach(() => vi.unstubAllGlobals());

  it("forgets a fact with the answers of this browser that cite it", async () => {
    vi.stubGlobal("fetch", async () => Response.json({ data: fact("Oslo"), request_id: "r" }));
    for (const object of ["Oslo", "Rome"]) {
      addToHistory(Run.restore(question(object), citing(object), null, 1));
    }
    await forgetFact("w", fact("Oslo"));
    expect(readHistory("w").map(({ answer }) => answer.answer)).toEqual(["Rome"]);
    expect(changedAt("w")).toBeGreaterThan(1);
  });

  it("keeps them if the server does not forget it", async () => {
    vi.stubGlobal("fetch", async () =>
      Response.json({ error: { code: "not_found", message: "", fix: "" } }, { status: 404 }),
    );
    addToHistory(Run.restore(question("Oslo"), citing("Oslo"), null, 1));
    await expect(forgetFact("w", fact("Oslo"))).rejects.toThrow();
    expect(readHistory("w")).toHaveLength(1);
  });
});
