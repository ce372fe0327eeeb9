import { api, take } from "../../api/client";
import { Button } from "../../components/Button";
import { count, duration, moment, t } from "../../i18n";
import { addJob, isOpen, type Job, jobs } from "../../state/jobs";
import { workspace } from "../../state/location";
import { mayWrite } from "../../state/workspaces";

const SHOWN = 12;

/** The jobs that are over, with what they did or why they failed. */
export function JobList() {
  const words = t.value.jobs;
  const over = (jobs.value ?? []).filter((job) => !isOpen(job)).slice(0, SHOWN);
  if (over.length === 0) return null;
  return (
    <section class="card" aria-labelledby="jobs-title">
      <div class="card-head">
        <h2 id="jobs-title">{words.past}</h2>
      </div>
      <ul class="job-list">
        {over.map((job) => (
          <li key={job.id}>
            <span class={`state ${job.state}`}>{words.states[job.state] ?? job.state}</span>
            <div class="grow">
              <p>
                {words.kinds[job.kind] ?? job.kind}{" "}
                <span class="muted">{outcomeOf(job.report)}</span>
              </p>
              {typeof job.error.message === "string" && (
                <p class="small break">
                  {job.error.message}{" "}
                  <span class="muted">
                    {typeof job.error.fix === "string" ? job.error.fix : ""}
                  </span>
                </p>
              )}
            </div>
            <span class="small faint job-time">{timeOf(job)}</span>
            {job.state !== "finished" && mayWrite.value && (
              <Button kind="quiet" icon="refresh" onClick={() => again(job)}>
                {t.value.common.retry}
              </Button>
            )}
          </li>
        ))}
      </ul>
    </section>
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

async function again(job: Job): Promise<void> {
  const path = { workspace: workspace.value, job: job.id };
  addJob(
    await take(api.POST("/api/v1/workspaces/{workspace}/jobs/{job}/retry", { params: { path } })),
  );
}
