import { Button } from "../../components/Button";
import { JobBar, sayStage } from "../../components/shell/JobsTray";
import { count, size, t, timeLeft } from "../../i18n";
import { call } from "../../state/calls";
import {
  addJob,
  currentJob,
  isCutOff,
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
  { name: "look", stages: ["discover"] },
  { name: "read", stages: ["load", "extract", "model", "embed", "store", "remove"] },
  { name: "names", stages: ["names", "descriptions"] },
  { name: "communities", stages: ["reports", "communities"] },
] as const;

const COUNTS_DOCUMENTS = new Set<string>([...STEPS[0].stages, ...STEPS[1].stages]);

/** The job that runs: its stage, how far, how fast, how long still, and a way to stop it. */
export function RunningJob() {
  const job = currentJob.value;
  if (!job) return null;
  const words = t.value.jobs;
  const reported = progress.value;
  const others = openJobs.value.length - 1;
  return (
    <section class="card stack tight" aria-labelledby="running-title">
      <div class="card-head">
        <h2 id="running-title">{words.kinds[job.kind] ?? job.kind}</h2>
        <div class="row">
          {others > 0 && <span class="tag">{words.moreWait(others)}</span>}
          {mayWrite.value && job.state !== "stopping" && (
            <Button
              label={words.stop}
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
      {isCutOff.value && <p class="small tag warn">{words.cutOff}</p>}
      {job.kind === "index" && <p class="small muted">{words.searchWorks}</p>}
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
  const words = t.value.jobs;
  const reported = progress.value;
  if (!reported?.total) return null;
  const parts = [
    COUNTS_DOCUMENTS.has(reported.stage)
      ? words.documents(reported.done, reported.total)
      : t.value.common.of(count(reported.done), count(reported.total)),
    reported.chunks > 0 && t.value.common.passages(reported.chunks),
    reported.bytes < reported.bytesTotal &&
      words.bytes(size(reported.bytes), size(reported.bytesTotal)),
    reported.failed > 0 && words.unread(reported.failed),
    timeLeft(pace.value?.leftS ?? null),
  ];
  return <span class="number">{parts.filter(Boolean).join(" · ")}</span>;
}

function Steps({ stage }: { stage: string }) {
  const words = t.value.jobs;
  // Only a model finds out which names mean one thing while it indexes.
  const steps = STEPS.filter(({ name, stages }) => name !== "names" || isAmong(stage, stages));
  const at = steps.findIndex(({ stages }) => isAmong(stage, stages));
  return (
    <ol class="job-steps">
      {steps.map(({ name }, index) => (
        <li
          key={name}
          class={index < at ? "done" : index === at ? "now" : ""}
          aria-current={index === at ? "step" : undefined}
        >
          {words.steps[name]}
        </li>
      ))}
    </ol>
  );
}

function isAmong(stage: string, stages: readonly string[]): boolean {
  return stages.includes(stage);
}
