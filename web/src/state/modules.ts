/** Code that is loaded when it is first needed, and again if that failed. */

import { useEffect, useState } from "preact/hooks";
import { answers, noteAway, renewal } from "./connection";

type Load<T> = () => Promise<T>;

const loaded = new Map<Load<unknown>, unknown>();
const RELOADED = "reloaded";
const RELOAD_PAUSE_MS = 10_000;

/** Return what an import gives, or null until it is there.
 *
 * An import that found no server is repeated once the server is back. One that fails while the
 * server answers belongs to other pages than the server now has: the page is loaded again.
 */
export function useModule<T extends object>(load: Load<T>): T | null {
  const [module, setModule] = useState<T | null>((loaded.get(load) as T | undefined) ?? null);
  const turn = renewal.value;
  useEffect(() => {
    if (module !== null) return;
    let isWanted = true;
    load().then(
      (found) => {
        loaded.set(load, found);
        if (isWanted) setModule(() => found);
      },
      async () => {
        // Else the import would take them for loaded.
        for (const link of document.querySelectorAll<HTMLLinkElement>("link[rel=stylesheet]"))
          if (!link.sheet) link.remove();
        if (!(await answers())) void noteAway();
        else if (isWanted) reload();
      },
    );
    return () => {
      isWanted = false;
    };
  }, [load, module, turn]);
  return module;
}

/** Load the page again, unless that has just been done. */
function reload(): void {
  const last = Number(sessionStorage.getItem(RELOADED));
  if (Date.now() - last < RELOAD_PAUSE_MS) return;
  sessionStorage.setItem(RELOADED, String(Date.now()));
  location.reload();
}
