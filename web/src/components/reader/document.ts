/** Documents as they are read: loaded once, and cut into what is shown. */

import type { Shapes } from "../../api/client";
import { call } from "../../state/calls";
import { revision } from "../../state/workspaces";
import { Offsets } from "../offsets";
import { type Layout, layOut } from "./blocks";

export type Details = Shapes["DocumentDetails"];
export type Contents = Shapes["DocumentContents"];
export type Section = Shapes["SectionShape"];

/** How words are set apart in their line. */
export type Style = "strong" | "emphasis" | "code";

/** A document with its offsets worked out, and what is shown of it. */
export interface Read {
  details: Details;
  offsets: Offsets;
  layout: Layout;
}

const MOST_KEPT = 24;
const kept = new Map<string, Promise<Read>>();

/** Return a document; one that was read a moment ago is there at once. Throws ApiError. */
export function loadDocument(workspace: string, document: string): Promise<Read> {
  const key = `${workspace} ${document} ${revision.peek()}`;
  const known = kept.get(key);
  if (known) return known;
  const loading = call("get", "/documents/{document}", { workspace, document }).then((details) => {
    const offsets = new Offsets(details.text);
    return { details, offsets, layout: layOut(details.blocks, offsets) };
  });
  kept.set(key, loading);
  loading.catch(() => kept.delete(key));
  for (const old of [...kept.keys()].slice(0, -MOST_KEPT)) kept.delete(old);
  return loading;
}

/** A place where a passage or a page begins, in UTF-16 units. */
export interface Tick {
  place: number;
  /** The number of the passage, from 1; 0 for a page. */
  passage: number;
  page: string;
}

/** Return where passages begin, and the pages of a document with several, in the order of the text. */
export function findTicks(details: Pick<Details, "chunks" | "pages">, offsets: Offsets): Tick[] {
  const passages = details.chunks.filter(({ is_parent }) => !is_parent);
  const pages = details.pages.length > 1 ? details.pages : [];
  return [
    ...passages.map(({ ordinal, span: [start = 0] }) => ({
      start,
      passage: ordinal + 1,
      page: "",
    })),
    ...pages.map(({ start, label: page }) => ({ start, passage: 0, page })),
  ]
    .map(({ start, ...tick }) => ({ ...tick, place: offsets.toUnit(start) }))
    .sort((one, other) => one.place - other.place);
}

/** Return where the line of a place ends, in code points. */
export function endOfLine({ offsets }: Pick<Read, "offsets">, place: number | null): number {
  const found = offsets.text.indexOf("\n", offsets.toUnit(place ?? 0));
  return offsets.toPoint(found < 0 ? offsets.text.length : found);
}

/** Return the headings above a place, the topmost first, without the document itself. */
export function sectionsAt(sections: readonly Section[], place: number): Section[] {
  return sections
    .filter(({ level, span: [from = 0, to = 0] }) => level > 0 && from <= place && place < to)
    .sort((a, b) => a.level - b.level);
}

/** Return the number of the page of the original that a place is on, from 1. */
export function pageNumberAt(pages: Details["pages"], place: number): number {
  const index = pages.findLastIndex(({ start }) => start <= place);
  const label = pages[index]?.label ?? "";
  return /^[1-9]\d*$/.test(label) ? Number(label) : Math.max(1, index + 1);
}

/** Return the last part of a uri: the name of the file. */
export function nameOf(uri: string): string {
  return uri.split("/").at(-1) || uri;
}

/** Return the label of the page a place is on, or nothing where there are no pages. */
export function pageAt(pages: Details["pages"], place: number): string {
  return pages.filter((page) => page.start <= place).at(-1)?.label ?? "";
}
