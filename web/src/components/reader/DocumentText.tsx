import { createContext } from "preact";
import { memo } from "preact/compat";
import { useContext, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { clock, t } from "../../i18n";
import { isPlain, linkTo, setQuery } from "../../state/location";
import { countBefore, cutAtSpans, type Span } from "../offsets";
import { TextCode, TextTable } from "../prose";
import { placeInRuns, type Row, type Run, type Shown } from "./blocks";
import { type Contents, findTicks, type Read, type Style, type Tick } from "./document";
import { useReading } from "./reading";

interface DocumentTextProps {
  read: Read;
  /** What is marked. */
  marks: readonly Span[];
  /** The place that is scrolled to, in code points; by default that of the first mark. */
  at?: number | undefined;
  /** Called with the place that is read, in code points, when it is another one. */
  onRead?: ((place: number) => void) | undefined;
  /** Plays the recording from so many seconds on; undefined without a recording. */
  onSeek?: ((seconds: number) => void) | undefined;
  /** The things of the graph to underline; none underlines none. */
  things?: Contents["things"];
  /** The level of the heading above the text. */
  level?: number;
}

interface Layer {
  /** In UTF-16 units. */
  span: Span;
  kind: "mark" | "name" | "link" | "thing" | "tick" | Style;
  /** Of a link and of a thing: where it leads, and the name of that. */
  href?: string;
  name?: string;
  /** Of a link: its words, in code points. */
  words?: Span;
  /** Of a tick: what begins. */
  tick?: Tick;
}

/** Rows that are drawn at once; the others follow, so that a long document is there at once. */
const ROWS_AT_ONCE = 400;
const ROWS_ABOVE = 100;
const PAUSE_MS = 30;
/** Where a reader looks, below the upper edge. */
const EYES = 70;

/** The text of a document: its blocks, its passages and pages at the margin, what is marked. */
export function DocumentText(props: DocumentTextProps) {
  const { read, marks, at, onRead, onSeek, things, level = 1 } = props;
  const { details, layout, offsets } = read;
  const box = useRef<HTMLDivElement>(null);
  const layers = useMemo(() => layersOf(read, marks, things ?? []), [read, marks, things]);
  const times = useMemo(() => timesOf(read), [read]);
  const [from = -1, to = -1] = marks[0] ?? [];
  const goal = at ?? from;
  const wanted = goal < 0 ? 0 : findRow(layout.rows, offsets.toUnit(goal));
  const [first, last] = useWindow(layout.rows.length, wanted);
  useEffect(() => {
    if (goal < 0) return;
    const row = box.current?.querySelector(`[data-start="${layout.rows[wanted]?.start}"]`);
    const mark = goal === from ? box.current?.querySelector("mark") : null;
    const { scrollX, scrollY } = window;
    if (mark) mark.scrollIntoView({ block: "center" });
    else row?.scrollIntoView({ block: "start" });
    // A reader scrolls by itself; the page that it stands beside stays where it is.
    if (box.current?.closest(".reader")) window.scrollTo(scrollX, scrollY);
  }, [read, goal, from, to]);
  useReading(box, "start", {
    eyes: () => EYES,
    pauseMs: 0,
    say: (unit) => onRead?.(offsets.toPoint(unit)),
  });
  return (
    <div ref={box} class="serif prose document-text" lang={details.language || undefined}>
      {layout.rows.slice(first, last).map((row, index) => (
        <RowText
          key={row.start}
          text={details.text}
          row={row}
          level={level}
          layers={layers[first + index] ?? []}
          time={times.get(first + index)}
          onSeek={onSeek}
        />
      ))}
    </div>
  );
}

/** Return which rows are drawn: those around the one that is wanted, and in time all. */
function useWindow(total: number, wanted: number): [number, number] {
  // Rows that are added above must not move what is read, which not every browser can do.
  const above = globalThis.CSS?.supports?.("overflow-anchor", "auto") ? ROWS_ABOVE : wanted;
  const start: [number, number] = [Math.max(0, wanted - above), wanted + ROWS_AT_ONCE];
  const [drawn, setDrawn] = useState(start);
  const isDrawn = drawn[0] <= wanted && wanted < drawn[1];
  const [first, last] = isDrawn ? drawn : start;
  useEffect(() => {
    if (first === 0 && last >= total) return;
    const timer = setTimeout(
      () => setDrawn([Math.max(0, first - ROWS_AT_ONCE), Math.min(total, last + ROWS_AT_ONCE)]),
      PAUSE_MS,
    );
    return () => clearTimeout(timer);
  }, [first, last, total]);
  return [first, last];
}

/** Return when the first words of rows are spoken, in seconds, by the numbers of rows. */
function timesOf({ details, offsets, layout }: Read): Map<number, number> {
  const times = new Map<number, number>();
  for (const { span, start_s } of details.times) {
    const row = findRow(layout.rows, offsets.toUnit(span[0] ?? 0));
    if (!times.has(row)) times.set(row, start_s);
  }
  return times;
}

/** Return what lies over each row. */
function layersOf(read: Read, marks: readonly Span[], things: Contents["things"]): Layer[][] {
  const { details, offsets, layout } = read;
  const over = (kind: Layer["kind"], [start = 0, end = 0]: Span, more = {}): Layer => {
    return { kind, span: [offsets.toUnit(start), offsets.toUnit(end)], ...more };
  };
  const ticks = findTicks(details, offsets);
  const places = placeInRuns(
    layout.rows,
    ticks.map(({ place }) => place),
  );
  const all = [
    ...marks.map((span) => over("mark", span)),
    ...layout.names.map(({ start, end }): Layer => ({ span: [start, end], kind: "name" })),
    ...Object.entries(details.styles).flatMap(([style, spans]) =>
      spans.map((span) => over(style as Style, span)),
    ),
    ...details.links.map(({ span, document: doc, start, title: name }) =>
      over("link", span, { href: linkTo("documents", { doc, start }), name, words: span }),
    ),
    ...things.flatMap(({ id, name, spans }) => {
      const href = linkTo("graph", { focus: id });
      return spans.map((span) => over("thing", span, { href, name }));
    }),
    ...ticks.map((tick, index): Layer => {
      const place = places[index] ?? tick.place;
      // It ends with its row, so that no word is cut.
      const end = layout.rows[findRow(layout.rows, place)]?.end ?? place;
      return { span: [place, end], kind: "tick", tick };
    }),
  ];
  const layers: Layer[][] = layout.rows.map(() => []);
  for (const layer of all) {
    const [from = 0, to = 0] = layer.span;
    for (let at = findRow(layout.rows, from); at < layout.rows.length; at += 1) {
      if ((layout.rows[at]?.start ?? to) >= to) break;
      layers[at]?.push(layer);
    }
  }
  return layers;
}

/** Return the index of the row that a place is in. */
function findRow(rows: readonly Row[], place: number): number {
  return countBefore(rows.length, (at) => (rows[at]?.end ?? 0) <= place);
}

interface Around {
  text: string;
  layers: readonly Layer[];
  level: number;
}

const AroundRow = createContext<Around>({ text: "", layers: [], level: 1 });

interface RowTextProps extends Around {
  row: Row;
  /** When it is spoken, in seconds. */
  time: number | undefined;
  onSeek: ((seconds: number) => void) | undefined;
}

const RowText = memo(
  ({ text, row, layers, level, time, onSeek }: RowTextProps) => {
    const around = useMemo(() => ({ text, layers, level }), [text, layers, level]);
    return (
      <AroundRow.Provider value={around}>
        <div class="block" data-start={row.start}>
          {time !== undefined && <Time seconds={time} onSeek={onSeek} />}
          <Blocks blocks={[row.shown]} />
        </div>
      </AroundRow.Provider>
    );
  },
  (before, after) =>
    before.text === after.text &&
    before.row === after.row &&
    !before.onSeek === !after.onSeek &&
    before.layers.length === after.layers.length &&
    before.layers.every((layer, index) => isSame(layer, after.layers[index])),
);

function isSame(one: Layer, other: Layer | undefined): boolean {
  return (
    one.kind === other?.kind &&
    one.span[0] === other.span[0] &&
    one.span[1] === other.span[1] &&
    one.href === other.href
  );
}

/** When something is spoken, at the margin; where there is a recording, it plays from there. */
function Time({ seconds, onSeek }: { seconds: number; onSeek: RowTextProps["onSeek"] }) {
  const label = clock(seconds);
  return onSeek ? (
    <button
      type="button"
      class="time-mark"
      aria-label={t("Play from {time}", { time: label })}
      data-label={label}
      onClick={() => onSeek(seconds)}
    />
  ) : (
    <span class="time-mark" aria-hidden="true" data-label={label} />
  );
}

function Blocks({ blocks }: { blocks: readonly Shown[] }) {
  return (
    <>
      {blocks.map((block, index) => (
        <BlockText key={index} block={block} />
      ))}
    </>
  );
}

/** What is around blocks within a block. */
const FRAMES = {
  quote: ["blockquote", ""],
  figure: ["figure", ""],
  box: ["div", "text-box"],
  turn: ["div", "speech"],
} as const;

function BlockText({ block }: { block: Shown }) {
  const { level } = useContext(AroundRow);
  const words = "runs" in block && <Runs runs={block.runs} />;
  const body = "body" in block && <Blocks blocks={block.body} />;
  switch (block.kind) {
    case "heading": {
      const Heading = `h${Math.min(level + block.level, 6)}` as "h2";
      return <Heading class={`text-heading of-level-${Math.min(block.level, 4)}`}>{words}</Heading>;
    }
    case "paragraph":
      return <p>{words}</p>;
    case "code":
      return <TextCode language={block.language}>{words}</TextCode>;
    case "list": {
      const List = block.isOrdered ? "ol" : "ul";
      return (
        <List>
          {block.items.map(({ mark, number, body }, index) => (
            <li
              key={index}
              value={number ?? undefined}
              style={mark ? { listStyleType: `"${mark.replaceAll('"', "")} "` } : undefined}
            >
              <Blocks blocks={body} />
            </li>
          ))}
        </List>
      );
    }
    case "table":
      return (
        <TextTable
          header={block.header}
          rows={block.rows}
          cell={(runs) => <Runs runs={runs} />}
          class={block.isPart ? "is-part" : ""}
        />
      );
    case "definition":
      return (
        <dl>
          <dt>
            <Runs runs={[block.term]} />
          </dt>
          <dd>{body}</dd>
        </dl>
      );
    default: {
      const [Frame, kind] = FRAMES[block.kind];
      return (
        <Frame class={kind}>
          {block.speaker && <strong>{block.speaker}</strong>}
          {body}
        </Frame>
      );
    }
  }
}

/** A part of the text, cut where something lies over it. What leads somewhere is one link, however
 * it is cut; a link of the document itself comes before a thing in its words. */
function Runs({ runs }: { runs: readonly Run[] }) {
  const { text, layers } = useContext(AroundRow);
  const spans = layers.map(({ span }) => span);
  const parts: { leads: Layer | undefined; pieces: PieceTextProps[] }[] = [];
  for (const run of runs) {
    for (const { covers, ...piece } of cutAtSpans(text, run.start, run.end, spans)) {
      const over = covers.flatMap((number) => layers[number] ?? []);
      const leads = over.find(({ href }) => href);
      const before = parts.at(-1);
      if (before && before.leads === leads) before.pieces.push({ ...piece, layers: over });
      else parts.push({ leads, pieces: [{ ...piece, layers: over }] });
    }
  }
  return (
    <>
      {parts.map(({ leads, pieces }) => {
        const shown = pieces.map((piece) => <PieceText key={piece.start} {...piece} />);
        return leads?.href ? (
          <a
            key={pieces[0]?.start}
            class={leads.kind}
            href={leads.href}
            title={leads.name ?? ""}
            onClick={(event) => remember(leads.words, event)}
          >
            {shown}
          </a>
        ) : (
          shown
        );
      })}
    </>
  );
}

/** Mark the words of a link that is followed, so that going back leads to them. */
function remember(words: Span | undefined, event: MouseEvent): void {
  if (words && isPlain(event))
    setQuery({ start: words[0], end: words[1] }, { replace: true, on: "documents" });
}

interface PieceTextProps {
  text: string;
  start: number;
  layers: readonly Layer[];
}

function PieceText({ text, start, layers }: PieceTextProps) {
  const ticks = layers.flatMap(({ tick, span }) => (tick && span[0] === start ? [tick] : []));
  const has = (wanted: Layer["kind"]) => layers.some(({ kind }) => kind === wanted);
  let shown = <>{text}</>;
  if (has("code")) shown = <code>{shown}</code>;
  if (has("emphasis")) shown = <em>{shown}</em>;
  if (has("strong") || has("name")) shown = <strong>{shown}</strong>;
  if (has("mark")) shown = <mark>{shown}</mark>;
  return (
    <>
      {ticks.length > 0 && <TickText ticks={ticks} />}
      {shown}
    </>
  );
}

/** What begins at a place, at the margin. Its words are no part of the text that one may copy. */
function TickText({ ticks }: { ticks: readonly Tick[] }) {
  return (
    <span class={ticks.some(({ passage }) => passage) ? "tick begins" : "tick"} aria-hidden="true">
      {ticks.map(({ passage, page }) =>
        passage ? (
          <span key={passage} title={t("Passage {n}", { n: passage })} data-label={passage} />
        ) : (
          <span key={page} class="page-tick" data-label={t("p. {label}", { label: page })} />
        ),
      )}
    </span>
  );
}
