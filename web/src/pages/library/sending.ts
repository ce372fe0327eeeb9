/** What is being sent at the moment, and what became of the last upload. */

import { signal } from "@preact/signals";
import { isAborted } from "../../api/client";
import { addJob } from "../../state/jobs";
import { keep, recall } from "../../state/preferences";
import { type Chosen, sendFiles, splitFiles, type Upload } from "./files";

export interface Sent {
  workspace: string;
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
export const lastSent = signal<Sent | null>(null);
export const sendingError = signal<Error | null>(null);

/** Send files, a part at a time; with `index`, each part is indexed as soon as it is there. */
export async function sendAll(
  workspace: string,
  chosen: readonly Chosen[],
  { index }: { index: boolean },
): Promise<void> {
  if (underway.value || chosen.length === 0) return;
  const abort = new AbortController();
  const bytes = chosen.reduce((sum, { file }) => sum + file.size, 0);
  const base = { workspace, files: chosen.length, bytes, stop: () => abort.abort() };
  underway.value = { ...base, sent: 0 };
  sendingError.value = null;
  lastSent.value = null;
  let before = 0;
  const outcome: Sent = { workspace, taken: 0, refused: [] };
  try {
    for (const files of splitFiles(chosen)) {
      const onSent = (part: number) => {
        underway.value = { ...base, sent: Math.min(bytes, before + part) };
      };
      const upload = await sendFiles({ workspace, files, index, signal: abort.signal, onSent });
      before += files.reduce((sum, { file }) => sum + file.size, 0);
      outcome.taken += upload.files.length;
      outcome.refused = [...outcome.refused, ...upload.refused];
      if (upload.job) addJob(upload.job);
    }
  } catch (error) {
    if (!isAborted(error))
      sendingError.value = error instanceof Error ? error : new Error(String(error));
  } finally {
    underway.value = null;
    if (outcome.taken || outcome.refused.length) lastSent.value = outcome;
    if (outcome.taken && !index) setWaiting(workspace, countWaiting(workspace) + outcome.taken);
  }
}
