import type { ComponentChildren } from "preact";
import { useId, useRef, useState } from "preact/hooks";
import { plainText } from "../../components/plain";
import { SourcePlace } from "../../components/SourceCard";
import { t } from "../../i18n";
import { factMark, factOrigin, type StatedFact } from "./facts";
import { removed } from "./removed";
import type { Citation } from "./runs";

const CARD_WIDTH = 340;
const EDGE = 12;

interface MarkProps {
  mark: ComponentChildren;
  label: string;
  class?: string;
  pressed?: boolean;
  onPress: (button: HTMLElement) => void;
  /** The content of the card. */
  children: ComponentChildren;
}

/** A mark in an answer, with a card while it is pointed at or has the focus. */
function Mark({ mark, label, class: kind = "", pressed, onPress, children }: MarkProps) {
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
    <span class="nowrap">
      {"\u2060" /* A mark stays with the word before it. */}
      <button
        ref={button}
        type="button"
        class={`chip ${kind}`}
        aria-label={label}
        aria-pressed={pressed}
        aria-describedby={place ? id : undefined}
        onPointerEnter={(event) => {
          if (event.pointerType === "mouse") show();
        }}
        onPointerLeave={hide}
        onFocus={show}
        onBlur={hide}
        onClick={(event) => {
          hide();
          onPress(event.currentTarget);
        }}
        onKeyDown={(event) => {
          if (event.key !== "Escape" || !place) return;
          event.stopPropagation();
          hide();
        }}
      >
        {mark}
      </button>
      {place && (
        <span
          id={id}
          role="tooltip"
          class={`raised chip-card ${place.above ? "above" : ""}`}
          style={{ left: `${place.left}px`, top: `${place.top}px`, width: `${CARD_WIDTH}px` }}
        >
          {children}
        </span>
      )}
    </span>
  );
}

interface ChipProps {
  citation: Citation;
  isOpen: boolean;
  onOpen: () => void;
}

/** The number of a citation: its card has the quote, and a press opens its passage. */
export function Chip({ citation, isOpen, onOpen }: ChipProps) {
  const name = citation.title || citation.document;
  const isRemoved = removed.value.has(citation.document);
  const cited = { n: citation.number, title: name };
  return (
    <Mark
      mark={isRemoved ? <s>{citation.number}</s> : citation.number}
      class={isRemoved ? "removed" : ""}
      label={
        isRemoved ? t("Citation {n}: {title} (removed)", cited) : t("Citation {n}: {title}", cited)
      }
      pressed={isOpen}
      onPress={onOpen}
    >
      <strong class="clip">{name}</strong>
      {isRemoved && <span class="small warn-text">{t("This document was removed")}</span>}
      <SourcePlace of={citation} />
      <span class="serif clamp">{plainText(citation.quote)}</span>
    </Mark>
  );
}

/** The mark of a remembered fact: its card states it, and a press leads to it below the answer. */
export function FactChip({ fact }: { fact: StatedFact }) {
  return (
    <Mark
      mark={factMark(fact)}
      class="fact"
      label={t("Remembered fact {mark}: {fact}", { mark: factMark(fact), fact: fact.text })}
      onPress={(button) => {
        const cited = `[data-fact="${fact.number}"]`;
        button.closest(".turn")?.querySelector<HTMLElement>(cited)?.focus();
      }}
    >
      <strong>{t("Remembered fact")}</strong>
      <span class="small faint">{factOrigin(fact)}</span>
      <span class="serif clamp">{fact.text}</span>
    </Mark>
  );
}
