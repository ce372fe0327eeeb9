import { Button } from "../../components/Button";
import { t, textOf } from "../../i18n";
import { say } from "../../i18n/say";
import { call } from "../../state/calls";
import {
  addJob,
  JOB_KINDS,
  JOB_STATES,
  type Job,
  jobs,
  openJobs,
  READING,
  stoppedAt,
} from "../../state/jobs";
import { linkTo } from "../../state/location";
import { mayWrite } from "../../state/workspaces";
import { useUnread } from "./listing";

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
  const unread = useUnread();
  const last = openJobs.value.length === 0 ? jobs.value?.[0] : undefined;
  const ended = last?.state === "cancelled" || last?.state === "failed" ? last : undefined;
  const isOfFiles = ended === undefined || READING.has(ended.kind);
  if (!ended && unread === 0) return null;
  if (ended?.kind === "evaluate") return null;
  const message = ended?.error.message;
  const told = [
    ended && `${textOf(JOB_KINDS, ended.kind)}: ${textOf(JOB_STATES, ended.state, "")}.`,
    ended &&
      stoppedAt(ended) &&
      t("Stopped while reading {name}. Finished files are kept.", { name: stoppedAt(ended) }),
    typeof message === "string" && say(message),
    unread > 0 && t("{n} {n:file has|files have} not been read yet.", { n: unread }),
  ];
  const goOn = ended ? () => runAgain(ended) : readUploads;
  return (
    <section class={`row between wrap ${kind}`} aria-label={t("Unfinished work")}>
      <p class="grow break">{told.filter(Boolean).join(" ")}</p>
      {model && unread > 0 && isOfFiles ? (
        <a href={linkTo("library")}>{t("Go to the library")}</a>
      ) : (
        mayWrite.value && <Button label={t("Continue")} icon="play" onClick={goOn} />
      )}
    </section>
  );
}
