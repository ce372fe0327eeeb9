import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { Button } from "../../components/Button";
import { sayType, TypeIcon } from "../../components/graph/types";
import { count, t } from "../../i18n";
import type { Entity, Relation, Scene } from "./scene";
import { shortTitle } from "./summary";
import { sayRelation } from "./words";

const STEP = 100;

interface TablesProps {
  scene: Scene;
  onFocus: (id: string) => void;
}

/** What is on the map, as tables that can be sorted and filtered. */
export function Tables({ scene, onFocus }: TablesProps) {
  const [sought, setSought] = useState("");
  const words = t.value.graph;
  const names = new Map(scene.entities.map(({ id, name }) => [id, name]));
  const titles = new Map(
    scene.overview.communities.map(({ id, title }) => [id, shortTitle(title)]),
  );
  const nameOf = (id: string) => names.get(id) ?? "";
  const link = (id: string) => (
    <button type="button" class="link-button break" onClick={() => onFocus(id)}>
      {nameOf(id)}
    </button>
  );
  return (
    <div class="graph-tables stack loose">
      <input
        type="search"
        aria-label={words.filterRows}
        placeholder={words.filterRows}
        value={sought}
        onInput={(event) => setSought(event.currentTarget.value)}
      />
      <Rows<Entity>
        title={words.entities}
        items={scene.entities}
        sought={sought}
        keyOf={({ id }) => id}
        columns={[
          { head: words.name, value: ({ name }) => name, cell: ({ id }) => link(id) },
          {
            head: words.type,
            value: ({ type }) => sayType(type),
            cell: ({ type }) => (
              <span class="row">
                {type && <TypeIcon type={type} />}
                {sayType(type)}
              </span>
            ),
          },
          { head: words.community, value: ({ community }) => titles.get(community ?? "") ?? "" },
          { head: words.relations, value: ({ degree }) => degree },
          { head: words.passagesHead, value: ({ chunks }) => chunks },
        ]}
      />
      <Rows<Relation>
        title={words.relations}
        items={scene.relations}
        sought={sought}
        keyOf={({ source, target, name }) => `${source} ${target} ${name}`}
        columns={[
          {
            head: words.from,
            value: ({ source }) => nameOf(source),
            cell: ({ source }) => link(source),
          },
          { head: words.relation, value: ({ name }) => sayRelation(name) },
          {
            head: words.to,
            value: ({ target }) => nameOf(target),
            cell: ({ target }) => link(target),
          },
          { head: words.weight, value: ({ weight }) => weight },
        ]}
      />
    </div>
  );
}

interface Column<Item> {
  head: string;
  value: (item: Item) => string | number;
  cell?: (item: Item) => ComponentChildren;
}

interface RowsProps<Item> {
  title: string;
  items: readonly Item[];
  sought: string;
  keyOf: (item: Item) => string;
  columns: readonly Column<Item>[];
}

function Rows<Item>({ title, items, sought, keyOf, columns }: RowsProps<Item>) {
  const [shown, setShown] = useState(STEP);
  /** The column that rows are sorted by, and whether from the end; -1 is by importance. */
  const [order, setOrder] = useState<readonly [number, boolean]>([-1, false]);
  const [by, isBackward] = order;
  const wanted = sought.trim().toLowerCase();
  const found = wanted
    ? items.filter((item) =>
        columns.some(({ value }) => String(value(item)).toLowerCase().includes(wanted)),
      )
    : [...items];
  const column = columns[by];
  if (column) {
    const collator = new Intl.Collator(undefined, { numeric: true });
    const compare = (one: Item, other: Item) => {
      const [a, b] = [column.value(one), column.value(other)];
      return typeof a === "number" && typeof b === "number"
        ? b - a
        : collator.compare(String(a), String(b));
    };
    found.sort((one, other) => (isBackward ? compare(other, one) : compare(one, other)));
  }
  const isNumber = ({ value }: Column<Item>) =>
    items.length > 0 && typeof value(items[0] as Item) === "number";
  return (
    <section>
      <h2 class="panel-title">
        {title}
        <span class="faint number">
          {t.value.common.of(count(found.length), count(items.length))}
        </span>
      </h2>
      <div class="table-box">
        <table>
          <caption class="only-spoken">{title}</caption>
          <thead>
            <tr>
              {columns.map((each, index) => (
                <th
                  key={each.head}
                  scope="col"
                  class={isNumber(each) ? "number" : ""}
                  aria-sort={by === index ? (isBackward ? "descending" : "ascending") : "none"}
                >
                  <button
                    type="button"
                    class="sorter"
                    onClick={() => setOrder([index, by === index && !isBackward])}
                  >
                    {each.head}
                    <span aria-hidden="true">{by === index ? (isBackward ? " ↑" : " ↓") : ""}</span>
                  </button>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {found.slice(0, shown).map((item) => (
              <tr key={keyOf(item)}>
                {columns.map((each) => (
                  <td key={each.head} class={isNumber(each) ? "number" : ""}>
                    {each.cell?.(item) ?? numbered(each.value(item))}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {shown < found.length && (
        <Button kind="quiet" onClick={() => setShown(shown + 4 * STEP)}>
          {t.value.common.more}
        </Button>
      )}
    </section>
  );
}

function numbered(value: string | number): string {
  return typeof value === "number" ? count(value) : value;
}
