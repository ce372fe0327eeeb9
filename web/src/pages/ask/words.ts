/** What the page says in words of its own. */

import { type Texts, t, textOf } from "../../i18n";
import { currentJob, progress, READING } from "../../state/jobs";
import { AGENT } from "./runs";

export const VERDICTS = {
  found: "Found in the text",
  likely: "Likely, check the source",
  absent: "Not in your files",
} as const;

/** How an answer is written, by the codes of the server. */
export const MODES: Texts = {
  auto: "automatic",
  basic: "from passages",
  local: "around named entities",
  global: "from the most relevant reports",
  "map-reduce": "from all reports",
  hybrid: "local and global",
  drift: "from reports down to passages",
};

const RETRIEVERS: Texts = {
  "": "Automatic",
  bm25: "Keywords",
  dense: "Meaning",
  graph: "Connections",
  hybrid: "Keywords and meaning",
  questions: "Answered questions",
  pagerank: "PageRank",
  explore: "Walk along relations",
  entity_vectors: "Similar entities",
  graph_vector: "Meaning and nearby entities",
  ontology: "Ontology",
  drill_down: "From communities to passages",
  communities: "Community reports",
  sentence_window: "Sentence window",
  siblings: "Neighbouring passages",
  parent_child: "Larger passages",
  bottom_up: "Whole sections",
  top_down: "From documents to passages",
  summaries: "Summaries",
  paths: "Paths of relations",
  cypher_templates: "Cypher templates",
  dynamic_cypher: "Assembled Cypher",
  text_to_cypher: "Cypher by the model",
  text_to_sql: "SQL over tables",
  "agent:iterative": "Step by step: follow up on findings",
  "agent:corrective": "Step by step: judge and search again",
  "agent:reasoning": "Step by step: follow relations",
  "agent:revising": "Step by step: draft and revise",
};

/** The ways to search that are offered first; the empty one is what the server chooses. */
export const USUAL = ["", "bm25", "dense", "graph"];

export const AGENTS = ["iterative", "corrective", "reasoning", "revising"].map(
  (kind) => `${AGENT}${kind}`,
);

/** Return the plain name of a retriever or agent; that of a plugin or composition is its own. */
export function sayRetriever(name: string): string {
  return textOf(RETRIEVERS, name);
}

/** Say how many of the files that are being read can be asked about. */
export function sayReady(): string {
  const isReading = READING.has(currentJob.value?.kind ?? "");
  const { done = 0, total = 0 } = (isReading && progress.value) || {};
  return total > 0
    ? t("{done} of {total} {total:file|files} ready", { done, total })
    : t("Files are still being read.");
}
