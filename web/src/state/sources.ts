/** The documents that a person has ticked: questions are then limited to them. */

import { computed, effect, signal } from "@preact/signals";
import { workspace } from "./location";

/** The ids of the ticked documents; none means that all may be used. */
export const chosenSources = signal<ReadonlySet<string>>(new Set());

/** The URIs of documents that were ticked, by id: filters name documents by URI. */
const uris = new Map<string, string>();

/** The filter of a question to the ticked documents, or null. */
export const sourceFilter = computed(() => {
  const named = [...chosenSources.value].flatMap((id) => uris.get(id) ?? []);
  return named.length > 0 ? { uri: named } : null;
});

export interface Source {
  id: string;
  uri: string;
}

/** Tick documents, or take their ticks away. */
export function chooseSources(sources: Iterable<Source>, isTicked = true): void {
  const next = new Set(chosenSources.value);
  for (const { id, uri } of sources) {
    uris.set(id, uri);
    if (isTicked) next.add(id);
    else next.delete(id);
  }
  chosenSources.value = next;
}

// Ticks are about the documents of one workspace.
effect(() => {
  workspace.value;
  uris.clear();
  chosenSources.value = new Set();
});
