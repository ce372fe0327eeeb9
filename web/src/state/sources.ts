/** The sources that questions are limited to. */

import { signal } from "@preact/signals";

/** Ids of the documents that are ticked; empty for all. */
export const chosenSources = signal<ReadonlySet<string>>(new Set());
