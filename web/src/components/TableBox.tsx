import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Icon } from "./Icon";

interface TableBoxProps {
  /** What is in it. */
  label: string;
  isInText?: boolean;
  class?: string;
  children: ComponentChildren;
}

/** A table that scrolls within itself where it has no room; the keyboard can scroll it, too. */
export function TableBox({ label, isInText = false, class: kind = "", children }: TableBoxProps) {
  const box = useRef<HTMLElement>(null);
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
  }, []);
  return (
    <section
      ref={box}
      class={`table-box ${kind}`}
      {...(scrolls || !isInText ? { "aria-label": label } : {})}
      {...(scrolls ? { tabIndex: 0 } : {})}
      {...(scrolls && isInText ? { role: "group" } : {})}
    >
      {children}
    </section>
  );
}

interface SortHeadProps {
  label: ComponentChildren;
  /** How rows are sorted by this column, if they are. */
  order: "ascending" | "descending" | "none";
  onSort: () => void;
  class?: string | undefined;
  width?: string;
}

/** The head of a column, which sorts by it. */
export function SortHead({ label, order, onSort, class: kind, width = "auto" }: SortHeadProps) {
  return (
    <th scope="col" class={kind} style={{ width }} aria-sort={order}>
      <button type="button" class="sorter" onClick={onSort}>
        {label}
        {order !== "none" && <Icon name={order === "descending" ? "down" : "up"} size={12} />}
      </button>
    </th>
  );
}
