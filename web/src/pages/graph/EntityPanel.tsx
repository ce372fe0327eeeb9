import { useState } from "preact/hooks";
import { api, type Shapes, take } from "../../api/client";
import { Button } from "../../components/Button";
import { ErrorState } from "../../components/ErrorState";
import { colourNumber } from "../../components/graph/colours";
import { Skeleton } from "../../components/Progress";
import { SourceCard } from "../../components/SourceCard";
import { count, t } from "../../i18n";
import { useLoaded } from "../../state/loading";
import { linkTo, workspace } from "../../state/location";
import { revision } from "../../state/workspaces";
import { ask } from "./asked";
import { cutAround } from "./cutting";
import { isMutual, sayRelation, sayType } from "./words";

type Details = Shapes["EntityDetails"];

interface EntityPanelProps {
  id: string;
  /** Neighbours that are not drawn yet; null while that is not known. */
  more: number | null;
  isExpanded: boolean;
  onExpand: () => Promise<unknown>;
  onCollapse: () => void;
  onFocus: (id: string) => void;
  onPath: () => void;
}

const FIRST_RELATIONS = 12;
const MOST_RELATIONS = 200;
const FIRST_SOURCES = 4;
const MOST_SOURCES = 50;

/** All about one entity: what it is, what it is related to, and the passages that speak of it. */
export function EntityPanel(props: EntityPanelProps) {
  const [relations, setRelations] = useState(FIRST_RELATIONS);
  const [sources, setSources] = useState(FIRST_SOURCES);
  const wanted = [workspace.value, props.id, relations, sources, revision.value].join("\n");
  const found = useLoaded(
    wanted,
    (signal) =>
      take(
        api.GET("/api/v1/workspaces/{workspace}/graph/entities/{entity}", {
          params: {
            path: { workspace: workspace.value, entity: props.id },
            query: { relations, sources },
          },
          signal,
        }),
      ),
    { keepsOld: true },
  );
  const words = t.value.graph;
  if (found.error) return <ErrorState error={found.error} retry={found.reload} />;
  const entity = found.data?.id === props.id ? found.data : null;
  if (!entity) return <Skeleton label={t.value.common.loading} lines={6} />;
  return (
    <div class="stack">
      <EntityHead entity={entity} />
      <div class="row wrap">
        <Button icon="plus" disabled={props.more === 0} onClick={props.onExpand}>
          {props.more === null || props.more === 0
            ? words.expand
            : words.expandMore(count(props.more))}
        </Button>
        <Button icon="minus" disabled={!props.isExpanded} onClick={props.onCollapse}>
          {words.collapse}
        </Button>
        <Button icon="route" onClick={props.onPath}>
          {words.pathFrom}
        </Button>
        <a class="button plain" href={linkTo("ask", { q: words.askAbout(entity.name) })}>
          {words.askThis}
        </a>
      </div>
      {entity.description && <p class="entity-description">{entity.description}</p>}
      <Homes entity={entity} />
      <Relations
        entity={entity}
        onFocus={props.onFocus}
        onMore={relations < MOST_RELATIONS ? () => setRelations(MOST_RELATIONS) : null}
      />
      <Sources
        entity={entity}
        onMore={sources < MOST_SOURCES ? () => setSources(MOST_SOURCES) : null}
      />
    </div>
  );
}

function EntityHead({ entity }: { entity: Details }) {
  const words = t.value.graph;
  return (
    <header class="entity-head">
      <h2 class="break">{entity.name}</h2>
      <p class="small muted">
        {entity.type && (
          <span class="type-mark">
            <span class={`swatch c${colourNumber(entity.type)}`} />
            {sayType(entity.type)}
            {" · "}
          </span>
        )}
        {words.passages(entity.sources_total)}
        {" · "}
        {words.relationCount(entity.relations_total)}
      </p>
      {entity.names.length > 0 && (
        <p class="small muted break">{words.alsoNamed(entity.names.join(" · "))}</p>
      )}
      {entity.x === null && <p class="small warn-text">{words.notOnMap}</p>}
    </header>
  );
}

function Homes({ entity }: { entity: Details }) {
  if (entity.communities.length === 0) return null;
  return (
    <nav class="crumbs small" aria-label={t.value.graph.communities}>
      {entity.communities.map((community) => (
        <button
          key={community.id}
          type="button"
          class="link-button"
          onClick={() => ask({ c: community.id, at: null, focus: null, view: null })}
        >
          {community.title}
        </button>
      ))}
    </nav>
  );
}

interface ListProps {
  entity: Details;
  onMore: (() => void) | null;
}

function Relations({ entity, onMore, onFocus }: ListProps & { onFocus: (id: string) => void }) {
  const words = t.value.graph;
  const { relations: rows, relations_total: total } = entity;
  return (
    <section>
      <h3 class="panel-title">
        {words.relations}
        <span class="faint number">{t.value.common.of(count(rows.length), count(total))}</span>
      </h3>
      {rows.length === 0 && <p class="small muted">{words.noRelations}</p>}
      <ul class="relation-list">
        {rows.map((row) => (
          <li key={`${row.relation} ${row.forward} ${row.other}`}>
            <span class="faint" aria-hidden="true">
              {isMutual(row.relation) ? "–" : row.forward ? "→" : "←"}
            </span>
            <span class="relation-words">
              <span class="muted small">
                {sayRelation(row.relation)}
                {!row.forward && !isMutual(row.relation) && (
                  <span class="only-spoken"> {words.backward}</span>
                )}
              </span>
              <button type="button" class="link-button break" onClick={() => onFocus(row.other)}>
                {row.other_name}
              </button>
            </span>
            <span class="faint small number" title={words.weight}>
              {count(row.weight)}
            </span>
          </li>
        ))}
      </ul>
      {rows.length < total && onMore && (
        <Button kind="quiet" onClick={onMore}>
          {t.value.common.more}
        </Button>
      )}
    </section>
  );
}

function Sources({ entity, onMore }: ListProps) {
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
