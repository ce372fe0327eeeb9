import { useEffect, useState } from "preact/hooks";
import type { Shapes } from "../../api/client";
import { Button, IconButton } from "../../components/Button";
import { Empty } from "../../components/Empty";
import { isMissing, Pending } from "../../components/ErrorState";
import { Check } from "../../components/Fields";
import { sayType, TypeIcon } from "../../components/graph/types";
import { plainText } from "../../components/plain";
import { More, Section, useFirst } from "../../components/Section";
import { optionsOf, Select } from "../../components/Select";
import { SourceCard } from "../../components/SourceCard";
import { count, t } from "../../i18n";
import { useCall } from "../../state/calls";
import { linkTo } from "../../state/location";
import { mayWrite } from "../../state/workspaces";
import { ask, asked, collapse, expand, focusOn, NOT_LOCAL } from "./asked";
import { CorrectionMenu, correct } from "./Corrections";
import { cutAround } from "./cutting";
import { shortTitle } from "./summary";
import { isMutual, sayRelation } from "./words";

type Details = Shapes["EntityDetails"];
type Row = Details["relations"][number];

const FIRST_FACTS = 12;
const FIRST_SOURCES = 4;
const MOST_SOURCES = 50;

/** All about one entity: what the documents state of it, each fact with its sentence, and where. */
export function EntityPanel({ id }: { id: string }) {
  const [sources, setSources] = useState(FIRST_SOURCES);
  const wanted = { entity: id, query: { relations: 200, sources } };
  const found = useCall("get", "/graph/entities/{entity}", wanted, { keepsOld: true });
  const entity = found.data;
  const isMerged = entity && entity.id !== id;
  useEffect(() => {
    if (isMerged) ask({ focus: entity.id }, { replace: true });
  }, [isMerged]);
  if (isMissing(found.error))
    return <Empty icon="none" title={t("This entity is no longer in the graph")} />;
  if (found.error || !entity) return <Pending of={found} lines={6} />;
  const stated = entity.relations.filter(({ relation }) => !isMutual(relation));
  const near = entity.relations.filter(({ relation }) => isMutual(relation));
  return (
    <div class="stack">
      <header class="stack tight entity-head">
        <h2 class="large break">{entity.name}</h2>
        <p class="small muted row wrap">
          {entity.type && (
            <span class="row">
              <TypeIcon type={entity.type} />
              {sayType(entity.type)}
            </span>
          )}
          <span>{t("{n} {n:passage|passages}", { n: entity.sources_total })}</span>
        </p>
        {entity.names.length > 0 && (
          <p class="small muted break">{t("Also: {names}", { names: entity.names.join(" · ") })}</p>
        )}
      </header>
      <div class="row wrap">
        <Button label={t("Add neighbours")} icon="plus" onClick={() => expand(id)} />
        {asked.value.expanded.includes(id) && (
          <Button label={t("Remove neighbours")} icon="minus" onClick={() => collapse(id)} />
        )}
        <Button
          label={t("Path to…")}
          icon="route"
          onClick={() => ask({ from: id, path: 1, pick: null })}
        />
        <a
          class="button plain"
          href={linkTo("ask", {
            q: t("What do the documents say about {name}?", { name: entity.name }),
          })}
        >
          {t("Ask about this")}
        </a>
        <CorrectionMenu entity={entity} />
      </div>
      <Local />
      {entity.description && <p class="serif">{entity.description}</p>}
      <Section title={t("Facts")} note={count(stated.length)}>
        {stated.length === 0 && (
          <p class="small muted">{t("The documents state no relation of it.")}</p>
        )}
        <Facts entity={entity} rows={stated} />
      </Section>
      {near.length > 0 && (
        <details>
          <summary class="panel-title">
            {t("Mentioned in the same sentence")}
            <span class="faint number">{count(near.length)}</span>
          </summary>
          <Facts entity={entity} rows={near} />
        </details>
      )}
      {entity.communities.length > 0 && (
        <Section title={t("Communities")}>
          <ul class="stack tight">
            {entity.communities.map(({ id, title }) => (
              <li key={id}>
                <a href={linkTo("communities", { c: id })}>{shortTitle(title)}</a>
              </li>
            ))}
          </ul>
        </Section>
      )}
      <Sources
        entity={entity}
        onMore={sources < MOST_SOURCES ? () => setSources(MOST_SOURCES) : null}
      />
    </div>
  );
}

/** The neighbourhood alone: how far, and whether with entities that relate to everything. */
function Local() {
  const { depth, hubs } = asked.value;
  return (
    <fieldset class="row wrap">
      <legend class="only-spoken">{t("Local view")}</legend>
      <Select
        label={t("Local view")}
        value={`${depth}`}
        onChoose={(next) =>
          ask(next === "0" ? { ...NOT_LOCAL, at: null } : { depth: next, at: null, more: null })
        }
      >
        {optionsOf(["0", "1", "2", "3"], (step) =>
          step === "0" ? t("Off") : t("{n} {n:step|steps}", { n: Number(step) }),
        )}
      </Select>
      {depth > 0 && (
        <Check
          label={t("Hide hubs")}
          isOn={!hubs}
          onChange={(isHidden) => ask({ hubs: isHidden ? 0 : null })}
        />
      )}
    </fieldset>
  );
}

function Facts({ entity, rows }: { entity: Details; rows: readonly Row[] }) {
  const [shown, more] = useFirst(rows, FIRST_FACTS);
  return (
    <>
      <ul class="fact-list stack tight">
        {shown.map(({ relation, forward, other, other_name: name, stated }) => {
          const label = sayRelation(relation);
          const far = { id: other, name };
          const [source, target] = forward ? [entity, far] : [far, entity];
          const end = (of: typeof far) =>
            of === far ? <EntityLink id={other} name={name} /> : entity.name;
          return (
            <li key={`${relation} ${forward} ${other}`}>
              <p class="row between top">
                <span>
                  {end(source)} <span class="muted">{label}</span> {end(target)}
                </span>
                {mayWrite.value && (
                  <IconButton
                    icon="close"
                    class="tiny"
                    label={t("Remove the relation {source} {relation} {target}", {
                      source: source.name,
                      relation: label,
                      target: target.name,
                    })}
                    onClick={() =>
                      correct("remove_relation", source.id, { relation, other: target.id })
                    }
                  />
                )}
              </p>
              <Quote stated={stated} />
            </li>
          );
        })}
      </ul>
      {more}
    </>
  );
}

/** The name of an entity, which leads to it. */
export function EntityLink({ id, name }: { id: string; name: string }) {
  return <Button kind="link" label={name} onClick={() => focusOn(id)} />;
}

/** The sentence that states a relation; it leads to its place. */
export function Quote({ stated }: { stated: Shapes["StatedShape"] | null | undefined }) {
  if (!stated) return null;
  const [start = 0, end = 0] = stated.span;
  return (
    <a
      class="quote quoted serif small"
      href={linkTo("documents", { doc: stated.document_id, start, end })}
      title={stated.title}
    >
      {plainText(stated.text)}
    </a>
  );
}

function Sources({ entity, onMore }: { entity: Details; onMore: (() => void) | null }) {
  const { sources, sources_total: total } = entity;
  return (
    <Section title={t("Sources")} note={t("{shown} of {total}", { shown: sources.length, total })}>
      <div class="stack tight">
        {sources.map((source, index) => {
          const [from = 0] = source.span;
          const [start = from, end = from] = source.marks[0] ?? source.span;
          const mark = source.marks[0]?.map((offset) => offset - from);
          const cut = cutAround(source.text, mark);
          return (
            <SourceCard
              key={source.chunk_id}
              number={index + 1}
              of={source}
              text={cut.text}
              textStart={from + cut.start}
              marks={source.marks}
              href={linkTo("documents", { doc: source.document_id, start, end })}
            />
          );
        })}
      </div>
      {sources.length < total && onMore && <More of={[sources.length, total]} onMore={onMore} />}
    </Section>
  );
}
