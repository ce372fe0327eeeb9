/** Lists of rows of one height, of which only those in view are drawn. */

import { useLayoutEffect, useRef, useState } from "preact/hooks";

const AHEAD = 8;

/** Return the rows in view of a box that scrolls; `onShow` is called with them as they change. */
export function useVirtualRows<T extends HTMLElement>(
  total: number,
  rowHeight: number,
  onShow: (first: number, end: number) => void,
) {
  const box = useRef<T>(null);
  const [view, setView] = useState({ first: 0, end: 30 });
  const measure = () => {
    const element = box.current;
    if (!element) return;
    const first = Math.max(0, Math.floor(element.scrollTop / rowHeight) - AHEAD);
    const end = Math.ceil((element.scrollTop + element.clientHeight) / rowHeight) + AHEAD;
    setView((before) => (before.first === first && before.end === end ? before : { first, end }));
  };
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, [rowHeight, total > 0]);
  const end = Math.min(view.end, total);
  const first = Math.min(view.first, Math.max(0, end - 1));
  useLayoutEffect(() => onShow(first, end), [first, end]);
  return {
    box,
    /** The rows to draw: from `first` up to `end`. */
    first,
    end,
    /** Pixels of the rows before and after those. */
    before: first * rowHeight,
    after: (total - end) * rowHeight,
    onScroll: measure,
  };
}

/** Return the numbers from `first` up to `end`. */
export function numbersBetween(first: number, end: number): number[] {
  return Array.from({ length: end - first }, (_, index) => first + index);
}
