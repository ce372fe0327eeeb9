/** Cited documents that are no longer in the workspace: their citations say so. */

import { signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { quote } from "../../components/filters/conditions";
import { call } from "../../state/calls";
import { settled } from "../../state/jobs";
import { useLoaded } from "../../state/loading";
import { workspace } from "../../state/location";
import { revision } from "../../state/workspaces";
import type { Run } from "./runs";

/** The URIs of removed documents that the thread cites. */
export const removed = signal<ReadonlySet<string>>(new Set());

/** Relations that a person stated have documents that no list has. */
const STATED = "correction:";
/** How many documents a filter names. */
const MOST_NAMED = 40;

/** Ask which cited documents there are, again whenever the workspace changes. */
export function useRemoved(runs: readonly Run[]): void {
  const turn = revision.value + settled.value;
  const [begun] = useState(turn);
  // What has just been answered cites what is there, until something changes.
  const earlier = runs.filter((run) => turn !== begun || run.stages.value.length === 0);
  const answers = earlier.flatMap((run) => run.answer.value ?? []);
  const uris = answers.flatMap(({ citations }) => citations.map(({ document }) => document));
  const cited = [...new Set(uris)].filter((uri) => !uri.startsWith(STATED)).sort();
  const wanted = JSON.stringify([workspace.value, cited, turn]);
  const found = useLoaded(cited.length > 0 ? wanted : "", async (signal) => {
    const left = new Set(cited);
    for (let start = 0; start < cited.length; start += MOST_NAMED) {
      const named = cited.slice(start, start + MOST_NAMED);
      const query = { where: `uri in (${named.map(quote).join(", ")})`, limit: MOST_NAMED };
      const { documents } = await call("get", "/documents", { query, signal });
      for (const { uri } of documents) left.delete(uri);
    }
    return left;
  });
  useEffect(() => {
    if (found.data) removed.value = found.data;
  }, [found.data]);
}
