/** What is being sent at the moment, and what became of the last upload. */

import { effect, signal } from "@preact/signals";
import { asError, isAborted, isWaiting } from "../../api/client";
import { t } from "../../i18n";
import { announce } from "../../state/announcements";
import { call } from "../../state/calls";
import { renewed } from "../../state/connection";
import { focusSoon } from "../../state/focus";
import { addJob, jobs, openJobs } from "../../state/jobs";
import { addressOf, go, NEW, page, workspace } from "../../state/location";
import {
  current,
  loadWorkspaces,
  makeWorkspace,
  mayWrite,
  noteChange,
  removeWorkspace,
  renameWorkspace,
  workspaces,
} from "../../state/workspaces";
import {
  type Chosen,
  likelyDocuments,
  nameApart,
  sendFiles,
  splitFiles,
  titleOf,
  type Upload,
} from "./files";
import { fileName, listAll, type Query } from "./listing";

interface Sent {
  taken: number;
  refused: Upload["refused"];
}

export interface Underway {
  workspace: string;
  files: number;
  bytes: number;
  sent: number;
  stop: () => void;
}

export const underway = signal<Underway | null>(null);
export const sendingError = signal<Error | null>(null);

/** The name of the workspace with the sample. */
export const SAMPLE = "sample";

let last: Promise<unknown> = Promise.resolve();

/** Take files into the workspace that is shown, or else into a new one that is named after them.
 *
 * Then show where questions are asked, or first what a model would cost.
 */
export async function addFiles(given: readonly Chosen[]): Promise<void> {
  if (given.length === 0) return;
  const chosen = nameApart(given);
  if (workspaces.value === null) await loadWorkspaces();
  const isHere = current.value !== null;
  if (isHere && !mayWrite.value) {
    announce(t("Your key may only read here, so no files were added."), "bad");
    return;
  }
  try {
    const likely = isHere ? [] : await likelyDocuments(chosen);
    const title = titleOf(likely.length > 0 ? likely : chosen);
    if (!isHere) go(addressOf(await makeWorkspace(title), "ask"));
    const target = workspace.value;
    const { model } = await call("get", "", { workspace: target });
    showWorkspace(target, { asks: !model });
    const sent = await sendAll(target, chosen, { index: !model });
    if (!isHere) await nameByTaken(target, title, chosen, sent);
  } catch (error) {
    if (isWaiting(error)) {
      await renewed();
      return addFiles(given);
    }
    sendingError.value = asError(error);
  }
}

/** Name a new workspace by the files that were taken and read; without any, remove it. */
async function nameByTaken(
  name: string,
  title: string,
  chosen: readonly Chosen[],
  { taken, refused }: Sent,
): Promise<void> {
  if (taken === 0) {
    await removeWorkspace(name);
    if (workspace.peek() === name) go(NEW, { replace: true });
    return;
  }
  const rename = async (out: ReadonlySet<string>) => {
    const left = titleOf(chosen.filter((one) => !out.has(one.name)));
    const isOurs = workspaces.peek()?.some((known) => known.name === name && known.title === title);
    if (left && left !== title && isOurs) await renameWorkspace(left, name);
  };
  const out = new Set(refused.map((one) => one.name));
  if (!jobs.peek()?.length) return rename(out);
  await whenIdle(name);
  const query: Query = { name: "", tag: "", state: "failed", sort: "uri" };
  const failed = await listAll(name, query);
  await rename(new Set([...out, ...failed.map(fileName)]));
}

/** Wait until no job of a workspace runs, or another one is shown. */
function whenIdle(name: string): Promise<void> {
  return new Promise((resolve) => {
    const stop = effect(() => {
      if (workspace.value === name && (jobs.value === null || openJobs.value.length > 0)) return;
      queueMicrotask(() => stop());
      resolve();
    });
  });
}

/** Show the page of a workspace where questions are asked, unless its library is open. */
export function showWorkspace(name: string, { asks = true } = {}): void {
  const isHere = workspace.value === name;
  if (asks && isHere && page.value === "library") return;
  if (!asks) go(addressOf(name, "library"));
  else {
    if (!isHere || page.value !== "ask") go(addressOf(name, "ask"));
    focusSoon("question");
  }
}

/** Index the sample in the workspace that is shown, or else in one of its own. Throws ApiError. */
export async function trySample(): Promise<void> {
  const target = current.value?.name ?? (await makeWorkspace(t("Sample"), SAMPLE));
  addJob(await call("post", "/sample", { workspace: target }), target);
  showWorkspace(target);
}

/** Send files after those that are on their way; with `index`, index each part once it is there. */
export function sendAll(
  workspace: string,
  chosen: readonly Chosen[],
  { index }: { index: boolean },
): Promise<Sent> {
  const sent = last.then(() => send(workspace, chosen, index));
  last = sent;
  return sent;
}

async function send(workspace: string, chosen: readonly Chosen[], index: boolean): Promise<Sent> {
  const abort = new AbortController();
  const bytes = chosen.reduce((sum, { file }) => sum + file.size, 0);
  const base = { workspace, files: chosen.length, bytes, stop: () => abort.abort() };
  underway.value = { ...base, sent: 0 };
  sendingError.value = null;
  let before = 0;
  const outcome: Sent = { taken: 0, refused: [] };
  try {
    for (const files of splitFiles(chosen)) {
      const onSent = (part: number) => {
        underway.value = { ...base, sent: Math.min(bytes, before + part) };
      };
      const sending = { workspace, files, index, signal: abort.signal, onSent };
      const upload = await sendUntilTaken(sending);
      before += files.reduce((sum, { file }) => sum + file.size, 0);
      outcome.taken += upload.files.length;
      outcome.refused = [...outcome.refused, ...upload.refused];
      if (upload.job) addJob(upload.job, workspace);
    }
  } catch (error) {
    if (!isAborted(error)) sendingError.value = asError(error);
  } finally {
    underway.value = null;
    noteChange(workspace);
    report(outcome);
  }
  return outcome;
}

/** Send files, again and again while the server is away. A file that was taken is replaced. */
async function sendUntilTaken(sending: Parameters<typeof sendFiles>[0]): Promise<Upload> {
  const { signal } = sending;
  const stopped = new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
  for (;;) {
    try {
      return await sendFiles(sending);
    } catch (error) {
      if (!isWaiting(error)) throw error;
      await Promise.race([renewed(), stopped]);
      signal.throwIfAborted();
    }
  }
}

function report({ taken, refused }: Sent): void {
  if (taken > 0) announce(t("{n} {n:file was|files were} added.", { n: taken }));
  if (refused.length > 0)
    announce(
      t("Not added: {names}. The library says why.", {
        names: refused.map(({ name }) => name).join(", "),
      }),
      "bad",
    );
}
