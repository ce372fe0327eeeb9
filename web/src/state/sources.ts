/** The documents that a person has ticked: questions are then limited to them. */

import { effect, signal } from "@preact/signals";
import { workspace } from "./location";

/** The URIs of the ticked documents, by their ids; none means that all may be used. */
export const chosenSources = signal<ReadonlyMap<string, string>>(new Map());

/** Tick documents, or take their ticks away. */
export function chooseSources(
  sources: Iterable<{ id: string; uri: string }>,
  isTicked = true,
): void {
  const next = new Map(chosenSources.value);
  for (const { id, uri } of sources) {
    if (isTicked) next.set(id, uri);
    else next.delete(id);
  }
  chosenSources.value = next;
}

// Ticks are about the documents of one workspace.
effect(() => {
  workspace.value;
  chosenSources.value = new Map();
});
