/** The jobs of the workspace that is shown, followed as they go. */

import { computed, effect, signal } from "@preact/signals";
import { api, type Shapes, take } from "../api/client";
import { followEvents, type ServerEvent } from "../api/events";
import { workspace } from "./location";
import { type Pace, paceOf, type Sample, takeSample } from "./pace";
import { revision, workspaces } from "./workspaces";

export type Job = Shapes["JobShape"];

export interface Progress {
  stage: string;
  uri: string;
  done: number;
  total: number;
  chunks: number;
  /** Passages that are known of so far. */
  known: number;
  /** Bytes of the changed files that were read, of all of them. */
  bytes: number;
  bytesTotal: number;
  failed: number;
}

/** The newest first; null until they are known. */
export const jobs = signal<readonly Job[] | null>(null);
export const progress = signal<Progress | null>(null);
export const pace = signal<Pace | null>(null);
/** Whether the connection that reports progress is currently broken. */
export const isCutOff = signal(false);

const FINAL = new Set(["finished", "failed", "cancelled"]);

export function isOpen(job: Job): boolean {
  return !FINAL.has(job.state);
}

function isStarted(job: Job): boolean {
  return job.state === "running" || job.state === "stopping";
}

export const openJobs = computed(() => (jobs.value ?? []).filter(isOpen));
/** The one that runs, or comes next. */
export const currentJob = computed(
  () => openJobs.value.find(isStarted) ?? openJobs.value.at(-1) ?? null,
);

const READING = new Set(["index", "reindex", "watch"]);
/** Whether files of the workspace are being read: answers may lack what is in them. */
export const isReading = computed(() => openJobs.value.some(({ kind }) => READING.has(kind)));

/** The workspace that is shown, once it is known to be there. */
const shown = computed(() =>
  workspaces.value?.some(({ name }) => name === workspace.value) ? workspace.value : "",
);

let samples: readonly Sample[] = [];

/** Ask for the jobs of the workspace again. */
export async function loadJobs(): Promise<void> {
  const asked = shown.peek();
  if (!asked) return;
  const path = { workspace: asked };
  const listed = await take(
    api.GET("/api/v1/workspaces/{workspace}/jobs", { params: { path, query: { limit: 50 } } }),
  );
  if (workspace.value === asked) jobs.value = listed;
}

/** Show a job that was just started. */
export function addJob(job: Job): void {
  const others = (jobs.value ?? []).filter((known) => known.id !== job.id);
  jobs.value = [job, ...others];
}

/** Read what an event says of progress; empty fields are those of no meaning for its stage. */
export function readProgress(data: unknown): Progress {
  const given = (typeof data === "object" && data !== null ? data : {}) as Partial<Progress> & {
    chunks_known?: number;
    bytes_total?: number;
  };
  const { stage = "", uri = "", done = 0, total = 0, chunks = 0, bytes = 0, failed = 0 } = given;
  const known = given.chunks_known ?? 0;
  return {
    stage,
    uri,
    done,
    total,
    chunks,
    known,
    bytes,
    bytesTotal: given.bytes_total ?? 0,
    failed,
  };
}

function note(event: ServerEvent): void {
  if (event.name !== "progress") {
    if (event.name === "state") void loadJobs();
    return;
  }
  const reported = readProgress(event.data);
  // Stages that count nothing leave the counts of before standing.
  progress.value = reported.total
    ? reported
    : { ...(progress.value ?? reported), stage: reported.stage };
  samples = takeSample(samples, {
    at: performance.now(),
    done: reported.done,
    stage: reported.stage,
  });
  pace.value = paceOf(samples, reported.total);
}

/** Follow whichever job runs, for as long as the pages are open. */
export function startJobs(): void {
  effect(() => {
    jobs.value = null;
    if (!shown.value) return;
    loadJobs().catch(() => {
      jobs.value = [];
    });
  });
  const followed = computed(() => {
    const job = currentJob.value;
    return job ? `${encodeURIComponent(shown.value)}/jobs/${job.id}` : "";
  });
  effect(() => {
    if (!followed.value) return;
    const abort = new AbortController();
    samples = [];
    progress.value = null;
    pace.value = null;
    followEvents(`/api/v1/workspaces/${followed.value}/events`, {
      last: "end",
      signal: abort.signal,
      onEvent: note,
      onLost: (lost) => {
        isCutOff.value = lost;
      },
    })
      .then(loadJobs)
      .then(() => {
        revision.value += 1;
      })
      .catch(() => loadJobs().catch(() => undefined));
    return () => {
      abort.abort();
      isCutOff.value = false;
    };
  });
}
