import type { ComponentChildren } from "preact";
import { useFirst } from "../../components/Section";

interface ListProps<Item> {
  title: string;
  items: readonly Item[];
  keyOf: (item: Item) => string;
  row: (item: Item) => ComponentChildren;
}

const FIRST = 20;
const STEP = 100;

/** A list of which the first entries are shown, and then more; nothing for an empty one. */
export function Entries<Item>({ title, items, keyOf, row }: ListProps<Item>) {
  const [shown, more] = useFirst(items, FIRST, STEP);
  if (items.length === 0) return null;
  return (
    <div class="stack tight">
      <h3>{title}</h3>
      <ul class="ruled small break">
        {shown.map((item) => (
          <li key={keyOf(item)}>{row(item)}</li>
        ))}
      </ul>
      {more}
    </div>
  );
}
