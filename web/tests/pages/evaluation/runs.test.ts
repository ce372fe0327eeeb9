import { describe, expect, it } from "vitest";
import {
  costOf,
  costsWorthShowing,
  metricsOf,
  type Outcome,
  type Run,
  rankBy,
  readSide,
  writeSide,
} from "../../../src/pages/evaluation/runs";

const outcome = (retriever: string, given: Partial<Outcome> = {}) =>
  ({ retriever, asked: 10, metrics: {}, tokens: 0, money: "0", p95_ms: 9, ...given }) as Outcome;

const estimate = (mean: number) => ({ mean, low: mean - 0.1, high: mean + 0.1, questions: 10 });

describe("a side of a comparison", () => {
  it("comes back from the address as it was, whatever its retriever is called", () => {
    for (const retriever of ["hybrid", "bm25 + graph > budget(tokens=800)", "a:b"]) {
      const side = { run: "0123456789abcdef", retriever };
      expect(readSide(writeSide(side))).toEqual(side);
    }
  });

  it.each(["", "hybrid", ":hybrid", "0123:"])("is not read from `%s`", (written) => {
    expect(readSide(written)).toBeNull();
  });
});

describe("costs", () => {
  it("are those of one question", () => {
    const dear = outcome("hybrid", { tokens: 5000, money: "0.25" });
    expect(costOf(dear, "tokens")).toBe(500);
    expect(costOf(dear, "money")).toBeCloseTo(0.025);
    expect(costOf(dear, "p95")).toBe(9);
  });

  it("are not known where nothing was asked, or no price is known", () => {
    expect(costOf(outcome("a", { asked: 0 }), "tokens")).toBeNull();
    expect(costOf(outcome("a", { money: null }), "money")).toBeNull();
  });

  it("that are nothing everywhere are not worth an axis", () => {
    expect(costsWorthShowing([outcome("a")])).toEqual(["p95"]);
    expect(costsWorthShowing([outcome("a"), outcome("b", { tokens: 3 })])).toEqual([
      "p95",
      "tokens",
    ]);
  });
});

describe("outcomes", () => {
  it("come with the best first, and those that could not run last", () => {
    const found = rankBy(
      [
        outcome("none"),
        outcome("low", { metrics: { mrr: estimate(0.2) } }),
        outcome("high", { metrics: { mrr: estimate(0.8) } }),
      ],
      "mrr",
    );
    expect(found.map(({ retriever }) => retriever)).toEqual(["high", "low", "none"]);
  });

  it("name every metric once", () => {
    const outcomes = [
      outcome("a", { metrics: { mrr: estimate(0.5), answered: estimate(0.5) } }),
      outcome("b", { metrics: { mrr: estimate(0.5), abstained: estimate(0.5) } }),
    ];
    expect(metricsOf({ outcomes } as unknown as Run)).toEqual(["mrr", "answered", "abstained"]);
  });
});
