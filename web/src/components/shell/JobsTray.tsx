import { count, size, type Texts, t, textOf, timeLeft } from "../../i18n";
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

const COUNTS_DOCUMENTS = new Set("discover load extract model embed store remove".split(" "));
const SHOWN = 6;

/** What runs in the background, from every page. */
export function JobsTray({ side }: { side: "left" | "right" }) {
  const running = openJobs.value.length;
  const { done = 0, total = 0 } = progress.value ?? {};
  const share = total ? `${count(done)}/${count(total)}` : t("Running");
  return (
    <Menu
      label={running ? t("{n} {n:job|jobs} running", { n: running }) : t("Jobs")}
      side={side}
      class="up jobs-tray"
      content={(close) => (
        <div class="stack menu-body tray">
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
      <span class="number tray-label">{running ? share : t("Jobs")}</span>
    </Menu>
  );
}

/** The job that runs. */
export function CurrentJob() {
  const job = currentJob.value;
  if (!job) return null;
  return (
    <div class="stack tight">
      <strong>{textOf(JOB_KINDS, job.kind)}</strong>
      <JobProgress job={job} />
    </div>
  );
}

/** What the job that runs is at, how far and how long still. */
export function JobProgress({ job }: { job: Job }) {
  const share = progress.value ? barOf(progress.value) : 0;
  return (
    <>
      <Progress done={share} total={share > 0 ? 1 : 0} label={sayStage(job)} />
      <div class="row between wrap small muted">
        <span aria-live="polite">{sayStage(job)}</span>
        <Figures />
      </div>
      {isCutOff.value && <p class="small tag warn">{t("Connection lost, reconnecting")}</p>}
    </>
  );
}

/** Return what a job is at. */
function sayStage({ state }: Job): string {
  const stage = progress.value?.stage;
  return stage !== undefined && state !== "stopping"
    ? textOf(JOB_STAGES, stage)
    : textOf(JOB_STATES, state);
}

function Figures() {
  const reported = progress.value;
  if (!reported?.total) return null;
  const parts = [
    COUNTS_DOCUMENTS.has(reported.stage)
      ? t("{done} of {total} {total:document|documents}", {
          done: reported.done,
          total: reported.total,
        })
      : t("{shown} of {total}", { shown: reported.done, total: reported.total }),
    reported.chunks > 0 && t("{n} {n:passage|passages}", { n: reported.chunks }),
    reported.bytes < reported.bytesTotal &&
      t("{read} of {total} read", { read: size(reported.bytes), total: size(reported.bytesTotal) }),
    reported.failed > 0 && t("{n} could not be read", { n: reported.failed }),
    timeLeft(pace.value?.leftS ?? null),
  ];
  return <span class="number">{parts.filter(Boolean).join(" · ")}</span>;
}
