import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { Button } from "../../components/Button";
import { count, t } from "../../i18n";

interface MoreProps<Item> {
  title: string;
  items: readonly Item[];
  keyOf: (item: Item) => string;
  row: (item: Item) => ComponentChildren;
}

const FIRST = 20;
const STEP = 100;

/** A list of which the first entries are shown, and then more; nothing for an empty one. */
export function More<Item>({ title, items, keyOf, row }: MoreProps<Item>) {
  const [limit, setLimit] = useState(FIRST);
  if (items.length === 0) return null;
  return (
    <div class="stack tight">
      <h3>{title}</h3>
      <ul class="small">
        {items.slice(0, limit).map((item) => (
          <li key={keyOf(item)}>{row(item)}</li>
        ))}
      </ul>
      {limit < items.length && (
        <Button kind="quiet" onClick={() => setLimit(limit + STEP)}>
          {t.value.common.more} ({t.value.common.of(count(limit), count(items.length))})
        </Button>
      )}
    </div>
  );
}
