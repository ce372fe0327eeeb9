import { Button } from "../../components/Button";
import { duration, moment, t, textOf } from "../../i18n";
import {
  isOpen,
  JOB_KINDS,
  JOB_STATES,
  type Job,
  jobs,
  sayFault,
  sayStopped,
} from "../../state/jobs";
import { mayWrite } from "../../state/workspaces";
import { runAgain } from "./Unfinished";

const OUTCOMES = {
  added: "{n} added",
  changed: "{n} changed",
  removed: "{n} removed",
  skipped: "{n} not read",
} as const;

const SHOWN = 12;

/** The jobs that are over, with what they did or why they failed. */
export function JobList() {
  const over = (jobs.value ?? []).filter((job) => !isOpen(job)).slice(0, SHOWN);
  if (over.length === 0) return null;
  return (
    <details class="card">
      <summary>
        <h2>{t("Past jobs")}</h2>
      </summary>
      <ul class="ruled job-list">
        {over.map((job) => {
          const [message, fix] = sayFault(job);
          const stopped = sayStopped(job);
          return (
            <li key={job.id} class="row wrap top">
              <span class={`state ${job.state}`}>{textOf(JOB_STATES, job.state)}</span>
              <div class="grow">
                <p>
                  {textOf(JOB_KINDS, job.kind)} <span class="muted">{outcomeOf(job.report)}</span>
                </p>
                <p class="small break">
                  {message} {stopped} <span class="muted">{fix}</span>
                </p>
              </div>
              <span class="small faint">{timeOf(job)}</span>
              {job.state !== "finished" && mayWrite.value && (
                <Button
                  label={job.state === "cancelled" ? t("Continue") : t("Try again")}
                  kind="quiet"
                  icon="refresh"
                  onClick={() => runAgain(job)}
                />
              )}
            </li>
          );
        })}
      </ul>
    </details>
  );
}

function outcomeOf(report: Job["report"]): string {
  const parts = (["added", "changed", "removed", "skipped"] as const).flatMap((name) => {
    const value = report[name];
    const many = Array.isArray(value) ? value.length : typeof value === "number" ? value : 0;
    return many > 0 ? [t(OUTCOMES[name], { n: many })] : [];
  });
  return parts.join(", ");
}

function timeOf(job: Job): string {
  const seconds = (Date.parse(job.finished) - Date.parse(job.started)) / 1000;
  const took = Number.isFinite(seconds) ? ` · ${duration(seconds)}` : "";
  return moment(job.finished || job.created) + took;
}
