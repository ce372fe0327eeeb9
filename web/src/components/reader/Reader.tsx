import { useMemo } from "preact/hooks";
import { t } from "../../i18n";
import { useLoaded } from "../../state/loading";
import { linkTo, workspace } from "../../state/location";
import { revision } from "../../state/workspaces";
import { IconButton } from "../Button";
import { ErrorState } from "../ErrorState";
import { Icon } from "../Icon";
import { Skeleton } from "../Progress";
import { DocumentText } from "./DocumentText";
import { loadDocument, pageAt, type Read, sectionsAt } from "./document";
import "./reader.css";

interface ReaderProps {
  /** The document's id. */
  document: string;
  /** The passage that is shown, in code points. */
  start: number;
  end: number;
  onClose: () => void;
  /** Go to the citation before or after this one, where there are several. */
  onStep?: (step: 1 | -1) => void;
  /** What stands at the head, as "3 of 7". */
  label?: string;
}

/** A document beside what cites it, open at the passage. */
export function Reader({ document, start, end, onClose, onStep, label }: ReaderProps) {
  const here = workspace.value;
  const words = t.value.reader;
  const read = useLoaded(`${here} ${document} ${revision.value}`, () =>
    loadDocument(here, document),
  );
  const marks = useMemo(() => [[start, end]], [start, end]);
  return (
    <aside class="reader" aria-label={words.title}>
      <header class="reader-head">
        <div class="grow">{read.data && <Place read={read.data} start={start} />}</div>
        {label && <span class="small faint number">{label}</span>}
        {onStep && (
          <>
            <IconButton icon="up" label={words.before} onClick={() => onStep(-1)} />
            <IconButton icon="down" label={words.after} onClick={() => onStep(1)} />
          </>
        )}
        <a
          class="icon-button"
          href={linkTo("documents", { doc: document, start, end })}
          aria-label={words.whole}
          title={words.whole}
        >
          <Icon name="fit" />
        </a>
        <IconButton icon="close" label={t.value.common.close} onClick={onClose} />
      </header>
      <section
        class="reader-text"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keys
        tabIndex={0}
        aria-label={read.data?.details.title || words.title}
      >
        {read.isLoading && <Skeleton label={t.value.common.loading} lines={9} />}
        {read.error && <ErrorState error={read.error} retry={read.reload} />}
        {read.data && <DocumentText read={read.data} marks={marks} level={2} />}
      </section>
    </aside>
  );
}

function Place({ read, start }: { read: Read; start: number }) {
  const { details } = read;
  const page = details.pages.length > 1 ? pageAt(details.pages, start) : "";
  const parts = sectionsAt(details.sections, start)
    .map(({ title }) => title)
    .filter((title) => title !== details.title);
  if (page) parts.unshift(t.value.source.page(page));
  return (
    <>
      <h2 class="clip" title={details.uri}>
        {details.title || details.uri}
      </h2>
      <p class="small faint clip" title={parts.join(" › ")}>
        {parts.join(" › ") || details.uri}
      </p>
    </>
  );
}
