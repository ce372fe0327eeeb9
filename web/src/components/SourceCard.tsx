import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import { t } from "../i18n";
import { cutAtSpans, Offsets, type Span } from "./offsets";
import { plainText } from "./plain";

interface SourceCardProps {
  number: number;
  /** The passage: where it is, as the server says. */
  of: { title: string; document: string; section: string; page?: string; span: Span };
  text: string;
  /** Where the text begins in its document, by default as the passage; `marks` are spans there. */
  textStart?: number;
  marks?: readonly Span[];
  /** Where the passage is shown in its document. */
  href: string;
  onOpen?: (event: MouseEvent) => void;
  isActive?: boolean;
  id?: string;
  children?: ComponentChildren;
}

/** A passage: where it stands, what it says, and the way to it. */
export function SourceCard(props: SourceCardProps) {
  const { number, of, href, onOpen, isActive, id, children } = props;
  const start = props.textStart ?? of.span[0] ?? 0;
  return (
    <article id={id} class={`card source ${isActive ? "active" : ""}`}>
      <header class="row">
        <span class="chip">{number}</span>
        <a class="grow name" href={href} onClick={onOpen}>
          {of.title || of.document}
        </a>
      </header>
      <SourcePlace of={of} />
      <p class="serif clamp source-text">
        <Marked text={props.text} start={start} marks={props.marks ?? []} />
      </p>
      {children}
    </article>
  );
}

/** Page and section of a passage; the title of the document is not said twice. */
export function SourcePlace({ of: { title, section, page } }: Pick<SourceCardProps, "of">) {
  const parts = section.split(" > ").filter((part) => part && part !== title);
  if (page) parts.unshift(t("page {label}", { label: page }));
  if (parts.length === 0) return null;
  return <p class="small faint source-place">{parts.join(" › ")}</p>;
}

/** A text with the parts that matter marked. */
function Marked({ text, start, marks }: { text: string; start: number; marks: readonly Span[] }) {
  const pieces = useMemo(() => {
    const offsets = new Offsets(text);
    const shifted = marks.map(([from = 0, to = 0]) => [from - start, to - start]);
    return cutAtSpans(offsets, 0, offsets.toPoint(text.length), shifted);
  }, [text, start, marks]);
  return (
    <>
      {pieces.map(({ text: piece, start: at, covers }) => {
        const shown = plainText(piece);
        return covers.length > 0 ? <mark key={at}>{shown}</mark> : shown;
      })}
    </>
  );
}
