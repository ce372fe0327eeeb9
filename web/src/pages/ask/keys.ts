/** What the page says and hears beside the mouse. */

import { useEffect } from "preact/hooks";
import { t } from "../../i18n";
import { speak } from "../../state/announcements";
import { useShortcuts } from "../../state/keys";
import { type Open, openCitation, runOfAddress, stepCitation } from "./address";
import type { Run } from "./runs";

const DIGITS = [1, 2, 3, 4, 5, 6, 7, 8, 9];

/** Say which citation is open, for those who do not see it. */
export function useSaidCitation(place: Open | null): void {
  const { number, title, document } = place?.citation ?? {};
  const said = number
    ? t("Citation {n}: {title}", { n: number, title: title || document || "" })
    : "";
  useEffect(() => {
    if (said) speak(said);
  }, [said]);
}

/** Keys of the page: through the citations, to one by its number, to the question and back. */
export function useAskKeys(runs: readonly Run[]): void {
  useShortcuts([
    {
      keys: "/",
      label: t("Go to the question box"),
      run: () => document.getElementById("question")?.focus(),
    },
    {
      keys: "Mod+Enter",
      label: t("Ask"),
      run: () => document.querySelector<HTMLFormElement>(".question-box")?.requestSubmit(),
    },
    { keys: "j", label: t("Next citation"), run: () => stepCitation(runs, 1) },
    { keys: "k", label: t("Previous citation"), run: () => stepCitation(runs, -1) },
    {
      keys: ".",
      label: t("How it was found"),
      run: () =>
        document.querySelector<HTMLElement>(".turns > :last-child .how > summary")?.click(),
    },
    ...DIGITS.map((number) => ({
      keys: String(number),
      label: t("Open a citation by number"),
      run: () => {
        const run = runOfAddress(runs);
        const known = run?.answer.peek()?.citations.some((each) => each.number === number);
        if (run && known) openCitation(runs.indexOf(run) + 1, number);
      },
    })),
  ]);
}

/** Move the focus to the last answer: its citations are next. */
export function focusAnswer(): void {
  const answers = document.querySelectorAll<HTMLElement>(".turns .answer");
  const last = [...answers].at(-1);
  if (last) last.focus();
  else if (document.activeElement instanceof HTMLElement) document.activeElement.blur();
}
