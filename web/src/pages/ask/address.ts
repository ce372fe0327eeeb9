/** What the address says of questions: the thread, how to search, and what is open beside it. */

import { asked, askedPart, type Query, setQuery } from "../../state/location";
import type { Citation, Question, Run } from "./runs";

/** How questions are answered. */
export interface Choice extends Pick<Question, "retriever" | "mode" | "usesModel" | "filter"> {
  /** Two or three retrievers to compare; fewer compare none. */
  compared: readonly string[];
}

/** Return the choice of the address. */
export function readChoice(): Choice {
  return {
    retriever: asked("r"),
    mode: asked("mode") || "auto",
    usesModel: asked("model") !== "off",
    filter: asked("where").trim(),
    compared: asked("vs").split(",").filter(Boolean),
  };
}

/** Return what an address says of a choice. */
export function queryOf({ retriever, mode, usesModel, filter, compared }: Choice): Query {
  return {
    r: retriever,
    mode: mode === "auto" ? "" : mode,
    model: usesModel ? "" : "off",
    where: filter,
    vs: compared.length > 1 ? compared.join(",") : "",
  };
}

/** Where a passage is: what a click on it opens. */
export interface Place {
  document: string;
  start: number;
  end: number;
}

/** A passage, as the server describes citations and hits. */
export interface Passage {
  document_id: string;
  span: readonly number[];
}

export function placeOf({ document_id: document, span: [start = 0, end = 0] }: Passage): Place {
  return { document, start, end };
}

export interface Open extends Place {
  /** The citation, if it is one, and of how many. */
  citation?: Citation;
  of: number;
}

/** Return the run whose citations the address means: that of a turn, or the last one. */
export function runOfAddress(runs: readonly Run[]): Run | undefined {
  return runs[Number(asked("turn")) - 1] ?? runs.at(-1);
}

/** Return what the address says is open beside the thread. */
export function readPlace(runs: readonly Run[]): Open | null {
  const citations = runOfAddress(runs)?.answer.value?.citations ?? [];
  const citation = citations.find(({ number }) => number === Number(asked("cite")));
  if (citation) return { ...placeOf(citation), citation, of: citations.length };
  const part = askedPart();
  return part && { ...part, of: 0 };
}

/** Show a citation of a turn, which is counted from 1. */
export function openCitation(turn: number, number: number): void {
  setQuery({ turn, cite: number, at: null });
}

/** Show another passage. */
export function openPlace({ document, start, end }: Place): void {
  setQuery({ turn: null, cite: null, at: `${document}:${start}:${end}` });
}

/** Show the thread alone again. */
export function closeReader(): void {
  setQuery({ turn: null, cite: null, at: null });
}

/** Go to the citation after or before the one that is open; round at the ends. */
export function stepCitation(runs: readonly Run[], step: 1 | -1): void {
  const run = runOfAddress(runs);
  const citations = run?.answer.peek()?.citations ?? [];
  if (!run || citations.length === 0) return;
  const at = citations.findIndex(({ number }) => number === Number(asked("cite")));
  const next = at < 0 ? (step > 0 ? 0 : citations.length - 1) : at + step + citations.length;
  const cite = citations[next % citations.length]?.number ?? null;
  setQuery({ turn: runs.indexOf(run) + 1, cite, at: null }, { replace: at >= 0 });
}
