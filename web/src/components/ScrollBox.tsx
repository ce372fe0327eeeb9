import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";
import { useScrolls } from "./TableBox";

interface ScrollBoxProps {
  /** What is in it. */
  label: string;
  class?: string;
  children: ComponentChildren;
}

/** A table or code within a text: it scrolls within itself, and the keyboard can scroll it. */
export function ScrollBox({ label, class: kind = "", children }: ScrollBoxProps) {
  const box = useRef<HTMLDivElement>(null);
  const scrolls = useScrolls(box);
  return (
    <div
      ref={box}
      class={`table-box ${kind}`}
      {...(scrolls ? { tabIndex: 0, role: "group", "aria-label": label } : {})}
    >
      {children}
    </div>
  );
}
