import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { SearchField } from "../../components/Fields";
import { sayType, TypeIcon } from "../../components/graph/types";
import { Section, useFirst } from "../../components/Section";
import { Table } from "../../components/Table";
import { count, t } from "../../i18n";
import { EntityLink } from "./EntityPanel";
import type { Entity, Relation, Scene } from "./scene";
import { shortTitle } from "./summary";
import { sayRelation } from "./words";

const STEP = 100;

/** What is on the map, as tables that can be sorted and filtered. */
export function Tables({ scene }: { scene: Scene }) {
  const [sought, setSought] = useState("");
  const names = new Map(scene.entities.map(({ id, name }) => [id, name]));
  const titles = new Map(
    scene.overview.communities.map(({ id, title }) => [id, shortTitle(title)]),
  );
  const nameOf = (id: string) => names.get(id) ?? "";
  const link = (id: string) => <EntityLink id={id} name={nameOf(id)} />;
  return (
    <div class="graph-tables stack loose">
      <SearchField label={t("Filter rows")} text={sought} onText={setSought} />
      <Rows<Entity>
        title={t("Entities")}
        items={scene.entities}
        sought={sought}
        keyOf={({ id }) => id}
        columns={[
          { head: t("Name"), value: ({ name }) => name, cell: ({ id }) => link(id) },
          {
            head: t("Type"),
            value: ({ type }) => sayType(type),
            cell: ({ type }) => (
              <span class="row">
                {type && <TypeIcon type={type} />}
                {sayType(type)}
              </span>
            ),
          },
          { head: t("Community"), value: ({ community }) => titles.get(community ?? "") ?? "" },
          { head: t("Relations"), value: ({ degree }) => degree },
          { head: t("Passages"), value: ({ chunks }) => chunks },
        ]}
      />
      <Rows<Relation>
        title={t("Relations")}
        items={scene.relations}
        sought={sought}
        keyOf={({ source, target, name }) => `${source} ${target} ${name}`}
        columns={[
          {
            head: t("From"),
            value: ({ source }) => nameOf(source),
            cell: ({ source }) => link(source),
          },
          { head: t("Relation"), value: ({ name }) => sayRelation(name) },
          {
            head: t("To"),
            value: ({ target }) => nameOf(target),
            cell: ({ target }) => link(target),
          },
          { head: t("Weight"), value: ({ weight }) => weight },
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
  const [shown, more] = useFirst(found, STEP, 4 * STEP);
  const isNumber = ({ value }: Column<Item>) =>
    items.length > 0 && typeof value(items[0] as Item) === "number";
  return (
    <Section
      level="h2"
      title={title}
      note={t("{shown} of {total}", { shown: found.length, total: items.length })}
    >
      <Table
        label={title}
        items={shown}
        keyOf={keyOf}
        columns={columns.map((each, index) => ({
          head: each.head,
          cell: (item: Item) => each.cell?.(item) ?? numbered(each.value(item)),
          class: isNumber(each) ? "number" : "",
          sort: {
            order: by === index ? (isBackward ? "descending" : "ascending") : "none",
            onSort: () => setOrder([index, by === index && !isBackward]),
          },
        }))}
      />
      {more}
    </Section>
  );
}

function numbered(value: string | number): string {
  return typeof value === "number" ? count(value) : value;
}
