/** Evaluations as tables: one row for each retriever of a run, with what it costs. */

import { api, type Shapes, take } from "../../api/client";

export type Run = Shapes["EvaluationShape"];
export type Outcome = Shapes["OutcomeShape"];
export type Case = Shapes["CaseShape"];

/** What a row may be measured by beside its quality. */
export const COSTS = ["p95", "tokens", "money"] as const;
export type Cost = (typeof COSTS)[number];

const PAGE = 200;

/** One side of a comparison: a retriever of a run. */
export interface Side {
  run: string;
  retriever: string;
}

/** Write a side for the address; retrievers may hold any characters, ids hold no colon. */
export function writeSide({ run, retriever }: Side): string {
  return `${run}:${retriever}`;
}

/** Read what `writeSide` wrote; null for anything else. */
export function readSide(written: string): Side | null {
  const at = written.indexOf(":");
  if (at <= 0 || at === written.length - 1) return null;
  return { run: written.slice(0, at), retriever: written.slice(at + 1) };
}

export function isUnderWay(run: Run): boolean {
  return ["queued", "running", "stopping"].includes(run.state);
}

/** Return the names of all metrics that runs were measured by, in the order in which they come. */
export function metricsOf(runs: readonly Run[]): string[] {
  const names = runs.flatMap((run) => run.outcomes.flatMap(({ metrics }) => Object.keys(metrics)));
  return [...new Set(names)];
}

/** Return what a question costs on average, or null where that is not known. */
export function costOf(outcome: Outcome, cost: Cost): number | null {
  if (cost === "p95") return outcome.p95_ms;
  if (outcome.asked === 0) return null;
  if (cost === "tokens") return outcome.tokens / outcome.asked;
  return outcome.money === null ? null : Number(outcome.money) / outcome.asked;
}

/** Return which costs differ from nothing somewhere: an axis of zeros shows nothing. */
export function costsWorthShowing(outcomes: readonly Outcome[]): Cost[] {
  return COSTS.filter(
    (cost) => cost === "p95" || outcomes.some((outcome) => (costOf(outcome, cost) ?? 0) > 0),
  );
}

/** Return the outcomes with the best by a metric first; those without a value come last. */
export function rankBy(outcomes: readonly Outcome[], metric: string): Outcome[] {
  const value = (outcome: Outcome) => outcome.metrics[metric]?.mean ?? -1;
  return outcomes.toSorted((one, other) => value(other) - value(one));
}

/** Return questions as the lines of a file, to be asked again. */
export function writeQuestions(cases: readonly Case[]): string {
  return cases
    .map(({ id, question, gold, answers, type }) =>
      JSON.stringify({ qid: id, question, gold_groups: gold, answers, type }),
    )
    .join("\n");
}

/** Return all questions of a run: those with an answer, and those without. */
export async function loadQuestions(
  workspace: string,
  run: string,
): Promise<{ answerable: Case[]; unanswerable: Case[] }> {
  const cases: Case[] = [];
  let start: number | null = 0;
  while (start !== null) {
    const page: Shapes["EvaluationDetails"] = await take(
      api.GET("/api/v1/workspaces/{workspace}/evaluations/{evaluation}", {
        params: { path: { workspace, evaluation: run }, query: { start, limit: PAGE } },
      }),
    );
    cases.push(...page.cases);
    start = page.next;
  }
  return {
    answerable: cases.filter((found) => found.is_answerable),
    unanswerable: cases.filter((found) => !found.is_answerable),
  };
}
