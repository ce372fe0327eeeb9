import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { More } from "../../components/Section";
import { t } from "../../i18n";

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
  const [limit, setLimit] = useState(FIRST);
  if (items.length === 0) return null;
  return (
    <div class="stack tight">
      <h3>{title}</h3>
      <ul class="ruled small break">
        {items.slice(0, limit).map((item) => (
          <li key={keyOf(item)}>{row(item)}</li>
        ))}
      </ul>
      {limit < items.length && (
        <More
          note={`(${t("{shown} of {total}", { shown: limit, total: items.length })})`}
          onMore={() => setLimit(limit + STEP)}
        />
      )}
    </div>
  );
}
