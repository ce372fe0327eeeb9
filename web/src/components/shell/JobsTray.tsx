import { count, t, timeLeft } from "../../i18n";
import { currentJob, isCutOff, type Job, jobs, openJobs, pace, progress } from "../../state/jobs";
import { linkTo } from "../../state/location";
import { barOf } from "../../state/pace";
import { Icon } from "../Icon";
import { Menu } from "../Menu";
import { Progress } from "../Progress";

const SHOWN = 6;

/** What runs in the background, from every page. */
export function JobsTray({ side }: { side: "left" | "right" }) {
  const words = t.value.jobs;
  const running = openJobs.value.length;
  return (
    <Menu
      label={running ? words.trayRunning(running) : words.tray}
      side={side}
      class="up jobs-tray"
      content={(close) => (
        <div class="stack tray">
          {running > 0 && <CurrentJob />}
          <ul class="stack tight">
            {(jobs.value ?? []).slice(0, SHOWN).map((job) => (
              <li key={job.id} class="row">
                <span class={`state ${job.state}`}>{words.states[job.state] ?? job.state}</span>
                <span class="grow">{words.kinds[job.kind] ?? job.kind}</span>
              </li>
            ))}
          </ul>
          {jobs.value?.length === 0 && <p class="muted">{words.none}</p>}
          <a href={linkTo("library")} onClick={close}>
            {words.all}
          </a>
        </div>
      )}
    >
      {running ? <span class="spinner" aria-hidden="true" /> : <Icon name="activity" size={18} />}
      <span class="tray-label">{running ? <Percent /> : words.tray}</span>
    </Menu>
  );
}

function Percent() {
  const reported = progress.value;
  if (!reported?.total) return <>{t.value.jobs.states.running}</>;
  return (
    <>
      {count(reported.done)}/{count(reported.total)}
    </>
  );
}

/** The job that runs: what it is at, how far, how long still. */
export function CurrentJob() {
  const words = t.value.jobs;
  const job = currentJob.value;
  const reported = progress.value;
  if (!job) return null;
  return (
    <div class="stack tight">
      <div class="row between">
        <strong>{words.kinds[job.kind] ?? job.kind}</strong>
        <span class="muted small">{sayStage(job)}</span>
      </div>
      <JobBar job={job} />
      <div class="row between small muted">
        <span>{reported?.total ? words.documents(reported.done, reported.total) : ""}</span>
        <span>{isCutOff.value ? words.cutOff : timeLeft(pace.value?.leftS ?? null)}</span>
      </div>
    </div>
  );
}

/** Return what a job is at. */
export function sayStage({ state }: Job): string {
  const { stages, states } = t.value.jobs;
  const stage = progress.value?.stage;
  return stage !== undefined && state !== "stopping"
    ? (stages[stage] ?? stage)
    : (states[state] ?? "");
}

/** How far the job that runs is. */
export function JobBar({ job }: { job: Job }) {
  const share = progress.value ? barOf(progress.value) : 0;
  return <Progress done={share} total={share > 0 ? 1 : 0} label={sayStage(job)} />;
}
