import { useEffect, useState } from "preact/hooks";
import { api, type Shapes, take } from "../../api/client";
import { Button, IconButton } from "../../components/Button";
import { ErrorState } from "../../components/ErrorState";
import { sayType, TypeIcon } from "../../components/graph/types";
import { Skeleton } from "../../components/Progress";
import { plainText } from "../../components/plain";
import { SourceCard } from "../../components/SourceCard";
import { count, t } from "../../i18n";
import { useLoaded } from "../../state/loading";
import { linkTo, workspace } from "../../state/location";
import { mayWrite, revision } from "../../state/workspaces";
import { ask, asked, NOT_LOCAL } from "./asked";
import { CorrectionMenu, correct } from "./Corrections";
import { cutAround } from "./cutting";
import { shortTitle } from "./summary";
import { isMutual, sayRelation } from "./words";

type Details = Shapes["EntityDetails"];
type Row = Details["relations"][number];

interface EntityPanelProps {
  id: string;
  isExpanded: boolean;
  onExpand: () => void;
  onCollapse: () => void;
  onFocus: (id: string) => void;
}

const FIRST_FACTS = 12;
const FIRST_SOURCES = 4;
const MOST_SOURCES = 50;

/** All about one entity: what the documents state of it, each fact with its sentence, and where. */
export function EntityPanel(props: EntityPanelProps) {
  const [sources, setSources] = useState(FIRST_SOURCES);
  const wanted = [workspace.value, props.id, sources, revision.value].join("\n");
  const found = useLoaded(
    wanted,
    (signal) =>
      take(
        api.GET("/api/v1/workspaces/{workspace}/graph/entities/{entity}", {
          params: {
            path: { workspace: workspace.value, entity: props.id },
            query: { relations: 200, sources },
          },
          signal,
        }),
      ),
    { keepsOld: true },
  );
  const words = t.value.graph;
  const entity = found.data;
  const isMerged = entity && entity.id !== props.id;
  useEffect(() => {
    if (isMerged) ask({ focus: entity.id }, { replace: true });
  }, [isMerged]);
  if (found.error) return <ErrorState error={found.error} retry={found.reload} />;
  if (!entity) return <Skeleton label={t.value.common.loading} lines={6} />;
  const stated = entity.relations.filter(({ relation }) => !isMutual(relation));
  const near = entity.relations.filter(({ relation }) => isMutual(relation));
  return (
    <div class="stack">
      <header class="entity-head">
        <h2 class="break">{entity.name}</h2>
        <p class="small muted row wrap">
          {entity.type && (
            <span class="row">
              <TypeIcon type={entity.type} />
              {sayType(entity.type)}
            </span>
          )}
          <span>{words.passages(entity.sources_total)}</span>
        </p>
        {entity.names.length > 0 && (
          <p class="small muted break">{words.alsoNamed(entity.names.join(" · "))}</p>
        )}
      </header>
      <div class="row wrap">
        <Button icon="plus" onClick={props.onExpand}>
          {words.expand}
        </Button>
        {props.isExpanded && (
          <Button icon="minus" onClick={props.onCollapse}>
            {words.collapse}
          </Button>
        )}
        <Button icon="route" onClick={() => ask({ from: props.id, path: 1, pick: null })}>
          {words.pathTo}
        </Button>
        <a class="button plain" href={linkTo("ask", { q: words.askAbout(entity.name) })}>
          {words.askThis}
        </a>
        <CorrectionMenu entity={entity} />
      </div>
      <Local />
      {entity.description && <p class="entity-description">{entity.description}</p>}
      <section>
        <h3 class="panel-title">
          {words.facts}
          <span class="faint number">{count(stated.length)}</span>
        </h3>
        {stated.length === 0 && <p class="small muted">{words.noRelations}</p>}
        <Facts entity={entity} rows={stated} onFocus={props.onFocus} />
      </section>
      {near.length > 0 && (
        <details>
          <summary class="panel-title">
            {words.mentionedWith}
            <span class="faint number">{count(near.length)}</span>
          </summary>
          <Facts entity={entity} rows={near} onFocus={props.onFocus} />
        </details>
      )}
      {entity.communities.length > 0 && (
        <section>
          <h3 class="panel-title">{words.communities}</h3>
          <ul class="stack tight">
            {entity.communities.map(({ id, title }) => (
              <li key={id}>
                <a href={linkTo("communities", { c: id })}>{shortTitle(title)}</a>
              </li>
            ))}
          </ul>
        </section>
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
  const words = t.value.graph;
  const { depth, hubs } = asked.value;
  return (
    <fieldset class="row wrap local">
      <legend class="only-spoken">{words.local}</legend>
      <label class="row">
        <span>{words.local}</span>
        <select
          value={depth}
          onChange={(event) => {
            const next = Number(event.currentTarget.value);
            ask(next ? { depth: next, at: null, more: null } : { ...NOT_LOCAL, at: null });
          }}
        >
          <option value={0}>{words.localOff}</option>
          {[1, 2, 3].map((step) => (
            <option key={step} value={step}>
              {words.distance(step)}
            </option>
          ))}
        </select>
      </label>
      {depth > 0 && (
        <label class="row">
          <input
            type="checkbox"
            checked={!hubs}
            onChange={(event) => ask({ hubs: event.currentTarget.checked ? 0 : null })}
          />
          <span>{words.hideHubs}</span>
        </label>
      )}
    </fieldset>
  );
}

interface FactsProps {
  entity: Details;
  rows: readonly Row[];
  onFocus: (id: string) => void;
}

function Facts({ entity, rows, onFocus }: FactsProps) {
  const [isWhole, setWhole] = useState(false);
  const words = t.value.graph;
  const shown = isWhole ? rows : rows.slice(0, FIRST_FACTS);
  return (
    <>
      <ul class="fact-list">
        {shown.map((row) => {
          const other = (
            <button type="button" class="link-button break" onClick={() => onFocus(row.other)}>
              {row.other_name}
            </button>
          );
          const relation = sayRelation(row.relation);
          const far = { id: row.other, name: row.other_name };
          const [source, target] = row.forward ? [entity, far] : [far, entity];
          return (
            <li key={`${row.relation} ${row.forward} ${row.other}`}>
              <p class="row between top">
                <span>
                  {row.forward ? entity.name : other} <span class="muted">{relation}</span>{" "}
                  {row.forward ? other : entity.name}
                </span>
                {mayWrite.value && (
                  <IconButton
                    icon="close"
                    class="tiny"
                    label={words.removeRelation(source.name, relation, target.name)}
                    onClick={() =>
                      correct({
                        kind: "remove_relation",
                        entity: source.id,
                        relation: row.relation,
                        other: target.id,
                      })
                    }
                  />
                )}
              </p>
              <Quote stated={row.stated} />
            </li>
          );
        })}
      </ul>
      {shown.length < rows.length && (
        <Button kind="quiet" onClick={() => setWhole(true)}>
          {t.value.common.more}
        </Button>
      )}
    </>
  );
}

/** The sentence that states a relation; it leads to its place. */
export function Quote({ stated }: { stated: Shapes["StatedShape"] | null | undefined }) {
  if (!stated) return null;
  const [start = 0, end = 0] = stated.span;
  return (
    <a
      class="quote small"
      href={linkTo("documents", { doc: stated.document_id, start, end })}
      title={stated.title}
    >
      {plainText(stated.text)}
    </a>
  );
}

interface SourcesProps {
  entity: Details;
  onMore: (() => void) | null;
}

function Sources({ entity, onMore }: SourcesProps) {
  const words = t.value.graph;
  const { sources, sources_total: total } = entity;
  return (
    <section>
      <h3 class="panel-title">
        {words.sources}
        <span class="faint number">{t.value.common.of(count(sources.length), count(total))}</span>
      </h3>
      <div class="stack tight">
        {sources.map((source, index) => {
          const [from = 0] = source.span;
          const [start = from, end = from] = source.marks[0] ?? source.span;
          const cut = cutAround(
            source.text,
            source.marks[0]?.map((offset) => offset - from),
          );
          return (
            <SourceCard
              key={source.chunk_id}
              number={index + 1}
              title={source.title || source.document}
              section={source.section}
              text={cut.text}
              textStart={from + cut.start}
              marks={source.marks}
              href={linkTo("documents", { doc: source.document_id, start, end })}
            />
          );
        })}
      </div>
      {sources.length < total && onMore && (
        <Button kind="quiet" onClick={onMore}>
          {t.value.common.more}
        </Button>
      )}
    </section>
  );
}
