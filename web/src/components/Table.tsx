import type { ComponentChildren, ComponentProps } from "preact";
import { SortHead, TableBox } from "./TableBox";

export interface Column<Item> {
  head: ComponentChildren;
  cell: (item: Item) => ComponentChildren;
  /** Of its cells, as `number`. */
  class?: string;
  /** How rows are sorted by it, if they can be. */
  sort?: Pick<ComponentProps<typeof SortHead>, "order" | "onSort">;
}

interface TableProps<Item> {
  /** What the table shows. */
  label: string;
  items: readonly Item[];
  keyOf: (item: Item) => string;
  columns: readonly Column<Item>[];
  isChosen?: (item: Item) => boolean;
  class?: string;
}

/** Items as rows; what stands in the first column names its row. */
export function Table<Item>(props: TableProps<Item>) {
  const { label, items, keyOf, columns, isChosen, class: kind = "" } = props;
  return (
    <TableBox label={label} class={kind}>
      <table aria-label={label}>
        <thead>
          <tr>
            {columns.map(({ head, class: kind, sort }, index) =>
              sort ? (
                <SortHead key={index} label={head} class={kind} {...sort} />
              ) : (
                <th key={index} scope="col" class={kind}>
                  {head}
                </th>
              ),
            )}
          </tr>
        </thead>
        <tbody>
          {items.map((item) => (
            <tr key={keyOf(item)} class={isChosen?.(item) ? "chosen" : undefined}>
              {columns.map((column, index) => {
                const cell = { key: index, class: column.class, children: column.cell(item) };
                return index ? <td {...cell} /> : <th {...cell} scope="row" />;
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </TableBox>
  );
}
