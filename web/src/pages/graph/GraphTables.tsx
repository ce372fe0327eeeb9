import { useState } from "preact/hooks";
import { Button } from "../../components/Button";
import { count, t } from "../../i18n";
import { ask } from "./asked";
import type { Atlas } from "./atlas";
import type { Scene } from "./drawing";
import { sayRelation, sayType } from "./words";

const STEP = 100;

interface GraphTablesProps {
  atlas: Atlas;
  scene: Scene;
  /** The community one is in; empty above all. */
  here: string;
  onFocus: (id: string) => void;
}

/** What is drawn, as tables: communities, entities and relations. */
export function GraphTables({ atlas, scene, here, onFocus }: GraphTablesProps) {
  const words = t.value.graph;
  const inside = scene.communities.filter(({ parent }) => (parent ?? "") === here);
  const nameOf = (id: string) => atlas.entities.get(id)?.name ?? "";
  return (
    <div class="graph-tables stack loose">
      <Rows
        title={words.communities}
        heads={[words.name, words.entities, words.communities]}
        items={inside}
        keyOf={(community) => community.id}
        row={(community) => (
          <>
            <td>
              <button
                type="button"
                class="link-button break"
                onClick={() => ask({ c: community.id, at: null, focus: null })}
              >
                {community.title}
              </button>
            </td>
            <td class="number">
              {community.matching < community.size
                ? t.value.common.of(count(community.matching), count(community.size))
                : count(community.size)}
            </td>
            <td class="number">{count(community.children)}</td>
          </>
        )}
      />
      <Rows
        title={words.entities}
        heads={[words.name, words.type, words.passagesHead]}
        items={scene.entities}
        keyOf={(entity) => entity.id}
        row={(entity) => (
          <>
            <td>
              <button type="button" class="link-button break" onClick={() => onFocus(entity.id)}>
                {entity.name}
              </button>
            </td>
            <td>{sayType(entity.type)}</td>
            <td class="number">{count(entity.chunks)}</td>
          </>
        )}
      />
      <Rows
        title={words.relations}
        heads={[words.from, words.relation, words.to, words.weight]}
        items={scene.relations}
        keyOf={(relation) => relation.id}
        row={(relation) => (
          <>
            <td>
              <button
                type="button"
                class="link-button break"
                onClick={() => onFocus(relation.source)}
              >
                {nameOf(relation.source)}
              </button>
            </td>
            <td>{sayRelation(relation.name)}</td>
            <td>
              <button
                type="button"
                class="link-button break"
                onClick={() => onFocus(relation.target)}
              >
                {nameOf(relation.target)}
              </button>
            </td>
            <td class="number">{count(relation.weight)}</td>
          </>
        )}
      />
    </div>
  );
}

interface RowsProps<T> {
  title: string;
  heads: readonly string[];
  items: readonly T[];
  keyOf: (item: T) => string;
  row: (item: T) => preact.ComponentChildren;
}

function Rows<T>({ title, heads, items, keyOf, row }: RowsProps<T>) {
  const [shown, setShown] = useState(STEP);
  if (items.length === 0) return null;
  const listed = items.slice(0, shown);
  return (
    <section class="card">
      <div class="card-head">
        <h2>{title}</h2>
        <span class="faint small">
          {t.value.common.of(count(listed.length), count(items.length))}
        </span>
      </div>
      <div class="table-box">
        <table>
          <caption class="only-spoken">{title}</caption>
          <thead>
            <tr>
              {heads.map((head, index) => (
                <th
                  key={head}
                  scope="col"
                  class={index > 0 && isNumeric(heads, index) ? "number" : ""}
                >
                  {head}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {listed.map((item) => (
              <tr key={keyOf(item)}>{row(item)}</tr>
            ))}
          </tbody>
        </table>
      </div>
      {listed.length < items.length && (
        <Button kind="quiet" onClick={() => setShown(shown + 4 * STEP)}>
          {t.value.common.more}
        </Button>
      )}
    </section>
  );
}

function isNumeric(heads: readonly string[], index: number): boolean {
  const words = t.value.graph;
  const head = heads[index];
  return (
    head === words.weight ||
    head === words.passagesHead ||
    head === words.entities ||
    head === words.communities
  );
}
