import { useEffect, useState } from "preact/hooks";
import { api, type Shapes, take } from "../../api/client";
import { Button } from "../../components/Button";
import { colourNumber } from "../../components/graph/colours";
import { Icon } from "../../components/Icon";
import { Menu } from "../../components/Menu";
import { count, t } from "../../i18n";
import { useLoaded } from "../../state/loading";
import { workspace } from "../../state/location";
import { ask, asked, isFiltering, NO_FILTER, writeList } from "./asked";
import type { Atlas } from "./atlas";
import { sayRelation, sayType } from "./words";

const MOST_WEIGHT = 20;

/** What is left out of the map, each choice with how many there are. */
export function Filters({ atlas }: { atlas: Atlas }) {
  const words = t.value.graph;
  const { filter } = asked.value;
  const chosen =
    filter.types.length +
    filter.relations.length +
    (filter.weight > 0 ? 1 : 0) +
    (filter.document ? 1 : 0);
  return (
    <Menu
      label={words.filter}
      side="right"
      class="filters"
      content={() => <Choices atlas={atlas} />}
    >
      <Icon name="filter" />
      <span>{chosen ? words.filterCount(count(chosen)) : words.filter}</span>
    </Menu>
  );
}

function Choices({ atlas }: { atlas: Atlas }) {
  void atlas.version.value;
  const words = t.value.graph;
  const { filter, community } = asked.value;
  // Counts are those of the community one is in, where it is known, else of everything.
  const source = atlas.opened.get(community) ?? atlas.overview.value;
  return (
    // With a place for the focus: else a click on a label would lead it out, and close the menu.
    <div class="filter-panel" tabIndex={-1}>
      <Facets
        title={words.types}
        facets={source?.types}
        chosen={filter.types}
        say={(type) => sayType(type) || words.untyped}
        swatch
        onChange={(names) => ask({ types: writeList(names) || null })}
      />
      <Facets
        title={words.relations}
        facets={source?.relation_names}
        chosen={filter.relations}
        say={sayRelation}
        onChange={(names) => ask({ relations: writeList(names) || null })}
      />
      <Weight value={filter.weight} />
      <DocumentChoice chosen={filter.document} />
      {isFiltering(filter) && (
        <Button kind="quiet" icon="close" onClick={() => ask(NO_FILTER)}>
          {words.clearFilter}
        </Button>
      )}
    </div>
  );
}

interface FacetsProps {
  title: string;
  facets: Shapes["FacetList"] | undefined;
  chosen: readonly string[];
  say: (name: string) => string;
  onChange: (names: readonly string[]) => void;
  swatch?: boolean;
}

function Facets({ title, facets, chosen, say, onChange, swatch = false }: FacetsProps) {
  const values = facets?.values ?? [];
  const listed = new Set(values.map((value) => value.name));
  const missing = chosen.filter((name) => !listed.has(name));
  const rows = [...values, ...missing.map((name) => ({ name, count: 0 }))];
  return (
    <fieldset class="facets">
      <legend>
        {title}
        {facets && facets.total > values.length && (
          <span class="faint small">
            {t.value.common.of(count(values.length), count(facets.total))}
          </span>
        )}
      </legend>
      <div class="facet-list">
        {rows.map(({ name, count: number }) => (
          <label key={name}>
            <input
              type="checkbox"
              checked={chosen.includes(name)}
              onChange={(event) =>
                onChange(
                  event.currentTarget.checked
                    ? [...chosen, name]
                    : chosen.filter((other) => other !== name),
                )
              }
            />
            {swatch && <span class={`swatch c${colourNumber(name)}`} />}
            <span class="clip" title={say(name)}>
              {say(name)}
            </span>
            <span class="faint small number">{count(number)}</span>
          </label>
        ))}
      </div>
    </fieldset>
  );
}

function Weight({ value }: { value: number }) {
  const words = t.value.graph;
  const [shown, setShown] = useState(value);
  useEffect(() => setShown(value), [value]);
  return (
    <label class="field">
      <span>{shown > 1 ? words.atLeast(count(shown)) : words.anyWeight}</span>
      <input
        type="range"
        min={1}
        max={MOST_WEIGHT}
        value={Math.max(1, shown)}
        onInput={(event) => setShown(event.currentTarget.valueAsNumber)}
        onChange={(event) => {
          const next = event.currentTarget.valueAsNumber;
          ask({ weight: next > 1 ? next : null });
        }}
      />
    </label>
  );
}

function DocumentChoice({ chosen }: { chosen: string }) {
  const words = t.value.graph;
  const [text, setText] = useState("");
  const sought = text.trim();
  const found = useLoaded(`${workspace.value}\n${sought}`, (signal) =>
    take(
      api.GET("/api/v1/workspaces/{workspace}/documents", {
        params: {
          path: { workspace: workspace.value },
          query: { name: sought, limit: 8, failed: false },
        },
        signal,
      }),
    ),
  );
  const documents = found.data?.documents ?? [];
  const total = found.data?.total ?? 0;
  return (
    <fieldset class="facets">
      <legend>
        {words.document}
        {total > documents.length && (
          <span class="faint small">
            {t.value.common.of(count(documents.length), count(total))}
          </span>
        )}
      </legend>
      <input
        type="search"
        aria-label={words.findDocument}
        placeholder={words.findDocument}
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
      />
      <div class="facet-list">
        <label>
          <input
            type="radio"
            name="document"
            checked={chosen === ""}
            onChange={() => ask({ document: null })}
          />
          <span class="clip">{words.allDocuments}</span>
        </label>
        {documents.map((document) => (
          <label key={document.id}>
            <input
              type="radio"
              name="document"
              checked={chosen === document.id}
              onChange={() => ask({ document: document.id })}
            />
            <span class="clip" title={document.uri}>
              {document.title || document.uri}
            </span>
          </label>
        ))}
      </div>
    </fieldset>
  );
}
