/** What the address says of questions: what is asked, and what is open beside the answer. */

import { useEffect, useState } from "preact/hooks";
import { asked, setQuery } from "../../state/location";
import { changedAt } from "./facts";
import { addToHistory, restoreRun, turnsBefore } from "./history";
import type { Place } from "./path";
import type { Wanted } from "./QuestionBox";
import { openRun, type Question, type Run } from "./runs";

/** How a run that is not there is found or begun. */
export const WAYS = { restore: restoreRun, before: turnsBefore, onDone: addToHistory, changedAt };

/** Return what the address asks. */
export function readWanted(): Wanted {
  return {
    text: asked("q").trim(),
    retriever: asked("r"),
    mode: asked("mode") || "auto",
    usesModel: asked("model") !== "off",
    after: asked("after").trim(),
    filter: asked("where").trim(),
    compared: asked("vs").split(",").filter(Boolean),
  };
}

/** Return the runs of what the address asks: one, or one for each retriever that is compared. */
export function useRuns(here: string, wanted: Wanted): readonly Run[] {
  const { text, retriever, mode, usesModel, after, filter, compared } = wanted;
  const ways = [retriever, mode, usesModel, after, filter, compared];
  const key = JSON.stringify([here, text, ...ways, asked("turn")]);
  const [opened, setOpened] = useState<{ key: string; runs: readonly Run[] }>({
    key: "",
    runs: [],
  });
  useEffect(() => {
    const base: Question = { workspace: here, text, retriever, mode, usesModel, after, filter };
    const names = compared.length > 1 ? compared : [retriever];
    const runs = text ? names.map((name) => openRun({ ...base, retriever: name }, WAYS)) : [];
    setOpened({ key, runs });
  }, [key]);
  return opened.key === key ? opened.runs : [];
}

export interface Open extends Place {
  /** The number of the citation, and of how many; 0 for another passage. */
  number: number;
  of: number;
}

/** Return what the address says is open beside the answer. */
export function readPlace(runs: readonly Run[]): Open | null {
  const number = Number(asked("cite"));
  const citations = (runs.length === 1 && runs[0]?.answer.value?.citations) || [];
  const citation = citations.find((known) => known.number === number);
  if (citation) {
    const [start = 0, end = 0] = citation.span;
    return { document: citation.document_id, start, end, number, of: citations.length };
  }
  const match = /^([^:]+):(\d+):(\d+)$/.exec(asked("at"));
  if (!match) return null;
  return {
    document: match[1] ?? "",
    start: Number(match[2]),
    end: Number(match[3]),
    number: 0,
    of: 0,
  };
}

/** Show the answer alone again. */
export function closeReader(): void {
  setQuery({ cite: null, at: null });
}

/** Go to the citation after or before the one that is open; round at the ends. */
export function stepCitation(run: Run | undefined, step: 1 | -1): void {
  const citations = run?.answer.peek()?.citations ?? [];
  if (citations.length === 0) return;
  const at = citations.findIndex(({ number }) => number === Number(asked("cite")));
  const next = at < 0 ? (step > 0 ? 0 : citations.length - 1) : at + step + citations.length;
  setQuery(
    { cite: citations[next % citations.length]?.number ?? null, at: null },
    { replace: at >= 0 },
  );
}
