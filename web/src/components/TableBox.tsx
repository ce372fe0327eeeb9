import type { ComponentChildren, RefObject } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

interface TableBoxProps {
  /** What the table shows. */
  label: string;
  children: ComponentChildren;
  class?: string;
}

/** A table that scrolls within itself where it has no room; the keyboard can scroll it, too. */
export function TableBox({ label, children, class: kind = "" }: TableBoxProps) {
  const box = useRef<HTMLElement>(null);
  const scrolls = useScrolls(box);
  return (
    <section
      ref={box}
      class={`table-box ${kind}`}
      aria-label={label}
      {...(scrolls ? { tabIndex: 0 } : {})}
    >
      {children}
    </section>
  );
}

/** Return whether something has no room for what is in it. */
export function useScrolls(box: RefObject<HTMLElement | null>): boolean {
  const [scrolls, setScrolls] = useState(false);
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const measure = () =>
      setScrolls(
        element.scrollWidth > element.clientWidth || element.scrollHeight > element.clientHeight,
      );
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    for (const child of element.children) observer.observe(child);
    return () => observer.disconnect();
  }, [box]);
  return scrolls;
}
