/** What the page says and hears beside the mouse. */

import { useEffect } from "preact/hooks";
import { t } from "../../i18n";
import { speak } from "../../state/announcements";
import { useShortcuts } from "../../state/keys";
import { asked, setQuery } from "../../state/location";
import { closeReader, type Open, stepCitation } from "./address";
import type { Run } from "./runs";

const DIGITS = [1, 2, 3, 4, 5, 6, 7, 8, 9];

/** Say which citation is open, for those who do not see it. */
export function useSaidCitation(place: Open | null, run: Run | undefined): void {
  const number = place?.number ?? 0;
  const citation = run?.answer.value?.citations.find((known) => known.number === number);
  const said = citation ? t.value.ask.citation(number, citation.title || citation.document) : "";
  useEffect(() => {
    if (said) speak(said);
  }, [said]);
}

/** Keys of the page: through the citations, to one by its number, to the question and back. */
export function useAskKeys(run: Run | undefined, place: Open | null): void {
  const words = t.value.ask;
  const has = (number: number) =>
    run?.answer.peek()?.citations.some((citation) => citation.number === number) ?? false;
  useShortcuts([
    {
      keys: "/",
      label: words.keys.question,
      run: () => document.getElementById("question")?.focus(),
    },
    {
      keys: "Mod+Enter",
      label: words.ask,
      run: () => document.querySelector<HTMLFormElement>(".question-box")?.requestSubmit(),
    },
    { keys: "j", label: words.keys.next, run: () => stepCitation(run, 1) },
    { keys: "k", label: words.keys.before, run: () => stepCitation(run, -1) },
    {
      keys: ".",
      label: words.why.open,
      run: () => setQuery({ why: asked("why") ? null : 1 }, { replace: true }),
    },
    {
      keys: "Escape",
      label: words.keys.close,
      run: () => {
        if (place) closeReader();
      },
    },
    ...DIGITS.map((number) => ({
      keys: String(number),
      label: words.keys.open,
      run: () => {
        if (has(number)) setQuery({ cite: number, at: null });
      },
    })),
  ]);
}
