/** The jobs of the workspace that is shown, followed as they go. */

import { computed, effect, signal } from "@preact/signals";
import type { Shapes } from "../api/client";
import { followEvents, type ServerEvent } from "../api/events";
import { type Texts, t } from "../i18n";
import { say } from "../i18n/say";
import { announce } from "./announcements";
import { call } from "./calls";
import { renewal } from "./connection";
import { workspace } from "./location";
import { follow, type Pace, type Sample } from "./pace";
import { hear, tell } from "./tabs";
import { current, revision } from "./workspaces";

/** How a job is, and what it does, by the codes of the server. */
export const JOB_STATES: Texts = {
  queued: "Waiting",
  running: "Running",
  stopping: "Stopping",
  finished: "Finished",
  failed: "Failed",
  cancelled: "Cancelled",
};

export const JOB_KINDS: Texts = {
  index: "Index uploads",
  reindex: "Reindex",
  watch: "Update a watched folder",
  unfollow: "Remove a folder",
  delete: "Remove documents",
  communities: "Build communities",
  evaluate: "Evaluate",
  import_graph: "Import a graph",
};

export type Job = Shapes["JobShape"];

export interface Progress extends Sample {
  /** The file in progress, of which so many pages or seconds were read. */
  uri: string;
  part: number;
  parts: number;
  /** How much of it was read, from 0 to 1; 0 if that is unknown. */
  share: number;
  failed: number;
}

/** Progress before anything is known. */
const NOTHING: Progress = {
  ...{ seconds: 0, stage: "", uri: "", done: 0, total: 0, part: 0, parts: 0, share: 0 },
  ...{ chunks: 0, expected: 0, bytes: 0, bytesTotal: 0, failed: 0 },
};

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

/** No job reads files of the workspace, as far as is known. */
const isIdle = computed(() => jobs.value !== null && !isReading.value);
/** How many files of the workspace are in each state; null until that is known, or while jobs read. */
export const fileCounts = signal<Shapes["DocumentList"]["counts"] | null>(null);
/** How many files no job has read, 0 while jobs read files. */
export const unread = computed(() => fileCounts.value?.waiting ?? 0);

const SETTLE_MS = 2_000;
let settledAt = 0;

/** Ask for the jobs of the workspace again. */
export async function loadJobs(): Promise<void> {
  const asked = shown.peek();
  if (!asked) return;
  const listed = await call("get", "/jobs", { workspace: asked, query: { limit: 50 } });
  if (workspace.value !== asked) return;
  const before = jobs.peek();
  jobs.value = listed;
  const isKnown = (id: string) => before?.some((job) => job.id === id && !isOpen(job));
  const ended = before ? listed.filter((job) => !isOpen(job) && !isKnown(job.id)) : [];
  // Each tab sees the end of a job by itself, also of one that another tab has started.
  if (ended.length > 0) revision.value += 1;
  for (const told of ended.map(sayStopped)) if (told) announce(told);
}

/** Show a job that was just started, or has changed, by default in the workspace that is shown. */
export function addJob(job: Job, name: string = shown.peek()): void {
  tell("jobs", name);
  if (name !== shown.peek()) return;
  const others = (jobs.value ?? []).filter((known) => known.id !== job.id);
  jobs.value = [job, ...others];
}

/** Read what an event says of progress; fields that mean nothing at its stage are empty or missing. */
function readProgress(data: unknown): Progress {
  const given = data as Partial<Progress> & Partial<Record<string, number>>;
  const { before = 0, chunks_expected: expected = 0, bytes_total: bytesTotal = 0 } = given;
  const known = { ...NOTHING, ...given, expected, bytesTotal };
  // Files that have not changed are no work: they are not counted.
  return { ...known, done: known.done - before, total: known.total - before };
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

/** Return which file a job was reading when it was stopped, or nothing. */
export function sayStopped({ state, progress: { stage, uri } }: Job): string {
  if (state !== "cancelled" || stage !== "load" || typeof uri !== "string") return "";
  const name = uri.replace(/^uploads\//, "");
  return t("Stopped while reading {name}. Finished files are kept.", { name });
}

/** Return why a job failed, and what to do about it; nothing for others. */
export function sayFault({ error }: Job): string[] {
  return [error.message, error.fix].map((text) => (typeof text === "string" ? say(text) : ""));
}

/** Follow whichever job runs, for as long as the pages are open. */
export function startJobs(): void {
  const look = () => loadJobs().catch(() => undefined);
  hear("jobs", (name) => {
    if (name === shown.peek()) void look();
  });
  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState === "visible") void look();
  });
  effect(() => {
    jobs.value = null;
    if (shown.value) void look();
  });
  effect(() => {
    if (renewal.value) void look();
  });
  effect(() => {
    fileCounts.value = null;
    if (!shown.value || !isIdle.value || revision.value + renewal.value < 0) return;
    const abort = new AbortController();
    const asked = { workspace: shown.value, query: { limit: 1 }, signal: abort.signal };
    call("get", "/documents", asked).then(
      ({ counts }) => {
        fileCounts.value = counts;
      },
      () => undefined,
    );
    return () => abort.abort();
  });
  const followed = computed(() => {
    const job = currentJob.value;
    return job ? `${encodeURIComponent(shown.value)}/jobs/${job.id}` : "";
  });
  effect(() => {
    if (!followed.value) return;
    const abort = new AbortController();
    progress.value = null;
    pace.value = null;
    followEvents(`/api/v1/workspaces/${followed.value}/events`, {
      last: "end",
      signal: abort.signal,
      onEvent: note,
      onLost: (lost) => {
        isCutOff.value = lost;
      },
    }).then(look, look);
    return () => {
      abort.abort();
      isCutOff.value = false;
    };
  });
}
