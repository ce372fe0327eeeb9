/** What is being sent at the moment, and what became of the last upload. */

import { signal } from "@preact/signals";
import { isAborted, isWaiting } from "../../api/client";
import { t } from "../../i18n";
import { announce } from "../../state/announcements";
import { call } from "../../state/calls";
import { renewed } from "../../state/connection";
import { focusSoon } from "../../state/focus";
import { addJob } from "../../state/jobs";
import { addressOf, go, page, workspace } from "../../state/location";
import { keep, recall } from "../../state/preferences";
import {
  current,
  loadWorkspaces,
  makeWorkspace,
  mayWrite,
  noteChange,
  workspaces,
} from "../../state/workspaces";
import { type Chosen, sendFiles, splitFiles, titleOf, type Upload } from "./files";

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

/** How many files of a workspace are sent, and wait for somebody to agree to the cost. */
export const waiting = signal<{ workspace: string; files: number }>({ workspace: "", files: 0 });

/** Return how many files of a workspace wait; kept over a reload of the page. */
export function countWaiting(workspace: string): number {
  if (waiting.value.workspace === workspace) return waiting.value.files;
  return Number(recall(`waiting.${workspace}`)) || 0;
}

/** Note how many files of a workspace wait. */
export function setWaiting(workspace: string, files: number): void {
  keep(`waiting.${workspace}`, files ? String(files) : null);
  waiting.value = { workspace, files };
}

export const underway = signal<Underway | null>(null);
export const sendingError = signal<Error | null>(null);

/** The name of the workspace with the sample. */
export const SAMPLE = "sample";

let last = Promise.resolve();

/** Take files into the workspace that is shown, or else into a new one that is named after them.
 *
 * Then show where questions are asked, or first what a model would cost.
 */
export async function addFiles(chosen: readonly Chosen[]): Promise<void> {
  if (chosen.length === 0) return;
  if (workspaces.value === null) await loadWorkspaces();
  const isHere = current.value !== null;
  if (isHere && !mayWrite.value) {
    announce(t.value.library.readOnly, "bad");
    return;
  }
  try {
    if (!isHere) go(addressOf(await makeWorkspace(titleOf(chosen)), "ask"));
    const target = workspace.value;
    const { model } = await call("get", "", { workspace: target });
    showWorkspace(target, { asks: !model });
    await sendAll(target, chosen, { index: !model });
  } catch (error) {
    if (isWaiting(error)) {
      await renewed();
      return addFiles(chosen);
    }
    sendingError.value = error instanceof Error ? error : new Error(String(error));
  }
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
  const { sampleTitle } = t.value.start;
  const target = current.value?.name ?? (await makeWorkspace(sampleTitle, SAMPLE));
  addJob(await call("post", "/sample", { workspace: target }), target);
  showWorkspace(target);
}

/** Send files after those that are on their way; with `index`, index each part once it is there. */
export function sendAll(
  workspace: string,
  chosen: readonly Chosen[],
  { index }: { index: boolean },
): Promise<void> {
  last = last.then(() => send(workspace, chosen, index));
  return last;
}

async function send(workspace: string, chosen: readonly Chosen[], index: boolean): Promise<void> {
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
    if (!isAborted(error))
      sendingError.value = error instanceof Error ? error : new Error(String(error));
  } finally {
    underway.value = null;
    if (outcome.taken && !index) setWaiting(workspace, countWaiting(workspace) + outcome.taken);
    noteChange(workspace);
    report(outcome);
  }
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
  const words = t.value.library;
  if (taken > 0) announce(words.taken(taken));
  if (refused.length > 0)
    announce(words.notTaken(refused.map(({ name }) => name).join(", ")), "bad");
}
