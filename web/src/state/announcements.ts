/** Short messages: shown for a moment, and read out by a screen reader. */

import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { t } from "../i18n";

export interface Notice {
  id: number;
  text: string;
  tone: "plain" | "bad";
}

const SHOWN_MS = 6_000;
let next = 1;

export const notices = signal<readonly Notice[]>([]);
/** What is said to a screen reader alone, as where the focus went. */
export const spoken = signal("");

/** Show a message for a moment. */
export function announce(text: string, tone: Notice["tone"] = "plain"): void {
  const notice = { id: next++, text, tone };
  notices.value = [...notices.peek(), notice];
  setTimeout(() => dismiss(notice.id), SHOWN_MS);
}

/** Put a text on the clipboard, and say so. */
export async function copyText(text: string): Promise<void> {
  await navigator.clipboard.writeText(text);
  announce(t("Copied."));
}

export function dismiss(id: number): void {
  notices.value = notices.peek().filter((notice) => notice.id !== id);
}

/** Say something to a screen reader. */
export function speak(text: string): void {
  spoken.value = text;
}

/** Say a text to a screen reader whenever it changes. */
export function useSpoken(text: string): void {
  useEffect(() => {
    if (text) speak(text);
  }, [text]);
}
