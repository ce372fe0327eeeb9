import { TableBox } from "../../components/TableBox";
import { count, decimal, duration, percent, t } from "../../i18n";
import { setQuery } from "../../state/location";
import { Interval } from "./Bars";
import {
  type Cost,
  costOf,
  costsWorthShowing,
  metricsOf,
  type Run,
  rankBy,
  writeSide,
} from "./runs";
import { type Point, Scatter } from "./Scatter";

interface OutcomesProps {
  run: Run;
  metric: string;
  cost: Cost;
  /** The sides that are compared below, as the address has them. */
  first: string;
  second: string;
}

/** What each retriever of a run came to: a table, and cost against quality. */
export function Outcomes({ run, metric, cost, first, second }: OutcomesProps) {
  const words = t.value.evaluation;
  const ranked = rankBy(run.outcomes, metric);
  const costs = costsWorthShowing(run.outcomes);
  const spent = costs.filter((name) => name !== "p95");
  const shownCost = costs.includes(cost) ? cost : "p95";
  const marks = new Map([
    [first, "first"],
    [second, "second"],
  ] as const);
  const points: Point[] = ranked.flatMap((outcome) => {
    const value = outcome.metrics[metric];
    const x = costOf(outcome, shownCost);
    if (!value || x === null) return [];
    const id = writeSide({ run: run.id, retriever: outcome.retriever });
    const { mean: y, low, high } = value;
    return [{ id, label: outcome.retriever, x, y, low, high, mark: marks.get(id) ?? "none" }];
  });
  return (
    <section class="card" aria-labelledby="outcomes-title">
      <div class="card-head">
        <h2 id="outcomes-title" class="break">
          {run.name || run.id}
        </h2>
        <div class="row wrap">
          <Choice
            label={words.metric}
            value={metric}
            options={metricsOf([run])}
            write={words.metricName}
            onChoose={(metric) => setQuery({ metric }, { replace: true })}
          />
          {costs.length > 1 && (
            <Choice
              label={words.cost}
              value={shownCost}
              options={costs}
              write={(name) => words.costs[name] ?? name}
              onChoose={(cost) => setQuery({ cost }, { replace: true })}
            />
          )}
        </div>
      </div>
      <p class="small muted">{words.asked(run.questions, run.unanswerable, run.k)}</p>
      <div class="outcomes">
        <TableBox label={words.retrievers}>
          <table>
            <thead>
              <tr>
                <th scope="col">{words.retriever}</th>
                <th scope="col">{words.metricName(metric)}</th>
                <th scope="col" class="number">
                  {words.interval}
                </th>
                {spent.map((name) => (
                  <th key={name} scope="col" class="number">
                    {words.costs[name]}
                  </th>
                ))}
                <th scope="col" class="number">
                  {words.median}
                </th>
                <th scope="col" class="number">
                  {words.costs.p95}
                </th>
              </tr>
            </thead>
            <tbody>
              {ranked.map((outcome) => (
                <OutcomeRow
                  key={outcome.retriever}
                  outcome={outcome}
                  metric={metric}
                  spent={spent}
                />
              ))}
            </tbody>
          </table>
        </TableBox>
        {points.length > 0 && (
          <figure class="scatter">
            <Scatter
              points={points}
              description={words.plot(words.metricName(metric), words.costs[shownCost] ?? "")}
              xLabel={words.costs[shownCost] ?? ""}
              yLabel={words.metricName(metric)}
              writeX={(value) => writeCost(value, shownCost)}
              writeY={percent}
            />
            <figcaption class="small muted">{words.plotNote}</figcaption>
          </figure>
        )}
      </div>
    </section>
  );
}

interface OutcomeRowProps {
  outcome: Run["outcomes"][number];
  metric: string;
  spent: readonly Cost[];
}

function OutcomeRow({ outcome, metric, spent }: OutcomeRowProps) {
  const value = outcome.metrics[metric];
  if (outcome.skipped) {
    return (
      <tr>
        <th scope="row" class="break">
          {outcome.retriever}
        </th>
        <td colSpan={4 + spent.length} class="muted break">
          {outcome.skipped}
        </td>
      </tr>
    );
  }
  return (
    <tr>
      <th scope="row" class="break">
        {outcome.retriever}
      </th>
      <td>
        {value ? (
          <span class="row">
            <strong class="number">{decimal(100 * value.mean, 1)}</strong>
            <Interval {...value} />
          </span>
        ) : (
          <span class="faint">–</span>
        )}
      </td>
      <td class="number nowrap">
        {value && `${decimal(100 * value.low, 1)} – ${decimal(100 * value.high, 1)}`}
      </td>
      {spent.map((name) => (
        <td key={name} class="number">
          {write(costOf(outcome, name), name)}
        </td>
      ))}
      <td class="number nowrap">{write(outcome.p50_ms, "p95")}</td>
      <td class="number nowrap">{write(outcome.p95_ms, "p95")}</td>
    </tr>
  );
}

interface ChoiceProps<T extends string> {
  label: string;
  value: T;
  options: readonly T[];
  write: (option: T) => string;
  onChoose: (option: T) => void;
}

function Choice<T extends string>({ label, value, options, write, onChoose }: ChoiceProps<T>) {
  return (
    <label class="row small">
      <span class="muted">{label}</span>
      <select value={value} onChange={(event) => onChoose(event.currentTarget.value as T)}>
        {options.map((option) => (
          <option key={option} value={option}>
            {write(option)}
          </option>
        ))}
      </select>
    </label>
  );
}

function write(value: number | null, cost: Cost): string {
  return value === null ? "–" : writeCost(value, cost);
}

/** Write what a question costs. */
function writeCost(value: number, cost: Cost): string {
  if (cost === "p95") return duration(value / 1000);
  if (cost === "tokens") return count(Math.round(value));
  return value === 0 ? "0" : decimal(value, value < 0.01 ? 5 : 3);
}
