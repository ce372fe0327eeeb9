import { Button } from "../../components/Button";
import { Card } from "../../components/Section";
import { JobProgress } from "../../components/shell/JobsTray";
import { type Texts, t, textOf } from "../../i18n";
import { call } from "../../state/calls";
import { addJob, currentJob, JOB_KINDS, openJobs, progress } from "../../state/jobs";
import { mayWrite } from "../../state/workspaces";
import { sayPart } from "./FileState";
import { fileName } from "./listing";

/** The steps of an indexing job, each with the stages that the server reports. */
const STEPS: readonly { title: Texts[string]; stages: readonly string[] }[] = [
  { title: "Scan", stages: ["discover"] },
  { title: "Read and index", stages: ["load", "extract", "model", "embed", "store", "remove"] },
  { title: "Merge entities", stages: ["names", "descriptions"] },
  { title: "Communities", stages: ["reports", "communities"] },
];

/** The job that runs: its stage, how far, how fast, how long still, and a way to stop it. */
export function RunningJob() {
  const job = currentJob.value;
  if (!job) return null;
  const reported = progress.value;
  const others = openJobs.value.length - 1;
  return (
    <Card
      class="stack tight"
      title={textOf(JOB_KINDS, job.kind)}
      side={
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
      }
    >
      {["index", "reindex", "watch"].includes(job.kind) && <Steps stage={reported?.stage ?? ""} />}
      <JobProgress job={job} />
      {reported?.uri && (
        <p class="small faint clip">
          {[fileName({ uri: reported.uri, uploaded: true }), sayPart(reported)]
            .filter(Boolean)
            .join(" · ")}
        </p>
      )}
      {job.kind === "index" && (
        <p class="small muted">
          {t(
            "You can already search and ask about what is indexed. If you stop, finished work is kept.",
          )}
        </p>
      )}
    </Card>
  );
}

function Steps({ stage }: { stage: string }) {
  // Only a model finds out which names mean one thing while it indexes.
  const steps = STEPS.filter((step) => step !== STEPS[2] || step.stages.includes(stage));
  const at = steps.findIndex(({ stages }) => stages.includes(stage));
  return (
    <ol class="row wrap small faint job-steps">
      {steps.map(({ title }, index) => (
        <li
          key={title}
          class={index < at ? "muted" : ""}
          aria-current={index === at ? "step" : undefined}
        >
          {t(title)}
        </li>
      ))}
    </ol>
  );
}
