import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { percent, t } from "../../i18n";
import { useCall } from "../../state/calls";
import { workspace } from "../../state/location";
import { IconButton } from "../Button";
import { Pending } from "../ErrorState";
import { useMeasured } from "../measure";
import type { Span } from "../offsets";
import { type Details, pageNumberAt } from "./document";
import { addressOfFile, useFile } from "./files";
import { type Box, scrollerOf, useReading } from "./reading";

interface PageViewProps {
  details: Details;
  /** What is marked: the lines of the first span. */
  marks: readonly Span[];
  /** The place that is shown, in code points; by default that of the first mark. */
  at?: number | undefined;
}

/** The longest passage whose lines the server finds, in code points. */
const LONGEST = 20_000;
/** Pages that are loaded on both sides of the one that is read. */
const AROUND = 2;
const ZOOMS = [0.5, 0.75, 1, 1.25, 1.5, 2, 3];
/** The height of the tools above the pages. */
const TOOLS = 44;
/** Where a reader looks, and a mark is shown: as a share of the height. */
const EYES = 1 / 3;
const PAUSE_MS = 60;
/** Pictures have widths in such steps, so that the server need not draw many of a page. */
const STEP = 200;
const WIDEST = 2_400;

/** The pages of the original as pictures, with the lines of a passage marked. */
export function PageView({ details, marks, at }: PageViewProps) {
  const here = workspace.value;
  const document = details.id;
  const [start = -1, end = -1] = marks[0] ?? [];
  const goal = pageNumberAt(details.pages, at ?? start);
  const box = useRef<HTMLDivElement>(null);
  const [current, setCurrent] = useState(goal);
  const [zoom, setZoom] = useState(1);
  const width = useMeasured(box, 0, ({ clientWidth }) => clientWidth);
  const arrived = useRef(-1);
  const listed = useCall("get", "/documents/{document}/pages", { document });
  const isMarked = start < end;
  const query = { start, end: Math.min(end, start + LONGEST) };
  const boxesOf = isMarked ? { document, query } : null;
  const found = useCall("get", "/documents/{document}/boxes", boxesOf);
  const pages = listed.data?.pages ?? [];
  const boxes = found.data?.boxes ?? [];
  const first = at === undefined ? boxes[0] : undefined;
  const isReady = pages.length > 0 && width > 0 && !found.isLoading;
  const goTo = (number: number, down = 0) => {
    const scroller = scrollerOf(box);
    const page = pageIn(box, number)?.getBoundingClientRect();
    if (!scroller || !page) return;
    const { top } = scroller.getBoundingClientRect();
    const room = down ? scroller.clientHeight * EYES : TOOLS;
    scroller.scrollTop += page.top + down * page.height - top - room;
    arrived.current = scroller.scrollTop;
    setCurrent(number);
  };
  useEffect(() => {
    if (isReady) goTo(first?.page ?? goal, first?.edges[1]);
  }, [isReady, goal, first, at]);
  useMiddle(box, zoom);
  useReading(box, "page", {
    eyes: (height) => height * EYES + 1,
    pauseMs: PAUSE_MS,
    say: (page) => {
      // Where the pages went by themselves, the one that is meant is known.
      if (scrollerOf(box)?.scrollTop !== arrived.current) setCurrent(page);
    },
  });
  const turn = (step: 1 | -1): boolean => {
    const view = scrollerOf(box)?.getBoundingClientRect();
    const page = pageIn(box, current)?.getBoundingClientRect();
    if (!view || !page) return false;
    // The rest of a page that is higher than its room comes first.
    const isSeen = step > 0 ? page.bottom <= view.bottom + 1 : page.top >= view.top;
    const next = current + step;
    if (!isSeen || next < 1 || next > pages.length) return false;
    goTo(next);
    return true;
  };
  const scale = (step: 1 | -1) => setZoom(ZOOMS[ZOOMS.indexOf(zoom) + step] ?? zoom);
  useKeys(box, {
    PageDown: () => turn(1),
    PageUp: () => turn(-1),
    "+": () => scale(1),
    "=": () => scale(1),
    "-": () => scale(-1),
    "0": () => setZoom(1),
  });
  const wanted = width * zoom * (globalThis.devicePixelRatio || 1);
  const pixels = Math.min(WIDEST, Math.max(2 * STEP, Math.ceil(wanted / STEP) * STEP));
  return (
    <div ref={box} class="page-view">
      <div class="row page-tools">
        <span class="small faint number grow">
          {pages.length > 0 &&
            t("{shown} of {total}", {
              shown: t("p. {label}", { label: current }),
              total: pages.length,
            })}
          {isReady &&
            isMarked &&
            boxes.length === 0 &&
            ` · ${t("the passage was not found on the page")}`}
        </span>
        <IconButton icon="minus" label={t("Zoom out (-)")} onClick={() => scale(-1)} />
        <span class="small number">{percent(zoom)}</span>
        <IconButton icon="plus" label={t("Zoom in (+)")} onClick={() => scale(1)} />
      </div>
      <Pending of={listed} lines={9} />
      {width > 0 &&
        pages.map((page, index) => (
          <div
            key={index}
            class="page"
            data-page={index + 1}
            style={{ width: `${zoom * 100}%`, aspectRatio: `${page.width} / ${page.height}` }}
          >
            {Math.abs(index + 1 - current) <= AROUND && (
              <PagePicture
                address={addressOfFile(
                  [here, "documents", document, "pages", `${index + 1}.png`],
                  `?width=${pixels}`,
                )}
                number={index + 1}
                boxes={boxes.filter((line) => line.page === index + 1).map(({ edges }) => edges)}
              />
            )}
          </div>
        ))}
    </div>
  );
}

interface PagePictureProps {
  address: string;
  number: number;
  boxes: readonly (readonly number[])[];
}

function PagePicture({ address, number, boxes }: PagePictureProps) {
  const picture = useFile(address);
  return (
    <>
      {picture.error && <Pending of={picture} />}
      {picture.data && <img src={picture.data} alt={t("Page {n}", { n: number })} />}
      {boxes.map(([left = 0, top = 0, right = 1, bottom = 1], index) => {
        const inset = [top, 1 - right, 1 - bottom, left].map((part) => `${part * 100}%`);
        return <mark key={index} style={{ inset: inset.join(" ") }} />;
      })}
    </>
  );
}

function pageIn(box: Box, number: number): HTMLElement | null {
  return box.current?.querySelector<HTMLElement>(`[data-page="${number}"]`) ?? null;
}

/** Keep in the middle what is there when the pages grow or shrink. */
function useMiddle(box: Box, zoom: number): void {
  const before = useRef(zoom);
  useLayoutEffect(() => {
    const scroller = scrollerOf(box);
    if (!scroller) return;
    const middle = scroller.clientHeight / 2;
    scroller.scrollTop = (scroller.scrollTop + middle) * (zoom / before.current) - middle;
    before.current = zoom;
  }, [zoom]);
}

/** Hear keys wherever the focus is beside the pages; what returns false is left to the browser. */
function useKeys(box: Box, keys: Record<string, () => unknown>): void {
  const current = useRef(keys);
  current.current = keys;
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      const run = current.current[event.key];
      if (!run || event.ctrlKey || event.metaKey || event.altKey) return;
      if (run() !== false) event.preventDefault();
    };
    const scroller = scrollerOf(box);
    scroller?.addEventListener("keydown", press);
    return () => scroller?.removeEventListener("keydown", press);
  }, []);
}
