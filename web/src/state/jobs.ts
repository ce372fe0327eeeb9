/** The jobs of the workspace that is shown, followed as they go. */

import { computed, effect, signal } from "@preact/signals";
import { api, type Shapes, take } from "../api/client";
import { followEvents, type ServerEvent } from "../api/events";
import { t } from "../i18n";
import { announce } from "./announcements";
import { renewal } from "./connection";
import { workspace } from "./location";
import { follow, type Pace, type Sample } from "./pace";
import { hear, tell } from "./tabs";
import { current, revision } from "./workspaces";

export type Job = Shapes["JobShape"];

export interface Progress extends Sample {
  /** The file in progress, of which so many pages or seconds were read. */
  uri: string;
  part: number;
  parts: number;
  /** How much of it was read, from 0 to 1; 0 if that is unknown. */
  share: number;
  /** Passages that are known of so far. */
  known: number;
  failed: number;
}

/** The newest first; null until they are known. */
export const jobs = signal<readonly Job[] | null>(null);
export const progress = signal<Progress | null>(null);
export const pace = signal<Pace | null>(null);
/** Counts up while a job finishes files, every few seconds at most: lists load again. */
export const settled = signal(0);
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

export const READING = new Set(["index", "reindex", "watch"]);
/** Whether files of the workspace are being read: answers may lack what is in them. */
export const isReading = computed(() => openJobs.value.some(({ kind }) => READING.has(kind)));

/** The workspace that is shown, once it is known to be there. */
const shown = computed(() => current.value?.name ?? "");

const SETTLE_MS = 2_000;
let settledAt = 0;

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

/** Show a job that was just started, or has changed, by default in the workspace that is shown. */
export function addJob(job: Job, name: string = shown.peek()): void {
  tell("jobs", name);
  if (name !== shown.peek()) return;
  const others = (jobs.value ?? []).filter((known) => known.id !== job.id);
  jobs.value = [job, ...others];
}

/** Read what an event says of progress; empty fields are those of no meaning for its stage. */
export function readProgress(data: unknown): Progress {
  const given = (typeof data === "object" && data !== null ? data : {}) as Record<string, unknown>;
  const number = (name: string) => (typeof given[name] === "number" ? given[name] : 0);
  const text = (name: string) => (typeof given[name] === "string" ? given[name] : "");
  // Files that have not changed are no work: they are not counted.
  const before = number("before");
  return {
    seconds: number("seconds"),
    stage: text("stage"),
    uri: text("uri"),
    done: number("done") - before,
    total: number("total") - before,
    part: number("part"),
    parts: number("parts"),
    share: number("share"),
    chunks: number("chunks"),
    known: number("chunks_known"),
    expected: number("chunks_expected"),
    bytes: number("bytes"),
    bytesTotal: number("bytes_total"),
    failed: number("failed"),
  };
}

function note(event: ServerEvent): void {
  if (event.name !== "progress") {
    if (event.name === "state") void loadJobs();
    return;
  }
  const reported = readProgress(event.data);
  const before = progress.value;
  // Stages that count nothing leave the counts of before standing.
  progress.value = reported.total ? reported : { ...(before ?? reported), stage: reported.stage };
  pace.value = follow(pace.value, reported);
  const now = performance.now();
  if (reported.done !== before?.done && now - settledAt > SETTLE_MS) {
    settledAt = now;
    settled.value += 1;
  }
}

/** Return the file that a job was reading when it was stopped, or nothing. */
export function stoppedAt({ state, progress: { stage, uri } }: Job): string {
  if (state !== "cancelled" || stage !== "load" || typeof uri !== "string") return "";
  return uri.replace(/^uploads\//, "");
}

/** Follow whichever job runs, for as long as the pages are open. */
export function startJobs(): void {
  const look = () => loadJobs().catch(() => undefined);
  hear("jobs", (name) => {
    if (name === shown.peek()) void look();
  });
  effect(() => {
    jobs.value = null;
    if (shown.value) void look();
  });
  effect(() => {
    if (renewal.value) void look();
  });
  const followed = computed(() => {
    const job = currentJob.value;
    return job ? `${encodeURIComponent(shown.value)}/jobs/${job.id}` : "";
  });
  effect(() => {
    if (!followed.value) return;
    const abort = new AbortController();
    const id = currentJob.peek()?.id;
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
        const job = jobs.value?.find((known) => known.id === id);
        const name = job && stoppedAt(job);
        if (name) announce(t.value.jobs.stoppedAt(name));
      })
      .catch(look);
    return () => {
      abort.abort();
      isCutOff.value = false;
    };
  });
}
