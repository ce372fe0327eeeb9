import { useState } from "preact/hooks";
import { api, take } from "../../api/client";
import { Button, IconButton } from "../../components/Button";
import { Confirm } from "../../components/Dialog";
import { Progress } from "../../components/Progress";
import { TableBox } from "../../components/TableBox";
import { count, moment, percent, t } from "../../i18n";
import { announce } from "../../state/announcements";
import { currentJob, progress } from "../../state/jobs";
import { linkTo, setQuery, workspace } from "../../state/location";
import { mayWrite } from "../../state/workspaces";
import { isUnderWay, type Run, rankBy } from "./runs";

interface RunListProps {
  runs: readonly Run[];
  total: number;
  shown: Run | null;
  metric: string;
  reload: () => void;
}

/** All runs, the newest first: what was asked, how far each is, and what did best. */
export function RunList({ runs, total, shown, metric, reload }: RunListProps) {
  const words = t.value.evaluation;
  const [leaving, setLeaving] = useState<Run | null>(null);
  return (
    <section class="card" aria-labelledby="runs-title">
      <div class="card-head">
        <h2 id="runs-title">{words.runs}</h2>
        {total > runs.length && (
          <span class="small muted">{t.value.common.of(count(runs.length), count(total))}</span>
        )}
      </div>
      <TableBox label={words.runs}>
        <table class="runs">
          <thead>
            <tr>
              <th scope="col">{words.name}</th>
              <th scope="col">{words.created}</th>
              <th scope="col" class="number">
                {words.questions}
              </th>
              <th scope="col">{words.best}</th>
              <th scope="col">{words.state}</th>
              <th scope="col">
                <span class="only-spoken">{words.actions}</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {runs.map((run) => (
              <tr key={run.id} class={run === shown ? "chosen" : ""}>
                <th scope="row">
                  <a
                    class="break"
                    href={linkTo("evaluation", { run: run.id, metric })}
                    aria-current={run === shown ? "true" : undefined}
                  >
                    {run.name || run.id}
                  </a>
                  {run.filters && <div class="small muted break">{run.filters}</div>}
                </th>
                <td class="nowrap">{moment(run.created)}</td>
                <td class="number">{count(run.questions + run.unanswerable)}</td>
                <td>
                  <Best run={run} metric={metric} />
                </td>
                <td>
                  <State run={run} reload={reload} />
                </td>
                <td class="number">
                  {mayWrite.value && !isUnderWay(run) && (
                    <IconButton
                      icon="delete"
                      label={words.remove(run.name || run.id)}
                      onClick={() => setLeaving(run)}
                    />
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </TableBox>
      {leaving && (
        <Confirm
          title={words.remove(leaving.name || leaving.id)}
          action={t.value.common.remove}
          onClose={() => setLeaving(null)}
          onConfirm={() => remove(leaving, reload)}
        >
          <p>{words.removeWarning}</p>
        </Confirm>
      )}
    </section>
  );
}

function Best({ run, metric }: { run: Run; metric: string }) {
  const [best] = rankBy(run.outcomes, metric);
  const value = best?.metrics[metric];
  if (!best || !value) return <span class="faint">–</span>;
  return (
    <span>
      <span class="break">{best.retriever}</span>{" "}
      <span class="muted number">{percent(value.mean)}</span>
    </span>
  );
}

function State({ run, reload }: { run: Run; reload: () => void }) {
  const words = t.value.evaluation;
  const reported = currentJob.value?.id === run.job ? progress.value : null;
  const state = t.value.jobs.states[run.state] ?? run.state;
  if (!isUnderWay(run)) {
    return (
      <span class="row wrap">
        <span class={`state ${run.state}`}>{state}</span>
        {run.state !== "finished" && mayWrite.value && run.job && (
          <Button kind="quiet" icon="refresh" onClick={() => goOn(run, reload)}>
            {words.goOn}
          </Button>
        )}
      </span>
    );
  }
  return (
    <span class="run-progress">
      <span class={`state ${run.state}`}>
        {reported?.total && run.state !== "stopping"
          ? t.value.common.of(count(reported.done), count(reported.total))
          : state}
      </span>
      <Progress done={reported?.done ?? 0} total={reported?.total ?? 0} label={words.progress} />
      {mayWrite.value && run.state !== "stopping" && (
        <Button kind="quiet" icon="stop" onClick={() => cancel(run, reload)}>
          {t.value.common.cancel}
        </Button>
      )}
    </span>
  );
}

async function cancel(run: Run, reload: () => void): Promise<void> {
  const path = { workspace: workspace.value, job: run.job };
  await take(api.POST("/api/v1/workspaces/{workspace}/jobs/{job}/cancel", { params: { path } }));
  reload();
}

async function goOn(run: Run, reload: () => void): Promise<void> {
  const path = { workspace: workspace.value, job: run.job };
  await take(api.POST("/api/v1/workspaces/{workspace}/jobs/{job}/retry", { params: { path } }));
  reload();
}

async function remove(run: Run, reload: () => void): Promise<void> {
  const path = { workspace: workspace.value, evaluation: run.id };
  await take(
    api.DELETE("/api/v1/workspaces/{workspace}/evaluations/{evaluation}", { params: { path } }),
  );
  announce(t.value.evaluation.removed);
  setQuery({ run: null, a: null, b: null, q: null }, { replace: true });
  reload();
}
