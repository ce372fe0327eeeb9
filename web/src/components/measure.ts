/** What is measured of an element, such as its width. */

import type { RefObject } from "preact";
import { useEffect, useState } from "preact/hooks";

/** Return what `measure` says, now and whenever the size of the element or of a child changes. */
export function useMeasured<T>(
  box: RefObject<HTMLElement | null>,
  first: T,
  measure: (element: HTMLElement) => T,
): T {
  const [measured, setMeasured] = useState(first);
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const observer = new ResizeObserver(() => setMeasured(measure(element)));
    for (const each of [element, ...element.children]) observer.observe(each);
    return () => observer.disconnect();
  }, [box]);
  return measured;
}
