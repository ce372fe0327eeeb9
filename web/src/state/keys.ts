/** Keys: single letters while nobody types, sequences such as `g a`, and the help that lists them. */

import { signal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import { usesLetterKeys } from "./preferences";

export interface Shortcut {
  /** As `?`, `g a`, `Mod+k` or `Escape`; `Mod` is Control, and Command on a Mac. */
  keys: string;
  /** What it does, as the help says it; without, the help does not list it. */
  label?: string;
  run: (event: KeyboardEvent) => void;
}

const SEQUENCE_MS = 1_200;

/** Those that work now, the newest last: they go before the older ones. */
export const shortcuts = signal<readonly Shortcut[]>([]);

let prefix = "";
let prefixTimer: ReturnType<typeof setTimeout> | undefined;

/** Make keys work as long as the component is there, from the moment it is drawn. */
export function useShortcuts(wanted: readonly Shortcut[]): void {
  const current = useRef(wanted);
  current.current = wanted;
  const listed = wanted.map((shortcut) => `${shortcut.keys}\n${shortcut.label ?? ""}`).join("\n");
  useLayoutEffect(() => {
    const mine: Shortcut[] = current.current.map((shortcut, index) => ({
      ...shortcut,
      run: (event) => current.current[index]?.run(event),
    }));
    shortcuts.value = [...shortcuts.peek(), ...mine];
    return () => {
      shortcuts.value = shortcuts.peek().filter((shortcut) => !mine.includes(shortcut));
    };
  }, [listed]);
}

/** Return the name of a key press, as shortcuts write it. */
export function nameKey(event: KeyboardEvent): string {
  const isMod = event.ctrlKey || event.metaKey;
  const key = event.key.length === 1 && isMod ? event.key.toLowerCase() : event.key;
  return (isMod ? "Mod+" : "") + (event.altKey ? "Alt+" : "") + key;
}

const TAKES_KEYS = "input:not([type=radio], [type=checkbox]), textarea, select, [role=listbox]";

/** Return whether the focused element takes keys: a field to type in, or a list to choose from. */
export function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || target.matches(TAKES_KEYS));
}

function press(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.isComposing) return;
  const name = nameKey(event);
  const isLetter = name.length === 1;
  if (isLetter && (isTyping(event.target) || !usesLetterKeys.value)) return;
  // A dialog that is open has its letters to itself, and closes by Escape.
  if ((isLetter || name === "Escape") && document.querySelector("dialog[open]")) return;
  // Out of a field, so that letters are keys again.
  if (name === "Escape" && isTyping(event.target)) {
    (event.target as HTMLElement).blur();
    return;
  }
  const written = prefix ? `${prefix} ${name}` : name;
  clearTimeout(prefixTimer);
  prefix = "";
  const known = shortcuts.peek().toReversed();
  const found = known.find((shortcut) => shortcut.keys === written);
  if (found) {
    event.preventDefault();
    found.run(event);
    return;
  }
  if (isLetter && known.some((shortcut) => shortcut.keys.startsWith(`${written} `))) {
    prefix = written;
    prefixTimer = setTimeout(() => {
      prefix = "";
    }, SEQUENCE_MS);
  }
}

/** Listen to the keyboard. */
export function startKeys(): void {
  document.addEventListener("keydown", press);
}
