/** Evaluations as tables: one row for each retriever of a run, with what it costs. */

import type { Shapes } from "../../api/client";
import { t } from "../../i18n";

export const COST_NAMES = {
  p95: "Time, p95",
  tokens: "Tokens per question",
  money: "Cost per question",
} as const;

export type Run = Shapes["EvaluationShape"];
export type Outcome = Shapes["OutcomeShape"];

/** What a row may be measured by beside its quality. */
export const COSTS = ["p95", "tokens", "money"] as const;
export type Cost = (typeof COSTS)[number];

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
  const [, run, retriever] = /^([^:]+):(.+)$/.exec(written) ?? [];
  return run && retriever ? { run, retriever } : null;
}

const METRICS = {
  recall: "Recall@{k}",
  all_gold: "All gold documents@{k}",
  mrr: "Mean reciprocal rank",
  answer: "Answer in top {k}",
  answered: "Answered",
  answer_found: "Correct answer",
  abstained: "Correctly abstained",
} as const;

/** Return the name of a metric, as of `recall@5`. */
export function sayMetric(name: string): string {
  const [base = name, k = ""] = name.split("@");
  return isMetric(base) ? t(METRICS[base], { k }) : name;
}

function isMetric(name: string): name is keyof typeof METRICS {
  return Object.hasOwn(METRICS, name);
}

export function nameOf({ name, id }: Run): string {
  return name || id;
}

export function isUnderWay(run: Run): boolean {
  return ["queued", "running", "stopping"].includes(run.state);
}

/** Return the names of all metrics that a run was measured by, in the order in which they come. */
export function metricsOf({ outcomes }: Run): string[] {
  return [...new Set(outcomes.flatMap(({ metrics }) => Object.keys(metrics)))];
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
