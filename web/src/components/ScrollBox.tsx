import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";
import { useMeasured } from "./measure";

interface ScrollBoxProps {
  /** What is in it. */
  label: string;
  /** Whether it is a part of the page; else it has a name only while it scrolls. */
  isPart?: boolean;
  class?: string;
  children: ComponentChildren;
}

/** A table or code: it scrolls within itself where it has no room, and the keyboard can scroll it. */
export function ScrollBox({ label, isPart = false, class: kind = "", children }: ScrollBoxProps) {
  const box = useRef<HTMLDivElement>(null);
  const scrolls = useMeasured(
    box,
    false,
    (element) =>
      element.scrollWidth > element.clientWidth || element.scrollHeight > element.clientHeight,
  );
  return (
    <div
      ref={box}
      class={`table-box ${kind}`}
      {...(isPart || scrolls ? { role: isPart ? "region" : "group", "aria-label": label } : {})}
      {...(scrolls ? { tabIndex: 0 } : {})}
    >
      {children}
    </div>
  );
}
