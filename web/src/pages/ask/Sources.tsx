import { useState } from "preact/hooks";
import { Button } from "../../components/Button";
import { SourceCard } from "../../components/SourceCard";
import { t } from "../../i18n";
import { linkTo } from "../../state/location";
import type { Place } from "./path";
import type { Citation, Hit, Run } from "./runs";

interface SourcesProps {
  run: Run;
  open: number;
  onOpen: (number: number) => void;
  onPlace: (place: Place) => void;
}

/** What an answer stands on: what it cites, and what else was found. */
export function Sources({ run, open, onOpen, onPlace }: SourcesProps) {
  const words = t.value.ask;
  const answer = run.answer.value;
  const hits = run.evidence.value?.hits ?? [];
  const [showsRest, setShowsRest] = useState(false);
  const citations = answer?.citations ?? [];
  const cited = new Set(citations.map(({ chunk_id }) => chunk_id));
  const rest = answer ? hits.filter(({ chunk_id }) => !cited.has(chunk_id)) : hits;
  if (citations.length === 0 && rest.length === 0) return null;
  const isOpen = !answer || showsRest;
  return (
    <section class="stack tight" aria-label={words.sources}>
      {citations.length > 0 && (
        <>
          <h2>{answer?.answered ? words.sources : words.nearest}</h2>
          <ol class="source-grid">
            {citations.map((citation) => (
              <li key={citation.number}>
                <CitationCard
                  citation={citation}
                  hit={hits.find(({ chunk_id }) => chunk_id === citation.chunk_id)}
                  isActive={citation.number === open}
                  onOpen={() => onOpen(citation.number)}
                />
              </li>
            ))}
          </ol>
        </>
      )}
      {rest.length > 0 && (
        <>
          {answer ? (
            <Button
              kind="quiet"
              icon={showsRest ? "down" : "right"}
              expanded={showsRest}
              class="fold"
              onClick={() => setShowsRest(!showsRest)}
            >
              {words.rest(rest.length)}
            </Button>
          ) : (
            <h2>{words.foundPassages}</h2>
          )}
          {isOpen && (
            <ol class="source-grid">
              {rest.map((hit) => (
                <li key={hit.chunk_id}>
                  <HitCard hit={hit} onPlace={onPlace} />
                </li>
              ))}
            </ol>
          )}
        </>
      )}
    </section>
  );
}

interface CitationCardProps {
  citation: Citation;
  hit: Hit | undefined;
  isActive: boolean;
  onOpen: () => void;
}

function CitationCard({ citation, hit, isActive, onOpen }: CitationCardProps) {
  const [start = 0, end = 0] = citation.span;
  // The sentence with what is around it, where the passage is known; else alone.
  const [from = start] = hit?.span ?? [];
  const isWithin = hit !== undefined && from <= start && (hit.span[1] ?? 0) >= end;
  return (
    <SourceCard
      number={citation.number}
      title={citation.title || citation.document}
      section={citation.section}
      page={citation.page}
      text={citation.quote}
      textStart={start}
      score={citation.score}
      isActive={isActive}
      id={`source-${citation.number}`}
      href={linkTo("documents", { doc: citation.document_id, start, end })}
      onOpen={(event) => open(event, onOpen)}
    >
      {isWithin && hit.seeds.length > 0 && (
        <p class="small faint clip">{t.value.ask.over(hit.seeds.join(", "))}</p>
      )}
    </SourceCard>
  );
}

function HitCard({ hit, onPlace }: { hit: Hit; onPlace: (place: Place) => void }) {
  const [start = 0, end = 0] = hit.span;
  return (
    <SourceCard
      number={hit.rank}
      title={hit.title || hit.document}
      section={hit.section}
      text={hit.text}
      textStart={start}
      marks={hit.sentences.slice(0, 1).map(({ span }) => span)}
      score={hit.score}
      href={linkTo("documents", { doc: hit.document_id, start, end })}
      onOpen={(event) => open(event, () => onPlace({ document: hit.document_id, start, end }))}
    />
  );
}

/** Open beside the answer; a click with a key that browsers know opens a tab, as ever. */
function open(event: MouseEvent, then: () => void): void {
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return;
  event.preventDefault();
  then();
}
