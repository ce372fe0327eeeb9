/** Documents as they are read: loaded once, and cut into what is shown. */

import { api, type Shapes, take } from "../../api/client";
import { revision } from "../../state/workspaces";
import { Offsets } from "../offsets";

export type Details = Shapes["DocumentDetails"];
export type Contents = Shapes["DocumentContents"];
export type Section = Shapes["SectionShape"];

/** A document with its offsets worked out. */
export interface Read {
  details: Details;
  offsets: Offsets;
  /** Its length, in code points. */
  length: number;
}

/** A part of the text from where a passage or page begins to where the next one does. */
export interface Block {
  start: number;
  end: number;
  /** The passage that begins here, if one does. */
  ordinal: number | null;
  chunkId: string;
  /** The label of the page that begins here, if one does. */
  page: string;
}

const MOST_KEPT = 24;
const kept = new Map<string, Promise<Read>>();

/** Return a document; one that was read a moment ago is there at once. Throws ApiError. */
export function loadDocument(workspace: string, document: string): Promise<Read> {
  const key = `${workspace} ${document} ${revision.peek()}`;
  const known = kept.get(key);
  if (known) return known;
  const path = { workspace, document };
  const loading = take(
    api.GET("/api/v1/workspaces/{workspace}/documents/{document}", { params: { path } }),
  ).then((details) => {
    const offsets = new Offsets(details.text);
    return { details, offsets, length: offsets.toPoint(details.text.length) };
  });
  kept.set(key, loading);
  loading.catch(() => kept.delete(key));
  for (const old of [...kept.keys()].slice(0, -MOST_KEPT)) kept.delete(old);
  return loading;
}

/** Cut a text where its passages and pages begin; what lies between is shown with the one before.
 *
 * Pages are those of a document with several.
 */
export function cutIntoBlocks(
  chunks: Details["chunks"],
  pages: Details["pages"],
  length: number,
): Block[] {
  const begins = new Map<number, Block>();
  const blockAt = (start: number): Block => {
    const known = begins.get(start);
    const block = known ?? { start, end: length, ordinal: null, chunkId: "", page: "" };
    begins.set(start, block);
    return block;
  };
  blockAt(0);
  for (const chunk of chunks) {
    if (chunk.is_parent) continue;
    const block = blockAt(chunk.span[0] ?? 0);
    if (block.chunkId) continue;
    block.ordinal = chunk.ordinal;
    block.chunkId = chunk.id;
  }
  if (pages.length > 1) for (const page of pages) blockAt(page.start).page = page.label;
  const blocks = [...begins.values()].sort((one, other) => one.start - other.start);
  for (const [index, block] of blocks.entries()) block.end = blocks[index + 1]?.start ?? length;
  return blocks.filter((block) => block.start < block.end);
}

/** Return the headings above a place, the topmost first, without the document itself. */
export function sectionsAt(sections: readonly Section[], place: number): Section[] {
  return sections
    .filter(({ level, span: [from = 0, to = 0] }) => level > 0 && from <= place && place < to)
    .sort((a, b) => a.level - b.level);
}

/** Return the label of the page a place is on, or nothing where there are no pages. */
export function pageAt(pages: Details["pages"], place: number): string {
  return pages.filter((page) => page.start <= place).at(-1)?.label ?? "";
}
