import { Button } from "../../components/Button";
import { count, duration, moment, t } from "../../i18n";
import { say } from "../../i18n/say";
import { isOpen, type Job, jobs, stoppedAt } from "../../state/jobs";
import { mayWrite } from "../../state/workspaces";
import { runAgain } from "./Unfinished";

const SHOWN = 12;

/** The jobs that are over, with what they did or why they failed. */
export function JobList() {
  const words = t.value.jobs;
  const over = (jobs.value ?? []).filter((job) => !isOpen(job)).slice(0, SHOWN);
  if (over.length === 0) return null;
  return (
    <details class="card">
      <summary>
        <h2>{words.past}</h2>
      </summary>
      <ul class="ruled job-list">
        {over.map((job) => (
          <li key={job.id} class="row wrap top">
            <span class={`state ${job.state}`}>{words.states[job.state] ?? job.state}</span>
            <div class="grow">
              <p>
                {words.kinds[job.kind] ?? job.kind}{" "}
                <span class="muted">{outcomeOf(job.report)}</span>
              </p>
              {typeof job.error.message === "string" && (
                <p class="small break">
                  {say(job.error.message)}{" "}
                  <span class="muted">
                    {typeof job.error.fix === "string" ? say(job.error.fix) : ""}
                  </span>
                </p>
              )}
              {stoppedAt(job) && <p class="small break">{words.stoppedAt(stoppedAt(job))}</p>}
            </div>
            <span class="small faint">{timeOf(job)}</span>
            {job.state !== "finished" && mayWrite.value && (
              <Button
                label={job.state === "cancelled" ? words.goOn : t.value.common.retry}
                kind="quiet"
                icon="refresh"
                onClick={() => runAgain(job)}
              />
            )}
          </li>
        ))}
      </ul>
    </details>
  );
}

function outcomeOf(report: Job["report"]): string {
  const words = t.value.jobs;
  const parts = (["added", "changed", "removed", "skipped"] as const).flatMap((name) => {
    const value = report[name];
    const many = Array.isArray(value) ? value.length : typeof value === "number" ? value : 0;
    return many > 0 ? [words.outcomes[name](count(many))] : [];
  });
  return parts.join(", ");
}

function timeOf(job: Job): string {
  const seconds = (Date.parse(job.finished) - Date.parse(job.started)) / 1000;
  const took = Number.isFinite(seconds) ? ` · ${duration(seconds)}` : "";
  return moment(job.finished || job.created) + took;
}
