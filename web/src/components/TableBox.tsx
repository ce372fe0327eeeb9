import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";
import { Icon } from "./Icon";
import { useMeasured } from "./measure";

interface TableBoxProps {
  /** What is in it. */
  label: string;
  /** Whether it is a table or code within a text, and no part of the page of its own. */
  isInText?: boolean;
  class?: string;
  children: ComponentChildren;
}

/** A table that scrolls within itself where it has no room; the keyboard can scroll it, too. */
export function TableBox({ label, isInText = false, class: kind = "", children }: TableBoxProps) {
  const box = useRef<HTMLElement>(null);
  const scrolls = useMeasured(
    box,
    false,
    (at) => at.scrollWidth > at.clientWidth || at.scrollHeight > at.clientHeight,
  );
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
