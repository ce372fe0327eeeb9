import { useEffect, useState } from "preact/hooks";
import { api, take } from "../../api/client";
import { Button } from "../../components/Button";
import { Empty } from "../../components/Empty";
import { ErrorState } from "../../components/ErrorState";
import { PageHead } from "../../components/PageHead";
import { Skeleton } from "../../components/Progress";
import { t } from "../../i18n";
import { jobs } from "../../state/jobs";
import { useLoaded } from "../../state/loading";
import { asked, setQuery, workspace } from "../../state/location";
import { mayWrite, revision } from "../../state/workspaces";
import { Comparison } from "./Comparison";
import { Outcomes } from "./Outcomes";
import { RunList } from "./RunList";
import {
  COSTS,
  isUnderWay,
  metricsOf,
  type Run,
  rankBy,
  readSide,
  type Side,
  writeSide,
} from "./runs";
import { StartRun } from "./StartRun";
import "./evaluation.css";

const MOST_RUNS = 100;

/** How well retrievers do on questions about this workspace. */
export default function EvaluationPage() {
  const words = t.value.evaluation;
  const [isStarting, setStarting] = useState(false);
  const loaded = useLoaded(workspace.value, loadRuns, { keepsOld: true });
  useRefresh(loaded.data?.evaluations ?? [], loaded.reload);
  const begin = mayWrite.value && (
    <Button kind="main" icon="plus" onClick={() => setStarting(true)}>
      {words.start}
    </Button>
  );
  const runs = loaded.data?.evaluations ?? [];
  return (
    <>
      <PageHead title={t.value.pages.evaluation} actions={runs.length > 0 && begin}>
        {words.about}
      </PageHead>
      <div class="stack">
        {loaded.error && <ErrorState error={loaded.error} retry={loaded.reload} />}
        {loaded.isLoading && !loaded.data && <Skeleton label={t.value.common.loading} lines={5} />}
        {loaded.data && runs.length === 0 && (
          <Empty icon="evaluation" title={words.none} actions={begin}>
            <p>{mayWrite.value ? words.noneFix : words.noneRead}</p>
          </Empty>
        )}
        {runs.length > 0 && (
          <Results runs={runs} total={loaded.data?.total ?? 0} reload={loaded.reload} />
        )}
        {isStarting && (
          <StartRun
            runs={runs}
            onClose={() => setStarting(false)}
            onStarted={(run) => {
              setStarting(false);
              setQuery({ run: run.id, a: null, b: null, q: null });
              loaded.reload();
            }}
          />
        )}
      </div>
    </>
  );
}

interface ResultsProps {
  runs: readonly Run[];
  total: number;
  reload: () => void;
}

function Results({ runs, total, reload }: ResultsProps) {
  const shown = runs.find(({ id }) => id === asked("run")) ?? runs[0];
  if (!shown) return null;
  const metrics = metricsOf([shown]);
  const wanted = asked("metric");
  const metric = metrics.includes(wanted) ? wanted : (metrics[0] ?? "");
  const cost = COSTS.find((name) => name === asked("cost")) ?? "tokens";
  const [first, second] = chooseSides(runs, shown, metric);
  return (
    <>
      <RunList runs={runs} total={total} shown={shown} metric={metric} reload={reload} />
      <Outcomes
        run={shown}
        metric={metric}
        cost={cost}
        first={first ? writeSide(first) : ""}
        second={second ? writeSide(second) : ""}
      />
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
  const isKnown = (side: Side | null): side is Side =>
    runs.some(
      ({ id, outcomes }) =>
        id === side?.run && outcomes.some(({ retriever }) => retriever === side.retriever),
    );
  const [a, b] = [readSide(asked("a")), readSide(asked("b"))];
  const first = isKnown(a) ? a : sides[0];
  const other = sides.find(({ retriever }) => retriever !== first?.retriever);
  return [first, isKnown(b) ? b : other];
}

function loadRuns(signal: AbortSignal) {
  const params = { path: { workspace: workspace.value }, query: { limit: MOST_RUNS } };
  return take(api.GET("/api/v1/workspaces/{workspace}/evaluations", { params, signal }));
}

/** Load again when a job that evaluates has come to its end, or has begun. */
function useRefresh(runs: readonly Run[], reload: () => void): void {
  const states = (jobs.value ?? [])
    .filter(({ kind }) => kind === "evaluate")
    .map(({ id, state }) => `${id} ${state}`)
    .join("\n");
  const turn = revision.value;
  const isOutdated = runs.some(
    (run) =>
      isUnderWay(run) && jobs.value?.some(({ id, state }) => id === run.job && state !== run.state),
  );
  useEffect(() => {
    if (isOutdated) reload();
  }, [states, turn, isOutdated]);
}
