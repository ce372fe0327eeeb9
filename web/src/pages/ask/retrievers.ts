/** Ways to search, by the names that people know. */

import { t } from "../../i18n";
import { AGENT } from "./runs";

/** The ways that are offered first; the empty one is what the server chooses. */
export const USUAL = ["", "bm25", "dense", "graph"] as const;

export const AGENTS = ["iterative", "corrective", "reasoning", "revising"].map(
  (kind) => `${AGENT}${kind}`,
);

/** Return the plain name of a retriever or agent; that of a plugin or composition is its own. */
export function sayRetriever(name: string): string {
  return t.value.ask.retrievers[name] ?? name;
}
