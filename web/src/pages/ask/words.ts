/** What the page says in words of its own. */

import { t } from "../../i18n";
import { currentJob, progress, READING } from "../../state/jobs";
import { AGENT } from "./runs";

/** The ways to search that are offered first; the empty one is what the server chooses. */
export const USUAL = ["", "bm25", "dense", "graph"];

export const AGENTS = ["iterative", "corrective", "reasoning", "revising"].map(
  (kind) => `${AGENT}${kind}`,
);

/** Return the plain name of a retriever or agent; that of a plugin or composition is its own. */
export function sayRetriever(name: string): string {
  return t.value.ask.retrievers[name] ?? name;
}

/** Say how many of the files that are being read can be asked about. */
export function sayReady(): string {
  const isReading = READING.has(currentJob.value?.kind ?? "");
  const { done = 0, total = 0 } = (isReading && progress.value) || {};
  return total > 0 ? t.value.ask.ready(done, total) : t.value.ask.stillReading;
}
