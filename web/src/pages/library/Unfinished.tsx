import { Button } from "../../components/Button";
import { t, textOf } from "../../i18n";
import { call } from "../../state/calls";
import {
  addJob,
  JOB_KINDS,
  JOB_STATES,
  type Job,
  jobs,
  openJobs,
  READING,
  sayFault,
  sayStopped,
  unread,
} from "../../state/jobs";
import { linkTo } from "../../state/location";
import { mayWrite } from "../../state/workspaces";

/** Run a job that was stopped or has failed again: what is done is kept. Throws ApiError. */
export async function runAgain({ id }: Job): Promise<void> {
  addJob(await call("post", "/jobs/{job}/retry", { job: id }));
}

async function readUploads(): Promise<void> {
  addJob(await call("post", "/index", { body: { budget: "", retry: false } }));
}

interface UnfinishedProps {
  /** The language model that reads, whose cost is estimated before. */
  model: string;
  class: string;
}

/** What was stopped, has failed or was not begun, and a way to go on; nothing while a job runs. */
export function Unfinished({ model, class: kind }: UnfinishedProps) {
  const last = openJobs.value.length === 0 ? jobs.value?.[0] : undefined;
  const ended = last?.state === "cancelled" || last?.state === "failed" ? last : undefined;
  const isOfFiles = ended === undefined || READING.has(ended.kind);
  if (!ended && unread.value === 0) return null;
  if (ended?.kind === "evaluate") return null;
  const told = [
    ended && `${textOf(JOB_KINDS, ended.kind)}: ${textOf(JOB_STATES, ended.state, "")}.`,
    ended && sayStopped(ended),
    ended && sayFault(ended)[0],
    unread.value > 0 && t("{n} {n:file has|files have} not been read yet.", { n: unread.value }),
  ];
  const goOn = ended ? () => runAgain(ended) : readUploads;
  return (
    <section class={`row between wrap ${kind}`} aria-label={t("Unfinished work")}>
      <p class="grow break">{told.filter(Boolean).join(" ")}</p>
      {model && unread.value > 0 && isOfFiles ? (
        <a href={linkTo("library")}>{t("Go to the library")}</a>
      ) : (
        mayWrite.value && <Button label={t("Continue")} icon="play" onClick={goOn} />
      )}
    </section>
  );
}
