import { useId } from "preact/hooks";
import { api, type Shapes, take } from "../../api/client";
import { ErrorState } from "../../components/ErrorState";
import { Skeleton } from "../../components/Progress";
import { TableBox } from "../../components/TableBox";
import { count, decimal, t } from "../../i18n";
import { useLoaded } from "../../state/loading";
import { setQuery, workspace } from "../../state/location";
import { Balance } from "./Bars";
import { CasePair } from "./CasePair";
import { type Run, type Side, writeSide } from "./runs";

type Difference = Shapes["DifferenceShape"];

const MOST_CASES = 50;
const SURE = 0.05;

interface ComparisonProps {
  runs: readonly Run[];
  first: Side;
  second: Side;
  metric: string;
  /** The id of the question whose results are shown beside each other. */
  question: string;
}

/** Two retrievers question by question: wins, ties, losses, and whether it may be chance. */
export function Comparison({ runs, first, second, metric, question }: ComparisonProps) {
  const words = t.value.evaluation;
  const wanted = [workspace.value, writeSide(first), writeSide(second), metric].join("\n");
  const difference = useLoaded(wanted, (signal) => load(first, second, metric, signal), {
    keepsOld: true,
  });
  const found = difference.data;
  return (
    <section class="card" aria-labelledby="difference-title">
      <div class="card-head">
        <h2 id="difference-title">{words.difference}</h2>
        <div class="row wrap">
          <SideChoice runs={runs} name="a" label={words.first} value={first} />
          <SideChoice runs={runs} name="b" label={words.second} value={second} />
        </div>
      </div>
      {difference.error && <ErrorState error={difference.error} retry={difference.reload} />}
      {!found && difference.isLoading && <Skeleton label={t.value.common.loading} />}
      {found && !difference.error && (
        <div class="stack loose">
          <Metrics found={found} />
          <Cases found={found} question={question} />
          {question && <CasePair first={first} second={second} question={question} />}
        </div>
      )}
    </section>
  );
}

function load(first: Side, second: Side, metric: string, signal: AbortSignal): Promise<Difference> {
  const params = {
    path: { workspace: workspace.value, evaluation: first.run },
    query: {
      retriever: first.retriever,
      other: second.run,
      other_retriever: second.retriever,
      metric,
      limit: MOST_CASES,
    },
  };
  return take(
    api.GET("/api/v1/workspaces/{workspace}/evaluations/{evaluation}/difference", {
      params,
      signal,
    }),
  );
}

interface SideChoiceProps {
  runs: readonly Run[];
  name: "a" | "b";
  label: string;
  value: Side;
}

function SideChoice({ runs, name, label, value }: SideChoiceProps) {
  const id = useId();
  return (
    <span class="row small">
      <label for={id} class={`side ${name}`}>
        {label}
      </label>
      <select
        id={id}
        value={writeSide(value)}
        onChange={(event) => setQuery({ [name]: event.currentTarget.value, q: null })}
      >
        {runs.map((run) => (
          <optgroup key={run.id} label={run.name || run.id}>
            {run.outcomes
              .filter(({ skipped }) => !skipped)
              .map(({ retriever }) => {
                const side = writeSide({ run: run.id, retriever });
                return (
                  <option key={side} value={side}>
                    {retriever}
                  </option>
                );
              })}
          </optgroup>
        ))}
      </select>
    </span>
  );
}

function Metrics({ found }: { found: Difference }) {
  const words = t.value.evaluation;
  return (
    <div class="stack tight">
      <TableBox label={words.difference}>
        <table>
          <thead>
            <tr>
              <th scope="col">{words.metric}</th>
              <th scope="col" class="number">
                {words.first}
              </th>
              <th scope="col" class="number">
                {words.second}
              </th>
              <th scope="col" class="number">
                {words.lead}
              </th>
              <th scope="col">{words.balance}</th>
              <th scope="col" class="number">
                p
              </th>
              <th scope="col">{words.verdict}</th>
            </tr>
          </thead>
          <tbody>
            {Object.entries(found.metrics).map(([name, metric]) => (
              <tr key={name}>
                <th scope="row">{words.metricName(name)}</th>
                <td class="number">{decimal(100 * metric.first, 1)}</td>
                <td class="number">{decimal(100 * metric.second, 1)}</td>
                <td class="number">{writeLead(metric.difference)}</td>
                <td>
                  <span class="row nowrap number">
                    <Balance {...metric} />
                    {words.wins(count(metric.wins), count(metric.ties), count(metric.losses))}
                  </span>
                </td>
                <td class="number nowrap">{writeChance(metric.p_value)}</td>
                <td class="nowrap">{verdict(metric)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </TableBox>
      <p class="small muted">{words.paired(found.questions)}</p>
    </div>
  );
}

function verdict({ p_value, difference }: { p_value: number; difference: number }) {
  const words = t.value.evaluation;
  if (p_value >= SURE || difference === 0) return <span class="muted">{words.noDifference}</span>;
  return difference > 0 ? (
    <span class="side a">{words.firstBetter}</span>
  ) : (
    <span class="side b">{words.secondBetter}</span>
  );
}

function Cases({ found, question }: { found: Difference; question: string }) {
  const words = t.value.evaluation;
  const metric = found.sorted_by;
  return (
    <div class="stack tight">
      <div class="row between wrap">
        <h3>{words.largest(words.metricName(metric))}</h3>
        {found.cases.length < found.questions && (
          <span class="small muted">
            {t.value.common.of(count(found.cases.length), count(found.questions))}
          </span>
        )}
      </div>
      <TableBox label={words.questions} class="case-box">
        <table>
          <thead>
            <tr>
              <th scope="col">{words.question}</th>
              <th scope="col" class="number">
                {words.first}
              </th>
              <th scope="col" class="number">
                {words.second}
              </th>
            </tr>
          </thead>
          <tbody>
            {found.cases.map((each) => (
              <tr key={each.id} class={each.id === question ? "chosen" : ""}>
                <th scope="row">
                  <button
                    type="button"
                    class="link-button break"
                    aria-expanded={each.id === question}
                    onClick={() => setQuery({ q: each.id === question ? null : each.id })}
                  >
                    {each.question}
                  </button>
                </th>
                <td class="number">{writeValue(each.first[metric])}</td>
                <td class="number">{writeValue(each.second[metric])}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </TableBox>
    </div>
  );
}

function writeValue(value: number | undefined): string {
  return value === undefined ? "–" : decimal(100 * value, 0);
}

function writeLead(difference: number): string {
  const points = decimal(100 * difference, 1);
  return difference > 0 ? `+${points}` : points;
}

function writeChance(chance: number): string {
  return chance < 0.001 ? `< ${decimal(0.001, 3)}` : decimal(chance, 3);
}
