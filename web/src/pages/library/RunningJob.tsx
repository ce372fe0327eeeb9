import { api, take } from "../../api/client";
import { Button } from "../../components/Button";
import { Progress } from "../../components/Progress";
import { count, decimal, duration, t } from "../../i18n";
import {
  addJob,
  currentJob,
  isCutOff,
  type Job,
  openJobs,
  pace,
  progress,
  type Progress as Reported,
} from "../../state/jobs";
import { workspace } from "../../state/location";
import { mayWrite } from "../../state/workspaces";

/** The steps of an indexing job, each with the stages that the server reports. */
const STEPS = [
  { name: "look", stages: ["discover"] },
  { name: "read", stages: ["load", "extract", "embed", "store", "remove"] },
  { name: "names", stages: ["names", "descriptions"] },
  { name: "communities", stages: ["reports", "communities"] },
] as const;

const MEGABYTE = 1_000_000;
const COUNTS_DOCUMENTS = new Set<string>([...STEPS[0].stages, ...STEPS[1].stages]);

/** The job that runs: its stage, how far, how fast, how long still, and a way to stop it. */
export function RunningJob() {
  const job = currentJob.value;
  if (!job) return null;
  const words = t.value.jobs;
  const reported = progress.value;
  const isStopping = job.state === "stopping";
  const stage =
    reported && !isStopping
      ? (words.stages[reported.stage] ?? reported.stage)
      : (words.states[job.state] ?? "");
  const others = openJobs.value.length - 1;
  return (
    <section class="card running" aria-labelledby="running-title">
      <div class="card-head">
        <h2 id="running-title">{words.kinds[job.kind] ?? job.kind}</h2>
        <div class="row">
          {others > 0 && <span class="tag">{words.moreWait(others)}</span>}
          {mayWrite.value && !isStopping && (
            <Button icon="stop" onClick={() => cancel(job)}>
              {words.stop}
            </Button>
          )}
        </div>
      </div>
      {["index", "reindex", "watch"].includes(job.kind) && <Steps stage={reported?.stage ?? ""} />}
      <Bar label={stage} />
      <div class="row between wrap small muted">
        <span aria-live="polite">{stage}</span>
        <Figures />
      </div>
      {reported?.uri && (
        <p class="small faint clip" title={reported.uri}>
          {reported.uri}
        </p>
      )}
      {isCutOff.value && <p class="small tag warn">{words.cutOff}</p>}
      {job.kind === "index" && <p class="small muted">{words.searchWorks}</p>}
    </section>
  );
}

/** Documents that are done; passages or bytes, as long as no document is. */
function Bar({ label }: { label: string }) {
  const [done, total] = progress.value ? measure(progress.value) : [0, 0];
  return <Progress done={done} total={total} label={label} />;
}

function measure(reported: Reported): readonly [number, number] {
  if (reported.done > 0) return [reported.done, reported.total];
  if (reported.known > 0) return [reported.chunks, reported.known];
  if (reported.bytes > 0) return [reported.bytes, reported.bytesTotal];
  return [0, reported.uri ? 0 : reported.total];
}

function Figures() {
  const words = t.value.jobs;
  const reported = progress.value;
  if (!reported?.total) return null;
  const speed = pace.value;
  const parts = [
    COUNTS_DOCUMENTS.has(reported.stage)
      ? words.documents(reported.done, reported.total)
      : t.value.common.of(count(reported.done), count(reported.total)),
    reported.chunks > 0 &&
      words.passages(reported.chunks, reported.known > reported.chunks ? reported.known : 0),
    reported.bytesTotal > MEGABYTE &&
      words.megabytes(megabytes(reported.bytes), megabytes(reported.bytesTotal)),
    reported.failed > 0 && words.unread(reported.failed),
    speed && words.rate(decimal(speed.rate, speed.rate < 10 ? 1 : 0)),
    speed && words.left(duration(speed.leftS)),
  ];
  return <span class="number">{parts.filter(Boolean).join(" · ")}</span>;
}

function megabytes(bytes: number): string {
  return decimal(bytes / MEGABYTE, 1);
}

function Steps({ stage }: { stage: string }) {
  const words = t.value.jobs;
  // Only a model finds out which names mean one thing while it indexes.
  const steps = STEPS.filter(({ name, stages }) => name !== "names" || isAmong(stage, stages));
  const at = steps.findIndex(({ stages }) => isAmong(stage, stages));
  return (
    <ol class="steps">
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

async function cancel(job: Job): Promise<void> {
  const path = { workspace: workspace.value, job: job.id };
  addJob(
    await take(api.POST("/api/v1/workspaces/{workspace}/jobs/{job}/cancel", { params: { path } })),
  );
}
