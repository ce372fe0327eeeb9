import { SourceCard } from "../../components/SourceCard";
import { t } from "../../i18n";
import { instead, linkTo } from "../../state/location";
import { openPlace, placeOf } from "./address";
import { removed } from "./removed";
import type { Citation, Hit, Run } from "./runs";

/** Return what a link to a passage has; without `open`, a click opens the passage beside the thread. */
export function linkOf(passage: Citation | Hit, open = () => openPlace(placeOf(passage))) {
  const { document: doc, start, end } = placeOf(passage);
  return {
    href: linkTo("documents", { doc, start, end }),
    onClick: (event: MouseEvent) => instead(event, open),
  };
}

interface SourcesProps {
  run: Run;
  open: number;
  onOpen: (number: number) => void;
}

/** Of the passages that were found, shown until the answer is there. */
const MOST_FOUND = 4;

/** The passages that an answer cites; until it is there, those that were found. */
export function Sources({ run, open, onOpen }: SourcesProps) {
  const answer = run.answer.value;
  const cited = (answer?.answered ? answer.citations : []).map((source) => ({
    source,
    number: source.number,
    text: source.quote,
    isActive: source.number === open,
    ...linkOf(source, () => onOpen(source.number)),
  }));
  const hits = answer ? [] : (run.evidence.value?.hits ?? []).slice(0, MOST_FOUND);
  const found = hits.map((source) => ({
    source,
    number: source.rank,
    text: source.text,
    isActive: false,
    ...linkOf(source),
  }));
  const shown = [...cited, ...found];
  if (shown.length === 0) return null;
  const title = answer ? t("Sources") : t("Passages found");
  return (
    <section class="stack tight" aria-label={title}>
      <h3 class="small muted">{title}</h3>
      <ol class="grid">
        {shown.map(({ source, onClick, ...card }) => (
          <li key={card.number}>
            <SourceCard {...card} of={source} onOpen={onClick}>
              {removed.value.has(source.document) && (
                <p class="small warn-text">{t("This document was removed")}</p>
              )}
            </SourceCard>
          </li>
        ))}
      </ol>
    </section>
  );
}
