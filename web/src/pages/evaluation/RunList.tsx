import { Button } from "../../components/Button";
import { AskingButton } from "../../components/Dialog";
import { Progress } from "../../components/Progress";
import { Card } from "../../components/Section";
import { Table } from "../../components/Table";
import { count, moment, percent, t, textOf } from "../../i18n";
import { announce } from "../../state/announcements";
import { call } from "../../state/calls";
import { currentJob, JOB_STATES, progress } from "../../state/jobs";
import { linkTo, setQuery } from "../../state/location";
import { mayWrite, noteChange } from "../../state/workspaces";
import { isUnderWay, nameOf, type Run, rankBy } from "./runs";

interface RunListProps {
  runs: readonly Run[];
  total: number;
  shown: Run;
  metric: string;
}

/** All runs, the newest first: what was asked, how far each is, and what did best. */
export function RunList({ runs, total, shown, metric }: RunListProps) {
  return (
    <Card
      title={t("Runs")}
      side={
        total > runs.length && (
          <span class="small muted">{t("{shown} of {total}", { shown: runs.length, total })}</span>
        )
      }
    >
      <Table
        label={t("Runs")}
        items={runs}
        keyOf={({ id }) => id}
        isChosen={(run) => run === shown}
        columns={[
          {
            head: t("Run"),
            cell: (run) => (
              <>
                <a
                  class="break"
                  href={linkTo("evaluation", { run: run.id, metric })}
                  aria-current={run === shown ? "true" : undefined}
                >
                  {nameOf(run)}
                </a>
                {run.filters && <div class="small muted break">{run.filters}</div>}
              </>
            ),
          },
          { head: t("Started"), cell: ({ created }) => moment(created), class: "nowrap" },
          {
            head: t("Questions"),
            cell: ({ questions, unanswerable }) => count(questions + unanswerable),
            class: "number",
          },
          { head: t("Best"), cell: (run) => tellBest(run, metric) },
          { head: t("State"), cell: (run) => <State run={run} /> },
          {
            head: <span class="only-spoken">{t("Actions")}</span>,
            cell: (run) =>
              mayWrite.value &&
              !isUnderWay(run) && (
                <AskingButton
                  kind="icon"
                  icon="delete"
                  label={t("Remove {name}", { name: nameOf(run) })}
                  action={t("Remove")}
                  onConfirm={() => remove(run)}
                >
                  <p>{t("This deletes its results. Documents are not changed.")}</p>
                </AskingButton>
              ),
            class: "number",
          },
        ]}
      />
    </Card>
  );
}

function tellBest(run: Run, metric: string) {
  const [best] = rankBy(run.outcomes, metric);
  const value = best?.metrics[metric];
  if (!best || !value) return <span class="faint">–</span>;
  return (
    <>
      <span class="break">{best.retriever}</span>{" "}
      <span class="muted number">{percent(value.mean)}</span>
    </>
  );
}

function State({ run }: { run: Run }) {
  const { done = 0, total = 0 } =
    (currentJob.value?.id === run.job && run.state !== "stopping" && progress.value) || {};
  const isOpen = isUnderWay(run);
  const mayAct = run.job && run.state !== "stopping" && run.state !== "finished";
  const change = async () => {
    await call("post", `/jobs/{job}/${isOpen ? "cancel" : "retry"}`, { job: run.job });
    noteChange();
  };
  return (
    <span class={isOpen ? "run-progress stack tight" : "row wrap"}>
      <span class={`state ${run.state}`}>
        {total ? t("{shown} of {total}", { shown: done, total }) : textOf(JOB_STATES, run.state)}
      </span>
      {isOpen && <Progress done={done} total={total} label={t("Questions run")} />}
      {mayWrite.value && mayAct && (
        <Button
          label={isOpen ? t("Cancel") : t("Resume")}
          kind="quiet"
          icon={isOpen ? "stop" : "refresh"}
          onClick={change}
        />
      )}
    </span>
  );
}

async function remove({ id: evaluation }: Run): Promise<void> {
  await call("delete", "/evaluations/{evaluation}", { evaluation });
  noteChange();
  announce(t("The run was removed."));
  setQuery({ run: null, a: null, b: null, q: null }, { replace: true, on: "evaluation" });
}
