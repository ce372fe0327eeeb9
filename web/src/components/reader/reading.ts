/** What of a document is read: that is where one has scrolled to. */

import type { RefObject } from "preact";
import { useEffect, useRef } from "preact/hooks";

export type Box = RefObject<HTMLElement | null>;

/** Return what scrolls, or would scroll, around an element. */
export function scrollerOf(box: Box): HTMLElement | null {
  return box.current?.closest<HTMLElement>("[data-scroller]") ?? null;
}

interface Reading {
  /** How many pixels below the upper edge a reader looks, for a view so high. */
  eyes: (height: number) => number;
  /** How long nothing may have scrolled before. */
  pauseMs: number;
  say: (number: number) => void;
}

/** Say the number that the part which is read has as its data, whenever something has scrolled. */
export function useReading(box: Box, name: string, reading: Reading): void {
  const current = useRef(reading);
  current.current = reading;
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const look = () => {
      const view = scrollerOf(box)?.getBoundingClientRect();
      if (!view || !box.current) return;
      const x = view.left + Math.min(view.width, box.current.clientWidth) / 2;
      const y = Math.max(0, view.top) + current.current.eyes(view.height);
      const part = document.elementFromPoint(x, y)?.closest<HTMLElement>(`[data-${name}]`);
      if (part) current.current.say(Number(part.dataset[name]));
    };
    const hear = () => {
      clearTimeout(timer);
      timer = setTimeout(look, current.current.pauseMs);
    };
    document.addEventListener("scroll", hear, { capture: true, passive: true });
    return () => {
      clearTimeout(timer);
      document.removeEventListener("scroll", hear, { capture: true });
    };
  }, []);
}
