import type { ComponentChildren } from "preact";
import { Button } from "../../components/Button";
import { Check } from "../../components/Fields";
import { findDocuments } from "../../components/find";
import { sayType, TypeIcon } from "../../components/graph/types";
import { Section, useFirst } from "../../components/Section";
import { count, t } from "../../i18n";
import { call } from "../../state/calls";
import { addJob, openJobs } from "../../state/jobs";
import { linkTo } from "../../state/location";
import { mayWrite } from "../../state/workspaces";
import { ask, asked, isFiltering, NO_FILTER, STEPS, writeList } from "./asked";
import { Search } from "./Search";
import { colourNumbers, type Scene } from "./scene";
import { shortTitle } from "./summary";
import { sayRelation } from "./words";

const FEW = 8;

/** What the colours and icons mean; a click shows only what has them. */
export function Legend({ scene }: { scene: Scene }) {
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
    <div class="stack">
      <header class="stack tight">
        <h2>{phrase || t("Legend")}</h2>
        <p class="small muted" role="status">
          {t("{shown} of {total} entities, by importance.", {
            shown: scene.entities.length,
            total: scene.total,
          })}
          {next && scene.total > scene.entities.length && !phrase && (
            <>
              {" "}
              <Button
                kind="link"
                label={t("Show more")}
                onClick={() => ask({ limit: next, at: null }, { replace: true })}
              />
            </>
          )}
        </p>
        {scene.statement && (
          <details class="small">
            <summary>{t("Query")}</summary>
            <code class="break">{scene.statement}</code>
          </details>
        )}
        {(isFiltering(filter) || phrase) && (
          <Button
            label={t("Show everything")}
            icon="close"
            class="fold"
            onClick={() => ask(NO_FILTER)}
          />
        )}
      </header>
      <div class="stack tight">
        <Check
          isSwitch
          label={t("Show co-occurrence ({n})", { n: scene.coOccurrences })}
          isOn={filter.coOccurrence}
          onChange={(isOn) => ask({ co: isOn ? 1 : null }, { replace: true })}
        />
        <Check
          isSwitch
          label={t("Show dates, numbers, files and rare names")}
          isOn={filter.minor}
          onChange={(isOn) => ask({ minor: isOn ? 1 : null, at: null }, { replace: true })}
        />
      </div>
      <Facet
        title={t("Types")}
        items={overview.types.values.map(({ name, count: number }) => ({
          key: name,
          label: sayType(name) || t("No type"),
          number,
          isChosen: filter.types.includes(name),
          mark: (
            <span class="tint" style={hasColours ? {} : { color: colourOf(numbers.get(name)) }}>
              <TypeIcon type={name} />
            </span>
          ),
        }))}
        onToggle={(name) => toggle("types", name)}
      />
      {hasColours ? (
        <Facet
          title={t("Communities")}
          items={overview.communities.map(({ id, title, count: number }) => ({
            key: id,
            label: shortTitle(title),
            number,
            isChosen: filter.community === id,
            mark: <span class="swatch" style={{ color: colourOf(numbers.get(id)) }} />,
          }))}
          onToggle={(id) => ask({ c: filter.community === id ? null : id, at: null, focus: null })}
        />
      ) : (
        <NoCommunities />
      )}
      <Facet
        title={t("Relations")}
        items={overview.relation_names.values.map(({ name, count: number }) => ({
          key: name,
          label: sayRelation(name),
          number,
          isChosen: filter.relations.includes(name),
        }))}
        onToggle={(name) => toggle("relations", name)}
      />
      {!filter.document && (
        <Section title={t("Document")}>
          <Search
            label={t("Find a document")}
            find={findDocuments}
            onChoose={(id) => ask({ document: id, at: null, focus: null })}
          />
        </Section>
      )}
      {hasColours && !overview.is_current && (
        <p class="small warn-text">
          {t("Documents have changed since the communities were built.")}{" "}
          <a href={linkTo("communities")}>{t("Rebuild communities")}</a>
        </p>
      )}
    </div>
  );
}

function colourOf(number: number | undefined): string {
  return `var(--data-${number === undefined ? "other" : number + 1})`;
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
  const present = items.filter(({ number, isChosen }) => number > 0 || isChosen);
  const [first, more] = useFirst(present, FEW);
  const shown = present.filter((item) => item.isChosen || first.includes(item));
  if (present.length === 0) return null;
  return (
    <Section title={title}>
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
      {more}
    </Section>
  );
}

/** The map needs no communities, but its colours do. */
function NoCommunities() {
  if (!mayWrite.value) return null;
  return (
    <Section title={t("Communities")} class="stack tight">
      <p class="small muted">{t("Communities colour the map by topic. They are not built yet.")}</p>
      <Button
        label={t("Build communities")}
        class="fold"
        busy={openJobs.value.length > 0}
        onClick={buildCommunities}
      />
    </Section>
  );
}

export async function buildCommunities(): Promise<void> {
  addJob(await call("post", "/communities/refresh", { body: { rebuild: false } }));
}
