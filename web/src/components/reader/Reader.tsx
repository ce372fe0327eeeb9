import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { t } from "../../i18n";
import { useShortcuts } from "../../state/keys";
import { useLoaded } from "../../state/loading";
import { linkTo, workspace } from "../../state/location";
import { revision } from "../../state/workspaces";
import { IconButton } from "../Button";
import { Empty } from "../Empty";
import { isMissing, Pending } from "../ErrorState";
import { Icon } from "../Icon";
import { plainText } from "../plain";
import { loadDocument, nameOf, pageAt, type Read, sectionsAt } from "./document";
import { Outline } from "./Outline";
import "./reader.css";
import { Source, SourceTools } from "./Source";

interface ReaderProps {
  /** The document's id. */
  document: string;
  /** The passage that is shown, in code points. */
  start: number;
  end: number;
  onClose: () => void;
  /** Go to the citation before or after this one, where there are several. */
  onStep?: ((step: 1 | -1) => void) | undefined;
  /** What stands at the head, as "3 of 7". */
  label?: string | undefined;
  /** What is shown of a document that was removed. */
  cited?: { title: string; document: string; quote: string } | undefined;
  /** Whether it is known to be removed. */
  isRemoved?: boolean;
}

/** A document beside what cites it, open at the passage. */
export function Reader(props: ReaderProps) {
  const { document, start, end, onClose, onStep, label, cited, isRemoved = false } = props;
  const here = workspace.value;
  const box = useRef<HTMLElement>(null);
  const read = useLoaded(isRemoved ? "" : `${here} ${document} ${revision.value}`, () =>
    loadDocument(here, document),
  );
  const isGone = isRemoved || isMissing(read.error);
  const marks = useMemo(() => [[start, end]], [start, end]);
  const wanted = `${document} ${start} ${end}`;
  const [jump, setJump] = useState({ from: "", to: 0 });
  const at = jump.from === wanted ? jump.to : undefined;
  const [current, setCurrent] = useState(start);
  useEffect(() => setCurrent(start), [wanted]);
  useFocus(box);
  useShortcuts([{ keys: "Escape", label: t("Close"), run: onClose }]);
  return (
    <aside ref={box} class="card reader" aria-label={t("Document")}>
      <header class="row reader-head">
        <div class="grow">
          {read.data && <Place read={read.data} start={start} />}
          {isGone && <h2 class="clip">{cited ? cited.title || nameOf(cited.document) : ""}</h2>}
        </div>
        {label && <span class="small faint number">{label}</span>}
        {onStep && (
          <>
            <IconButton icon="up" label={t("Previous citation (k)")} onClick={() => onStep(-1)} />
            <IconButton icon="down" label={t("Next citation (j)")} onClick={() => onStep(1)} />
          </>
        )}
        <IconButton icon="close" label={t("Close")} onClick={onClose} />
      </header>
      {read.data && (
        <div class="row wrap end reader-bar">
          <Outline
            details={read.data.details}
            current={current}
            onGo={(place) => {
              setJump({ from: wanted, to: place });
              setCurrent(place);
            }}
          />
          <SourceTools details={read.data.details} />
          <a
            class="icon-button"
            href={linkTo("documents", { doc: document, start, end })}
            aria-label={t("Open in Documents")}
            title={t("Open in Documents")}
          >
            <Icon name="fit" />
          </a>
        </div>
      )}
      <section
        class="reader-text"
        data-scroller
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keys
        tabIndex={0}
        aria-label={read.data?.details.title || t("Document")}
      >
        {isGone ? (
          <Empty icon="none" title={t("This document was removed")}>
            {cited && (
              <>
                <p>{t("It is no longer in the workspace, so only the cited sentence is shown.")}</p>
                <blockquote class="serif">{plainText(cited.quote)}</blockquote>
              </>
            )}
          </Empty>
        ) : (
          <Pending of={read} lines={9} />
        )}
        {read.data && (
          <Source read={read.data} marks={marks} at={at} onRead={setCurrent} level={2} />
        )}
      </section>
    </aside>
  );
}

/** Move the focus into what has opened, and back to where it was once that is closed. */
function useFocus(box: { current: HTMLElement | null }): void {
  useEffect(() => {
    const before = window.document.activeElement;
    const opened = box.current;
    opened?.querySelector<HTMLElement>("[data-scroller]")?.focus({ preventScroll: true });
    return () => {
      const focused = window.document.activeElement;
      const isOpen = focused === window.document.body || opened?.contains(focused);
      if (before instanceof HTMLElement && isOpen) before.focus();
    };
  }, []);
}

function Place({ read: { details }, start }: { read: Read; start: number }) {
  const page = details.pages.length > 1 ? pageAt(details.pages, start) : "";
  const sections = sectionsAt(details.sections, start).map(({ title }) => title);
  const parts = [
    nameOf(details.uri),
    page && t("page {label}", { label: page }),
    ...sections.filter((title) => title !== details.title),
  ].filter(Boolean);
  return (
    <>
      <h2 class="clip" title={details.uri}>
        {details.title || details.uri}
      </h2>
      <p class="small faint clip" title={parts.join(" › ")}>
        {parts.join(" › ")}
      </p>
    </>
  );
}
