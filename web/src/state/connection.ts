/** Whether the server answers, and when everything that is shown has to be loaded again. */

import { signal } from "@preact/signals";

/** Whether the last request found no server. */
export const isAway = signal(false);
/** Counts up when the server is back or the key has changed: what is shown is loaded again. */
export const renewal = signal(0);

const BEAT_MS = 5_000;
const SHORTEST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 4_000;

let waiting: (() => void)[] = [];

/** Load everything that is shown again. */
export function renew(): void {
  renewal.value += 1;
  const ready = waiting;
  waiting = [];
  for (const go of ready) go();
}

/** Wait until the server is back, or the key has changed. */
export function renewed(): Promise<void> {
  return new Promise((resolve) => waiting.push(resolve));
}

/** Return whether the server answers at the moment. */
export async function answers(): Promise<boolean> {
  try {
    return (await fetch("/health/live", { cache: "no-store" })).ok;
  } catch {
    return false;
  }
}

/** Note that a request found no server, and ask for it until it is back. */
export async function noteAway(): Promise<void> {
  if (isAway.peek()) return;
  isAway.value = true;
  for (let pause = SHORTEST_PAUSE_MS; ; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
    await new Promise((resolve) => setTimeout(resolve, pause));
    if (await answers()) break;
  }
  isAway.value = false;
  renew();
}

/** Look after the server as long as somebody sees the page. */
export function startConnection(): void {
  const look = async () => {
    if (document.visibilityState === "visible" && !isAway.peek() && !(await answers()))
      void noteAway();
  };
  setInterval(look, BEAT_MS);
  document.addEventListener("visibilitychange", look);
}
