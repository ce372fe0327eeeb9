import { SourceCard } from "../../components/SourceCard";
import { t } from "../../i18n";
import { linkTo } from "../../state/location";
import { openPlace } from "./address";
import type { Citation, Hit, Run } from "./runs";

interface SourcesProps {
  run: Run;
  /** Of its turn, counted from 1. */
  turn: number;
  open: number;
  onOpen: (number: number) => void;
}

/** Of the passages that were found, shown until the answer is there. */
const MOST_FOUND = 4;

/** The passages that an answer cites; until it is there, those that were found. */
export function Sources({ run, turn, open, onOpen }: SourcesProps) {
  const words = t.value.ask;
  const answer = run.answer.value;
  const hits = answer ? [] : (run.evidence.value?.hits ?? []).slice(0, MOST_FOUND);
  const citations = answer?.answered ? answer.citations : [];
  if (citations.length + hits.length === 0) return null;
  const title = answer ? words.sources : words.foundPassages;
  return (
    <section class="stack tight" aria-label={title}>
      <h3 class="small muted">{title}</h3>
      <ol class="source-grid">
        {citations.map((citation) => (
          <li key={citation.number}>
            <CitationCard
              citation={citation}
              isActive={citation.number === open}
              id={`source-${turn}-${citation.number}`}
              onOpen={() => onOpen(citation.number)}
            />
          </li>
        ))}
        {hits.map((hit) => (
          <li key={hit.chunk_id}>
            <HitCard hit={hit} />
          </li>
        ))}
      </ol>
    </section>
  );
}

interface CitationCardProps {
  citation: Citation;
  isActive: boolean;
  id: string;
  onOpen: () => void;
}

function CitationCard({ citation, isActive, id, onOpen }: CitationCardProps) {
  const [start = 0, end = 0] = citation.span;
  return (
    <SourceCard
      number={citation.number}
      title={citation.title || citation.document}
      section={citation.section}
      page={citation.page}
      text={citation.quote}
      textStart={start}
      isActive={isActive}
      id={id}
      href={linkTo("documents", { doc: citation.document_id, start, end })}
      onOpen={(event) => opensBeside(event, onOpen)}
    />
  );
}

function HitCard({ hit }: { hit: Hit }) {
  const [start = 0, end = 0] = hit.span;
  const place = { document: hit.document_id, start, end };
  return (
    <SourceCard
      number={hit.rank}
      title={hit.title || hit.document}
      section={hit.section}
      page={hit.page}
      text={hit.text}
      textStart={start}
      marks={hit.sentences.slice(0, 1).map(({ span }) => span)}
      href={linkTo("documents", { doc: hit.document_id, start, end })}
      onOpen={(event) => opensBeside(event, () => openPlace(place))}
    />
  );
}

/** Open beside the thread; a click with a key that browsers know opens a tab, as ever. */
export function opensBeside(event: MouseEvent, then: () => void): void {
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return;
  event.preventDefault();
  then();
}
