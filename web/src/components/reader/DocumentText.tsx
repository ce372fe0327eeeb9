import { memo } from "preact/compat";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { t } from "../../i18n";
import { linkTo } from "../../state/location";
import { cutAtSpans, type Span } from "../offsets";
import { type Block, type Contents, cutIntoBlocks, type Read } from "./document";

interface DocumentTextProps {
  read: Read;
  /** What is marked: the first is scrolled to. */
  marks: readonly Span[];
  /** The things of the graph to underline; none underlines none. */
  things?: Contents["things"];
}

interface Layer {
  span: Span;
  kind: "mark" | "heading" | "thing";
  /** Of a thing: its id and name. */
  id?: string;
  name?: string;
}

/** The text of a document: its passages as ticks at the margin, headings, pages, what is marked. */
export function DocumentText({ read, marks, things }: DocumentTextProps) {
  const { details, length } = read;
  const box = useRef<HTMLDivElement>(null);
  const blocks = useMemo(
    () => cutIntoBlocks(details.chunks, details.pages, length),
    [details, length],
  );
  const layers = useMemo(() => layersOf(read, marks, things ?? []), [read, marks, things]);
  const [from = -1, to = -1] = marks[0] ?? [];
  useEffect(() => {
    if (from < 0) return;
    const mark = box.current?.querySelector("mark");
    const { scrollX, scrollY } = window;
    mark?.scrollIntoView({ block: "center" });
    // A reader scrolls by itself; the page that it stands beside stays where it is.
    if (mark?.closest(".reader")) window.scrollTo(scrollX, scrollY);
  }, [read, from, to]);
  return (
    <div ref={box} class="document-text" lang={details.language || undefined}>
      {blocks.map((block) => (
        <BlockText
          key={block.start}
          read={read}
          block={block}
          layers={layers.filter(({ span: [a = 0, b = 0] }) => a < block.end && b > block.start)}
        />
      ))}
    </div>
  );
}

function layersOf(read: Read, marks: readonly Span[], things: Contents["things"]): Layer[] {
  const { details, offsets } = read;
  const headings = details.sections.flatMap(({ level, title, span: [start = 0] }): Layer[] => {
    if (level === 0) return [];
    const unit = offsets.toUnit(start);
    const stop = details.text.indexOf("\n", unit);
    const end = stop < 0 ? details.text.length : stop;
    // Where a file has its headings elsewhere, its text has none to show.
    const isThere = details.text.slice(unit, end).includes(title);
    return isThere ? [{ span: [start, offsets.toPoint(end)], kind: "heading" }] : [];
  });
  const named = things.flatMap(({ id, name, spans }) =>
    spans.map((span): Layer => ({ span, kind: "thing", id, name })),
  );
  return [...marks.map((span): Layer => ({ span, kind: "mark" })), ...headings, ...named];
}

interface BlockTextProps {
  read: Read;
  block: Block;
  layers: readonly Layer[];
}

const BlockText = memo(
  ({ read, block, layers }: BlockTextProps) => {
    const words = t.value.reader;
    const pieces = cutAtSpans(
      read.offsets,
      block.start,
      block.end,
      layers.map(({ span }) => span),
    );
    return (
      <div class="block" id={block.chunkId ? `passage-${block.chunkId}` : undefined}>
        <span class={block.ordinal === null ? "tick" : "tick begins"} aria-hidden="true">
          {block.ordinal !== null && (
            <span title={words.passage(block.ordinal + 1)}>{block.ordinal + 1}</span>
          )}
          {block.page && <span class="page-tick">{words.page(block.page)}</span>}
        </span>
        <p>
          {pieces.map((piece) => (
            <PieceText
              key={piece.start}
              text={piece.text}
              layers={piece.covers.flatMap((number) => layers[number] ?? [])}
            />
          ))}
        </p>
      </div>
    );
  },
  (before, after) =>
    before.read === after.read &&
    before.block === after.block &&
    before.layers.length === after.layers.length &&
    before.layers.every((layer, index) => layer === after.layers[index]),
);

function PieceText({ text, layers }: { text: string; layers: readonly Layer[] }) {
  const thing = layers.find(({ kind }) => kind === "thing");
  const isHeading = layers.some(({ kind }) => kind === "heading");
  const isMarked = layers.some(({ kind }) => kind === "mark");
  let shown = <>{text}</>;
  if (thing?.id) {
    shown = (
      <a class="thing" href={linkTo("graph", { focus: thing.id })} title={thing.name}>
        {shown}
      </a>
    );
  }
  if (isHeading) shown = <strong class="text-heading">{shown}</strong>;
  return isMarked ? <mark>{shown}</mark> : shown;
}
