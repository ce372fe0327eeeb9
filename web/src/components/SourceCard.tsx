import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import { t } from "../i18n";
import { cutAtSpans, Offsets, type Span } from "./offsets";
import { plainText } from "./plain";

interface SourceCardProps {
  number: number;
  title: string;
  section: string;
  page?: string;
  text: string;
  /** Where the text begins in its document; `marks` are spans of the document. */
  textStart: number;
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
  const { number, title, section, page, href, onOpen, isActive, id, children } = props;
  return (
    <article id={id} class={`card source ${isActive ? "active" : ""}`}>
      <header class="row">
        <span class="source-number">{number}</span>
        <a class="grow source-title" href={href} onClick={onOpen}>
          {title}
        </a>
      </header>
      <SourcePlace title={title} section={section} page={page ?? ""} />
      <p class="serif clamp source-text">
        <Marked text={props.text} start={props.textStart} marks={props.marks ?? []} />
      </p>
      {children}
    </article>
  );
}

/** Page and section of a passage; the title of the document is not said twice. */
export function SourcePlace({
  title,
  section,
  page,
}: {
  title: string;
  section: string;
  page: string;
}) {
  const parts = section.split(" > ").filter((part) => part && part !== title);
  if (page) parts.unshift(t("page {label}", { label: page }));
  if (parts.length === 0) return null;
  return <p class="small faint source-place">{parts.join(" › ")}</p>;
}

/** A text with the parts that matter marked. */
export function Marked({
  text,
  start,
  marks,
}: {
  text: string;
  start: number;
  marks: readonly Span[];
}) {
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
