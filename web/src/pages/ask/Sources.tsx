import { SourceCard } from "../../components/SourceCard";
import { t } from "../../i18n";
import { linkTo } from "../../state/location";
import { openPlace } from "./address";
import type { Citation, Hit, Run } from "./runs";

interface SourcesProps {
  run: Run;
  open: number;
  onOpen: (number: number) => void;
}

/** Of the passages that were found, shown until the answer is there. */
const MOST_FOUND = 4;

/** The passages that an answer cites; until it is there, those that were found. */
export function Sources({ run, open, onOpen }: SourcesProps) {
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
        {citations.map((cited) => (
          <Card
            key={cited.number}
            source={cited}
            number={cited.number}
            text={cited.quote}
            isActive={cited.number === open}
            onOpen={() => onOpen(cited.number)}
          />
        ))}
        {hits.map((hit) => (
          <Card key={hit.chunk_id} source={hit} number={hit.rank} text={hit.text} />
        ))}
      </ol>
    </section>
  );
}

interface CardProps {
  source: Citation | Hit;
  number: number;
  text: string;
  isActive?: boolean;
  /** What a click does; without, the passage is opened. */
  onOpen?: () => void;
}

function Card({ source, number, text, isActive = false, onOpen }: CardProps) {
  const [start = 0, end = 0] = source.span;
  const place = { document: source.document_id, start, end };
  return (
    <li>
      <SourceCard
        number={number}
        title={source.title || source.document}
        section={source.section}
        page={source.page}
        text={text}
        textStart={start}
        isActive={isActive}
        href={linkTo("documents", { doc: source.document_id, start, end })}
        onOpen={(event) => opensBeside(event, onOpen ?? (() => openPlace(place)))}
      />
    </li>
  );
}

/** Open beside the thread; a click with a key that browsers know opens a tab, as ever. */
export function opensBeside(event: MouseEvent, then: () => void): void {
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return;
  event.preventDefault();
  then();
}
