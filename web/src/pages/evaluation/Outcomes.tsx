import { Card } from "../../components/Section";
import { optionsOf, Select } from "../../components/Select";
import { type Column, Table } from "../../components/Table";
import { count, decimal, duration, percent, t } from "../../i18n";
import { say } from "../../i18n/say";
import { setQuery } from "../../state/location";
import {
  COST_NAMES,
  type Cost,
  costOf,
  costsWorthShowing,
  metricsOf,
  nameOf,
  type Outcome,
  type Run,
  rankBy,
  type Side,
  sayMetric,
} from "./runs";
import { type Point, Scatter } from "./Scatter";

interface OutcomesProps {
  run: Run;
  metric: string;
  cost: Cost;
  /** The sides that are compared below. */
  sides: readonly (Side | undefined)[];
}

function sayExtent({ questions, unanswerable, k }: Run): string {
  const parts = [
    t("{n} {n:question|questions}", { n: questions }),
    unanswerable > 0 && t("{n} more without an answer", { n: unanswerable }),
    t("top {k} passages each", { k }),
  ];
  return parts.filter(Boolean).join(" · ");
}

/** What each retriever of a run came to: a table, and cost against quality. */
export function Outcomes({ run, metric, cost, sides }: OutcomesProps) {
  const ranked = rankBy(run.outcomes, metric);
  const costs = costsWorthShowing(run.outcomes);
  const shownCost = costs.includes(cost) ? cost : "p95";
  const sayCost = (name: Cost) => t(COST_NAMES[name]);
  const points: Point[] = ranked.flatMap((outcome) => {
    const value = outcome.metrics[metric];
    const x = costOf(outcome, shownCost);
    if (!value || x === null) return [];
    const { retriever: label } = outcome;
    const side = sides.findIndex((one) => one?.run === run.id && one.retriever === label);
    const mark = (["none", "first", "second"] as const)[side + 1] ?? "none";
    return [{ label, x, y: value.mean, low: value.low, high: value.high, mark }];
  });
  const costColumn = (name: Cost): Column<Outcome> => ({
    head: sayCost(name),
    cell: (outcome) => writeCost(costOf(outcome, name), name),
    class: "number nowrap",
  });
  return (
    <Card
      title={<span class="break">{nameOf(run)}</span>}
      side={
        <div class="row wrap">
          <Select
            label={t("Metric")}
            value={metric}
            onChoose={(metric) => setQuery({ metric }, { replace: true })}
          >
            {optionsOf(metricsOf(run), sayMetric)}
          </Select>
          {costs.length > 1 && (
            <Select
              label={t("Cost")}
              value={shownCost}
              onChoose={(cost) => setQuery({ cost }, { replace: true })}
            >
              {optionsOf(costs, sayCost)}
            </Select>
          )}
        </div>
      }
    >
      <p class="small muted">{sayExtent(run)}</p>
      <div class="grid" style={{ "--cell": "540px" }}>
        <Table
          label={t("Retrievers")}
          items={ranked}
          keyOf={({ retriever }) => retriever}
          columns={[
            {
              head: t("Retriever"),
              cell: ({ retriever, skipped }) => (
                <>
                  <span class="break">{retriever}</span>
                  {skipped && <div class="small muted">{say(skipped)}</div>}
                </>
              ),
            },
            {
              head: sayMetric(metric),
              cell: ({ metrics }) => <Mean value={metrics[metric]} />,
            },
            {
              head: t("95 % interval"),
              cell: ({ metrics: { [metric]: value } }) =>
                value && `${decimal(100 * value.low, 1)} – ${decimal(100 * value.high, 1)}`,
              class: "number nowrap",
            },
            ...costs.filter((name) => name !== "p95").map(costColumn),
            {
              head: t("Time, median"),
              cell: ({ p50_ms }) => writeCost(p50_ms, "p95"),
              class: "number nowrap",
            },
            costColumn("p95"),
          ]}
        />
        {points.length > 0 && (
          <figure>
            <Scatter
              points={points}
              description={t(
                "{metric} against {cost} for each retriever. The table shows the same numbers.",
                { metric: sayMetric(metric), cost: sayCost(shownCost) },
              )}
              xLabel={sayCost(shownCost)}
              yLabel={sayMetric(metric)}
              writeX={(value) => writeCost(value, shownCost)}
              writeY={percent}
            />
            <figcaption class="small muted">
              {t(
                "Higher is better, further left is cheaper. Bars are 95 % intervals. The dashed line is the Pareto front.",
              )}
            </figcaption>
          </figure>
        )}
      </div>
    </Card>
  );
}

/** A mean from 0 to 1, and its interval as a bar. */
function Mean({ value }: { value: Outcome["metrics"][string] | undefined }) {
  if (!value) return <span class="faint">–</span>;
  const { mean, low, high } = value;
  return (
    <span class="row">
      <strong class="number">{decimal(100 * mean, 1)}</strong>
      <svg class="interval" viewBox="-4 0 108 12" aria-hidden="true">
        <line class="interval-all" x1={0} x2={100} y1={6} y2={6} />
        <line class="interval-range" x1={100 * low} x2={100 * high} y1={6} y2={6} />
        <circle cx={100 * mean} cy={6} r={4} />
      </svg>
    </span>
  );
}

/** Write what a question costs. */
function writeCost(value: number | null, cost: Cost): string {
  if (value === null) return "–";
  if (cost === "p95") return duration(value / 1000);
  if (cost === "tokens") return count(Math.round(value));
  return value === 0 ? "0" : decimal(value, value < 0.01 ? 5 : 3);
}
