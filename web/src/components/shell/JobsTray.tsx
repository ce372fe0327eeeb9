import { count, type Texts, t, textOf, timeLeft } from "../../i18n";
import {
  currentJob,
  isCutOff,
  JOB_KINDS,
  JOB_STATES,
  type Job,
  jobs,
  openJobs,
  pace,
  progress,
} from "../../state/jobs";
import { linkTo } from "../../state/location";
import { barOf } from "../../state/pace";
import { Icon } from "../Icon";
import { Menu } from "../Menu";
import { Progress } from "../Progress";

const JOB_STAGES: Texts = {
  discover: "Scanning files",
  load: "Reading files",
  ask: "Running questions",
  read: "Reading the graph",
  write: "Writing the graph",
  extract: "Extracting entities and relations",
  model: "Loading the model",
  embed: "Computing vectors",
  store: "Writing the index",
  remove: "Removing",
  names: "Merging entities",
  descriptions: "Describing entities",
  reports: "Writing reports",
  communities: "Building communities",
};

const SHOWN = 6;

/** What runs in the background, from every page. */
export function JobsTray({ side }: { side: "left" | "right" }) {
  const running = openJobs.value.length;
  return (
    <Menu
      label={running ? t("{n} {n:job|jobs} running", { n: running }) : t("Jobs")}
      side={side}
      class="up jobs-tray"
      content={(close) => (
        <div class="stack tray">
          {running > 0 && <CurrentJob />}
          <ul class="stack tight">
            {(jobs.value ?? []).slice(0, SHOWN).map((job) => (
              <li key={job.id} class="row">
                <span class={`state ${job.state}`}>{textOf(JOB_STATES, job.state)}</span>
                <span class="grow">{textOf(JOB_KINDS, job.kind)}</span>
              </li>
            ))}
          </ul>
          {jobs.value?.length === 0 && <p class="muted">{t("No jobs yet.")}</p>}
          <a href={linkTo("library")} onClick={close}>
            {t("All jobs")}
          </a>
        </div>
      )}
    >
      {running ? <span class="spinner" aria-hidden="true" /> : <Icon name="activity" size={18} />}
      <span class="tray-label">{running ? <Percent /> : t("Jobs")}</span>
    </Menu>
  );
}

function Percent() {
  const reported = progress.value;
  if (!reported?.total) return <>{t("Running")}</>;
  return (
    <>
      {count(reported.done)}/{count(reported.total)}
    </>
  );
}

/** The job that runs: what it is at, how far, how long still. */
export function CurrentJob() {
  const job = currentJob.value;
  const reported = progress.value;
  if (!job) return null;
  return (
    <div class="stack tight">
      <div class="row between">
        <strong>{textOf(JOB_KINDS, job.kind)}</strong>
        <span class="muted small">{sayStage(job)}</span>
      </div>
      <JobBar job={job} />
      <div class="row between small muted">
        <span>
          {reported?.total
            ? t("{done} of {total} {total:document|documents}", {
                done: reported.done,
                total: reported.total,
              })
            : ""}
        </span>
        <span>
          {isCutOff.value
            ? t("Connection lost, reconnecting")
            : timeLeft(pace.value?.leftS ?? null)}
        </span>
      </div>
    </div>
  );
}

/** Return what a job is at. */
export function sayStage({ state }: Job): string {
  const stage = progress.value?.stage;
  return stage !== undefined && state !== "stopping"
    ? textOf(JOB_STAGES, stage)
    : textOf(JOB_STATES, state);
}

/** How far the job that runs is. */
export function JobBar({ job }: { job: Job }) {
  const share = progress.value ? barOf(progress.value) : 0;
  return <Progress done={share} total={share > 0 ? 1 : 0} label={sayStage(job)} />;
}
