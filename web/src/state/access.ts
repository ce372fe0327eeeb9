/** The key that requests are sent with, where the server wants one. */

import { signal } from "@preact/signals";
import { keep, recall } from "./preferences";

const NAME = "key";

function readKey(): string {
  try {
    return sessionStorage.getItem(NAME) ?? recall(NAME) ?? "";
  } catch {
    return recall(NAME) ?? "";
  }
}

export const accessKey = signal(readKey());
/** Whether the server refused to answer without a key, or with this one. */
export const needsKey = signal(false);

/** Use a key; `stay` keeps it in this browser, else it goes with the tab. */
export function useKey(key: string, { stay }: { stay: boolean }): void {
  accessKey.value = key;
  needsKey.value = false;
  keep(NAME, stay && key ? key : null);
  try {
    if (key) sessionStorage.setItem(NAME, key);
    else sessionStorage.removeItem(NAME);
  } catch {
    // It lasts as long as the page.
  }
}
