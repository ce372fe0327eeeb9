/** The key that requests are sent with, where the server wants one. */

import { signal } from "@preact/signals";
import { renew } from "./connection";
import { keep, keepInTab, recall, recallInTab } from "./preferences";
import { hear, tell } from "./tabs";

const NAME = "key";

export const accessKey = signal(recallInTab(NAME) || (recall(NAME) ?? ""));
/** Whether the server refused to answer without a key, or with this one. */
export const isLocked = signal(false);
/** Whether the form for a key is open. */
export const needsKey = signal(false);

/** Note that the server wants a key, or another one than that of a request. */
export function noteLocked(sentKey: string): void {
  if (sentKey !== accessKey.peek()) return;
  isLocked.value = true;
  needsKey.value = true;
  tell("key-wanted");
}

/** Use a key; `stay` keeps it in this browser, else it goes with its tabs. */
export function useKey(key: string, { stay }: { stay: boolean }): void {
  keep(NAME, stay && key ? key : null);
  takeKey(key);
  tell("key", key);
}

function takeKey(key: string): void {
  accessKey.value = key;
  needsKey.value = false;
  isLocked.value = false;
  keepInTab(NAME, key);
  renew();
}

hear("key", (key) => {
  if (key !== accessKey.peek()) takeKey(key);
});
hear("key-wanted", () => {
  if (accessKey.peek() && !isLocked.peek()) tell("key", accessKey.peek());
});
