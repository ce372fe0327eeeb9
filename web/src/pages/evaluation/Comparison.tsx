import type { Shapes } from "../../api/client";
import { Button } from "../../components/Button";
import { Pending } from "../../components/ErrorState";
import { Card } from "../../components/Section";
import { optionsOf, Select } from "../../components/Select";
import { Table } from "../../components/Table";
import { count, decimal, t } from "../../i18n";
import { useCall } from "../../state/calls";
import { setQuery } from "../../state/location";
import { CasePair } from "./CasePair";
import { nameOf, type Run, type Side, sayMetric, writeSide } from "./runs";

type Difference = Shapes["DifferenceShape"];
type Metric = Shapes["MetricDifference"];

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
  const query = {
    retriever: first.retriever,
    other: second.run,
    other_retriever: second.retriever,
    metric,
    limit: MOST_CASES,
  };
  const sides = { evaluation: first.run, query };
  const loaded = useCall("get", "/evaluations/{evaluation}/difference", sides, { keepsOld: true });
  const found = loaded.error ? null : loaded.data;
  return (
    <Card
      title={t("Paired difference")}
      side={
        <div class="row wrap">
          <SideChoice runs={runs} name="a" label={t("First")} value={first} />
          <SideChoice runs={runs} name="b" label={t("Second")} value={second} />
        </div>
      }
    >
      <Pending of={loaded} />
      {found && (
        <div class="stack loose">
          <Metrics found={found} />
          <Cases found={found} question={question} />
          {question && <CasePair first={first} second={second} question={question} />}
        </div>
      )}
    </Card>
  );
}

interface SideChoiceProps {
  runs: readonly Run[];
  name: "a" | "b";
  label: string;
  value: Side;
}

function SideChoice({ runs, name, label, value }: SideChoiceProps) {
  return (
    <Select
      label={label}
      labelClass={`side ${name}`}
      value={writeSide(value)}
      onChoose={(side) => setQuery({ [name]: side, q: null })}
    >
      {runs.map((run) => {
        const ran = run.outcomes.filter(({ skipped }) => !skipped);
        const sides = ran.map(({ retriever }) => writeSide({ run: run.id, retriever }));
        return (
          <optgroup key={run.id} label={nameOf(run)}>
            {optionsOf(sides, (side) => side.slice(run.id.length + 1))}
          </optgroup>
        );
      })}
    </Select>
  );
}

function Metrics({ found }: { found: Difference }) {
  return (
    <div class="stack tight">
      <Table
        label={t("Paired difference")}
        items={Object.entries(found.metrics)}
        keyOf={([name]) => name}
        columns={[
          { head: t("Metric"), cell: ([name]) => sayMetric(name) },
          { head: t("First"), cell: ([, { first }]) => writeValue(first, 1), class: "number" },
          { head: t("Second"), cell: ([, { second }]) => writeValue(second, 1), class: "number" },
          {
            head: t("Difference"),
            cell: ([, { difference }]) => (difference > 0 ? "+" : "") + writeValue(difference, 1),
            class: "number",
          },
          {
            head: t("Wins, ties, losses"),
            cell: ([, metric]) => <Balance {...metric} />,
            class: "nowrap",
          },
          { head: "p", cell: ([, metric]) => writeChance(metric.p_value), class: "number nowrap" },
          { head: t("Verdict"), cell: ([, metric]) => verdict(metric), class: "nowrap" },
        ]}
      />
      <p class="small muted">
        {t(
          "On {n} {n:common question|common questions}. p is from a two-sided sign-flip test; a difference with p below 0.05 is significant.",
          { n: found.questions },
        )}
      </p>
    </div>
  );
}

/** Wins, ties and losses, and their shares of a bar. */
function Balance({ wins, ties, losses }: Metric) {
  const share = (value: number) => `${(100 * value) / Math.max(1, wins + ties + losses)}%`;
  return (
    <span class="row number">
      <span class="balance" aria-hidden="true">
        <span style={{ width: share(wins) }} />
        <span style={{ width: share(ties) }} />
      </span>
      {[wins, ties, losses].map(count).join(" / ")}
    </span>
  );
}

function verdict({ p_value, difference }: Metric) {
  if (p_value >= SURE || difference === 0) return <span class="muted">{t("not significant")}</span>;
  return difference > 0 ? (
    <span class="side a">{t("first is better")}</span>
  ) : (
    <span class="side b">{t("second is better")}</span>
  );
}

function Cases({ found, question }: { found: Difference; question: string }) {
  const metric = found.sorted_by;
  return (
    <div class="stack tight">
      <div class="row between wrap">
        <h3>
          {t("Questions with the largest difference: {metric}", { metric: sayMetric(metric) })}
        </h3>
        {found.cases.length < found.questions && (
          <span class="small muted">
            {t("{shown} of {total}", { shown: found.cases.length, total: found.questions })}
          </span>
        )}
      </div>
      <Table
        label={t("Questions")}
        class="case-box"
        items={found.cases}
        keyOf={({ id }) => id}
        isChosen={({ id }) => id === question}
        columns={[
          {
            head: t("Question"),
            cell: ({ id, question: text }) => (
              <Button
                label={text}
                kind="link"
                expanded={id === question}
                onClick={() => setQuery({ q: id === question ? null : id })}
              />
            ),
          },
          { head: t("First"), cell: ({ first }) => writeValue(first[metric]), class: "number" },
          { head: t("Second"), cell: ({ second }) => writeValue(second[metric]), class: "number" },
        ]}
      />
    </div>
  );
}

function writeValue(value: number | undefined, digits = 0): string {
  return value === undefined ? "–" : decimal(100 * value, digits);
}

function writeChance(chance: number): string {
  return chance < 0.001 ? `< ${decimal(0.001, 3)}` : decimal(chance, 3);
}
