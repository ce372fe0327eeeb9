import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { api, take } from "../../api/client";
import { Button } from "../../components/Button";
import { sayType, TypeIcon } from "../../components/graph/types";
import { count, t } from "../../i18n";
import { addJob, openJobs } from "../../state/jobs";
import { linkTo, workspace } from "../../state/location";
import { mayWrite } from "../../state/workspaces";
import { ask, asked, isFiltering, NO_FILTER, STEPS, writeList } from "./asked";
import { Search } from "./Search";
import { colourNumbers, type Scene } from "./scene";
import { shortTitle } from "./summary";
import { sayRelation } from "./words";

const FEW = 8;

/** What the colours and icons mean; a click shows only what has them. */
export function Legend({ scene }: { scene: Scene }) {
  const words = t.value.graph;
  const { filter, limit, phrase } = asked.value;
  const { overview } = scene;
  const numbers = colourNumbers(overview);
  const hasColours = overview.communities.length > 0;
  const toggle = (key: "types" | "relations", name: string) => {
    const chosen = filter[key];
    const next = chosen.includes(name)
      ? chosen.filter((other) => other !== name)
      : [...chosen, name];
    ask({ [key]: writeList(next) || null, at: null, focus: null });
  };
  const next = STEPS.find((step) => step > limit);
  return (
    <div class="legend stack">
      <header class="stack tight">
        <h2>{phrase || words.legend}</h2>
        <p class="small muted" role="status">
          {words.shown(count(scene.entities.length), count(scene.total))}
          {next && scene.total > scene.entities.length && !phrase && (
            <>
              {" "}
              <button
                type="button"
                class="link-button"
                onClick={() => ask({ limit: next, at: null }, { replace: true })}
              >
                {words.showMore}
              </button>
            </>
          )}
        </p>
        {scene.statement && (
          <details class="small">
            <summary>{words.statement}</summary>
            <code class="break">{scene.statement}</code>
          </details>
        )}
        {(isFiltering(filter) || phrase) && (
          <Button icon="close" class="fold" onClick={() => ask(NO_FILTER)}>
            {words.clearFilter}
          </Button>
        )}
      </header>
      <div class="stack tight">
        <Switch
          label={words.showCoOccurrence(count(scene.coOccurrences))}
          isOn={filter.coOccurrence}
          onChange={(isOn) => ask({ co: isOn ? 1 : null }, { replace: true })}
        />
        <Switch
          label={words.showMinor}
          isOn={filter.minor}
          onChange={(isOn) => ask({ minor: isOn ? 1 : null, at: null }, { replace: true })}
        />
      </div>
      <Facet
        title={words.types}
        items={overview.types.values.map(({ name, count: number }) => ({
          key: name,
          label: sayType(name) || words.untyped,
          number,
          isChosen: filter.types.includes(name),
          mark: (
            <span class={hasColours ? "" : `tint c${(numbers.get(name) ?? -1) + 1}`}>
              <TypeIcon type={name} />
            </span>
          ),
        }))}
        onToggle={(name) => toggle("types", name)}
      />
      {hasColours ? (
        <Facet
          title={words.communities}
          items={overview.communities.map(({ id, title, count: number }) => ({
            key: id,
            label: shortTitle(title),
            number,
            isChosen: filter.community === id,
            mark: <span class={`swatch c${(numbers.get(id) ?? -1) + 1}`} />,
          }))}
          onToggle={(id) => ask({ c: filter.community === id ? null : id, at: null, focus: null })}
        />
      ) : (
        <NoCommunities />
      )}
      <Facet
        title={words.relations}
        items={overview.relation_names.values.map(({ name, count: number }) => ({
          key: name,
          label: sayRelation(name),
          number,
          isChosen: filter.relations.includes(name),
        }))}
        onToggle={(name) => toggle("relations", name)}
      />
      <DocumentFilter />
      {hasColours && !overview.is_current && (
        <p class="small warn-text">
          {words.outdated} <a href={linkTo("communities")}>{words.renew}</a>
        </p>
      )}
    </div>
  );
}

interface Item {
  key: string;
  label: string;
  number: number;
  isChosen: boolean;
  mark?: ComponentChildren;
}

interface FacetProps {
  title: string;
  items: readonly Item[];
  onToggle: (key: string) => void;
}

function Facet({ title, items, onToggle }: FacetProps) {
  const [isWhole, setWhole] = useState(false);
  const present = items.filter(({ number, isChosen }) => number > 0 || isChosen);
  const shown = isWhole ? present : present.filter((item, index) => index < FEW || item.isChosen);
  if (present.length === 0) return null;
  return (
    <section>
      <h3 class="panel-title">{title}</h3>
      <ul class="facet">
        {shown.map(({ key, label, number, isChosen, mark }) => (
          <li key={key}>
            <button type="button" aria-pressed={isChosen} onClick={() => onToggle(key)}>
              {mark}
              <span class="clip grow" title={label}>
                {label}
              </span>
              <span class="faint small number">{count(number)}</span>
            </button>
          </li>
        ))}
      </ul>
      {shown.length < present.length && (
        <button type="button" class="link-button small" onClick={() => setWhole(true)}>
          {t.value.common.more} ({count(present.length - shown.length)})
        </button>
      )}
    </section>
  );
}

interface SwitchProps {
  label: string;
  isOn: boolean;
  onChange: (isOn: boolean) => void;
}

function Switch({ label, isOn, onChange }: SwitchProps) {
  return (
    <label class="row">
      <input
        type="checkbox"
        role="switch"
        checked={isOn}
        aria-checked={isOn}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
      <span>{label}</span>
    </label>
  );
}

function DocumentFilter() {
  const words = t.value.graph;
  const { document } = asked.value.filter;
  if (document) return null;
  return (
    <section>
      <h3 class="panel-title">{words.document}</h3>
      <Search
        label={words.findDocument}
        find={async (name, signal) => {
          const params = {
            path: { workspace: workspace.value },
            query: { name, limit: 8, state: "ready" as const },
          };
          const found = await take(
            api.GET("/api/v1/workspaces/{workspace}/documents", { params, signal }),
          );
          return found.documents.map((each) => ({
            id: each.id,
            name: each.title || each.uri,
            note: "",
          }));
        }}
        onChoose={(id) => ask({ document: id, at: null, focus: null })}
      />
    </section>
  );
}

/** The map needs no communities, but its colours do. */
function NoCommunities() {
  const words = t.value.graph;
  if (!mayWrite.value) return null;
  return (
    <section class="stack tight">
      <h3 class="panel-title">{words.communities}</h3>
      <p class="small muted">{words.noCommunities}</p>
      <Button class="fold" busy={openJobs.value.length > 0} onClick={buildCommunities}>
        {words.findCommunities}
      </Button>
    </section>
  );
}

export async function buildCommunities(): Promise<void> {
  const params = { path: { workspace: workspace.value } };
  const body = { rebuild: false };
  addJob(
    await take(api.POST("/api/v1/workspaces/{workspace}/communities/refresh", { params, body })),
  );
}
