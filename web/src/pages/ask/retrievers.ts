/** Ways to search, by the names that people know. */

import { t } from "../../i18n";
import { AGENT } from "./runs";

/** The ways that are offered first; the empty one is what the server chooses. */
export const USUAL = ["", "bm25", "dense", "graph"] as const;

export const AGENTS = ["iterative", "corrective", "reasoning", "revising"].map(
  (kind) => `${AGENT}${kind}`,
);

/** Return the plain name of a retriever or agent; a composition stays as it is written. */
export function sayRetriever(name: string): string {
  const known = t.value.ask.retrievers[name];
  if (known || !/^\w+$/.test(name)) return known ?? name;
  const words = name.replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}
