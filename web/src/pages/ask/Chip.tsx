import { useId, useRef, useState } from "preact/hooks";
import { SourcePlace } from "../../components/SourceCard";
import { decimal, t } from "../../i18n";
import { factMark, factPlace, type StatedFact } from "./facts";
import type { Citation } from "./runs";

const CARD_WIDTH = 340;
const EDGE = 12;

interface ChipProps {
  citation: Citation;
  isOpen: boolean;
  onOpen: () => void;
}

/** The number of a citation: a card while it is pointed at, its passage when it is pressed. */
export function Chip({ citation, isOpen, onOpen }: ChipProps) {
  const button = useRef<HTMLButtonElement>(null);
  const [place, setPlace] = useState<{ left: number; top: number; above: boolean } | null>(null);
  const id = useId();
  const show = () => {
    const box = button.current?.getBoundingClientRect();
    if (!box) return;
    const left = Math.max(EDGE, Math.min(box.left - 20, window.innerWidth - CARD_WIDTH - EDGE));
    const above = box.bottom > window.innerHeight * 0.6;
    setPlace({ left, top: above ? box.top - 6 : box.bottom + 6, above });
  };
  const hide = () => setPlace(null);
  return (
    <span class="chip-place">
      {"\u2060" /* A mark stays with the word before it. */}
      <button
        ref={button}
        type="button"
        class="chip"
        aria-label={t.value.ask.citation(citation.number, citation.title || citation.document)}
        aria-pressed={isOpen}
        aria-describedby={place ? id : undefined}
        onPointerEnter={(event) => {
          if (event.pointerType === "mouse") show();
        }}
        onPointerLeave={hide}
        onFocus={show}
        onBlur={hide}
        onClick={() => {
          hide();
          onOpen();
        }}
        onKeyDown={(event) => {
          if (event.key !== "Escape" || !place) return;
          event.stopPropagation();
          hide();
        }}
      >
        {citation.number}
      </button>
      {place && (
        <span
          id={id}
          role="tooltip"
          class={place.above ? "chip-card above" : "chip-card"}
          style={{ left: `${place.left}px`, top: `${place.top}px`, width: `${CARD_WIDTH}px` }}
        >
          <span class="row between">
            <strong class="clip">{citation.title || citation.document}</strong>
            <span class="small faint number">{decimal(citation.score, 2)}</span>
          </span>
          <SourcePlace title={citation.title} section={citation.section} page={citation.page} />
          <span class="chip-quote">{citation.quote}</span>
        </span>
      )}
    </span>
  );
}

/** The mark of a remembered fact: it leads to the fact below the answer. */
export function FactChip({ fact }: { fact: StatedFact }) {
  return (
    <span class="chip-place">
      {"\u2060"}
      <button
        type="button"
        class="chip fact"
        aria-label={t.value.ask.memory.mark(factMark(fact), fact.text)}
        title={fact.text}
        onClick={() => document.getElementById(factPlace(fact))?.focus()}
      >
        {factMark(fact)}
      </button>
    </span>
  );
}
