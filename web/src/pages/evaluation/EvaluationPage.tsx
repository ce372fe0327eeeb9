import { useState } from "preact/hooks";
import { Button } from "../../components/Button";
import { Empty } from "../../components/Empty";
import { Pending } from "../../components/ErrorState";
import { PageHead } from "../../components/PageHead";
import { t } from "../../i18n";
import { useCall } from "../../state/calls";
import { jobs } from "../../state/jobs";
import { asked, setQuery } from "../../state/location";
import { mayWrite } from "../../state/workspaces";
import { Comparison } from "./Comparison";
import { Outcomes } from "./Outcomes";
import { RunList } from "./RunList";
import { COSTS, isUnderWay, metricsOf, type Run, rankBy, readSide, type Side } from "./runs";
import { StartRun } from "./StartRun";
import "./evaluation.css";

const MOST_RUNS = 100;

/** How well retrievers do on questions about this workspace. */
export default function EvaluationPage() {
  const [isStarting, setStarting] = useState(false);
  const query = { limit: MOST_RUNS };
  const loaded = useCall("get", "/evaluations", { query }, { keepsOld: true });
  // What is under way is as its job is.
  const runs = (loaded.data?.evaluations ?? []).map((run) => {
    const job = isUnderWay(run) && jobs.value?.find(({ id }) => id === run.job);
    return job ? { ...run, state: job.state } : run;
  });
  const begin = mayWrite.value && (
    <Button label={t("New evaluation")} kind="main" icon="plus" onClick={() => setStarting(true)} />
  );
  return (
    <>
      <PageHead title={t("Evaluation")} actions={runs.length > 0 && begin}>
        {t("Measure how well each retriever does on your own questions.")}
      </PageHead>
      <div class="stack">
        <Pending of={loaded} lines={5} />
        {loaded.data && runs.length === 0 && (
          <Empty icon="evaluation" title={t("No evaluations yet")} actions={begin}>
            <p>
              {mayWrite.value
                ? t(
                    "Enter questions with the documents that answer them. Every retriever runs all questions, and the results are compared.",
                  )
                : t("Starting one requires a key with write access.")}
            </p>
          </Empty>
        )}
        <Results runs={runs} total={loaded.data?.total ?? 0} />
        {isStarting && (
          <StartRun
            runs={runs}
            onClose={() => setStarting(false)}
            onStarted={({ id: run }) => {
              setStarting(false);
              setQuery({ run, a: null, b: null, q: null }, { on: "evaluation" });
            }}
          />
        )}
      </div>
    </>
  );
}

function Results({ runs, total }: { runs: readonly Run[]; total: number }) {
  const shown = runs.find(({ id }) => id === asked("run")) ?? runs[0];
  if (!shown) return null;
  const metrics = metricsOf(shown);
  const metric = metrics.find((name) => name === asked("metric")) ?? metrics[0] ?? "";
  const cost = COSTS.find((name) => name === asked("cost")) ?? "tokens";
  const [first, second] = chooseSides(runs, shown, metric);
  return (
    <>
      <RunList runs={runs} total={total} shown={shown} metric={metric} />
      <Outcomes run={shown} metric={metric} cost={cost} sides={[first, second]} />
      {first && second && metric && (
        <Comparison
          runs={runs}
          first={first}
          second={second}
          metric={metric}
          question={asked("q")}
        />
      )}
    </>
  );
}

/** Return the sides that the address names, else the best two of the run that is shown. */
function chooseSides(runs: readonly Run[], shown: Run, metric: string): (Side | undefined)[] {
  const ran = rankBy(shown.outcomes, metric).filter(({ metrics }) => metric in metrics);
  const sides = ran.map(({ retriever }) => ({ run: shown.id, retriever }));
  const named = (name: string) => {
    const side = readSide(asked(name));
    const outcomes = runs.find(({ id }) => id === side?.run)?.outcomes ?? [];
    return side && outcomes.some(({ retriever }) => retriever === side.retriever) ? side : null;
  };
  const first = named("a") ?? sides[0];
  const other = sides.find(({ retriever }) => retriever !== first?.retriever);
  return [first, named("b") ?? other];
}
