import { Button } from "../../components/Button";
import { JobBar, sayStage } from "../../components/shell/JobsTray";
import { size, t, textOf, timeLeft } from "../../i18n";
import { call } from "../../state/calls";
import {
  addJob,
  currentJob,
  isCutOff,
  JOB_KINDS,
  openJobs,
  pace,
  progress,
  type Progress as Reported,
} from "../../state/jobs";
import { mayWrite } from "../../state/workspaces";
import { sayPart } from "./FileState";
import { fileName } from "./listing";

/** The steps of an indexing job, each with the stages that the server reports. */
const STEPS = [
  { title: "Scan", stages: ["discover"] },
  { title: "Read and index", stages: ["load", "extract", "model", "embed", "store", "remove"] },
  { title: "Merge entities", stages: ["names", "descriptions"] },
  { title: "Communities", stages: ["reports", "communities"] },
] as const;

const COUNTS_DOCUMENTS = new Set<string>([...STEPS[0].stages, ...STEPS[1].stages]);

/** The job that runs: its stage, how far, how fast, how long still, and a way to stop it. */
export function RunningJob() {
  const job = currentJob.value;
  if (!job) return null;
  const reported = progress.value;
  const others = openJobs.value.length - 1;
  return (
    <section class="card stack tight" aria-labelledby="running-title">
      <div class="card-head">
        <h2 id="running-title">{textOf(JOB_KINDS, job.kind)}</h2>
        <div class="row">
          {others > 0 && <span class="tag">{t("{n} more queued", { n: others })}</span>}
          {mayWrite.value && job.state !== "stopping" && (
            <Button
              label={t("Stop")}
              icon="stop"
              onClick={async () =>
                addJob(await call("post", "/jobs/{job}/cancel", { job: job.id }))
              }
            />
          )}
        </div>
      </div>
      {["index", "reindex", "watch"].includes(job.kind) && <Steps stage={reported?.stage ?? ""} />}
      <JobBar job={job} />
      <div class="row between wrap small muted">
        <span aria-live="polite">{sayStage(job)}</span>
        <Figures />
      </div>
      {reported?.uri && <FileInProgress reported={reported} />}
      {isCutOff.value && <p class="small tag warn">{t("Connection lost, reconnecting")}</p>}
      {job.kind === "index" && (
        <p class="small muted">
          {t(
            "You can already search and ask about what is indexed. If you stop, finished work is kept.",
          )}
        </p>
      )}
    </section>
  );
}

/** The file that is read, and how far. */
function FileInProgress({ reported }: { reported: Reported }) {
  const name = fileName({ uri: reported.uri, uploaded: true });
  const part = sayPart(reported);
  return (
    <p class="small faint clip" title={name}>
      {name}
      {part && ` · ${part}`}
    </p>
  );
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

function Steps({ stage }: { stage: string }) {
  // Only a model finds out which names mean one thing while it indexes.
  const steps = STEPS.filter((step) => step !== STEPS[2] || isAmong(stage, step.stages));
  const at = steps.findIndex(({ stages }) => isAmong(stage, stages));
  return (
    <ol class="job-steps">
      {steps.map(({ title }, index) => (
        <li
          key={title}
          class={index < at ? "done" : index === at ? "now" : ""}
          aria-current={index === at ? "step" : undefined}
        >
          {t(title)}
        </li>
      ))}
    </ol>
  );
}

function isAmong(stage: string, stages: readonly string[]): boolean {
  return stages.includes(stage);
}
