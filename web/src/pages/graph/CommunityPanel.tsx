import { Button } from "../../components/Button";
import { colourNumber } from "../../components/graph/colours";
import { count, t } from "../../i18n";
import { linkTo } from "../../state/location";
import { ask, asked, isFiltering } from "./asked";
import type { Atlas, Community, CommunityView } from "./atlas";
import { sayType } from "./words";

const STEPS = [30, 100, 300, 1_000, 2_000];

/** Return how many entities are shown next, where that are not all. */
export function nextStep(shown: number, total: number): number {
  return Math.min(total, STEPS.find((step) => step > shown) ?? shown);
}

interface CommunityPanelProps {
  atlas: Atlas;
  /** The community one is in; empty above all. */
  here: string;
  onFocus: (id: string) => void;
}

/** What is in view: the communities there, and the most important entities of the one one is in. */
export function CommunityPanel({ atlas, here, onFocus }: CommunityPanelProps) {
  void atlas.version.value;
  const view = here ? atlas.opened.get(here) : undefined;
  return view ? <Inside view={view} atlas={atlas} onFocus={onFocus} /> : <Above atlas={atlas} />;
}

function Above({ atlas }: { atlas: Atlas }) {
  const overview = atlas.overview.value;
  if (!overview) return null;
  const words = t.value.graph;
  const top = overview.communities.id.flatMap((id) => atlas.communities.get(id) ?? []);
  const { total } = overview;
  return (
    <div class="stack">
      <header class="entity-head">
        <h2>{words.overview}</h2>
        <p class="small muted">
          {words.holds(count(overview.entities), count(overview.relations))}
        </p>
        {!overview.is_current && (
          <p class="small warn-text">
            {words.outdated} <a href={linkTo("communities")}>{words.renew}</a>
          </p>
        )}
      </header>
      <CommunityList
        communities={top}
        total={total}
        order={words.bySize}
        onMore={
          top.length < total
            ? () => ask({ circles: Math.min(500, total) }, { replace: true })
            : null
        }
      />
    </div>
  );
}

interface InsideProps {
  view: CommunityView;
  atlas: Atlas;
  onFocus: (id: string) => void;
}

function Inside({ view, atlas, onFocus }: InsideProps) {
  const words = t.value.graph;
  const { part, circle } = view;
  const [id = ""] = circle.id;
  const children = view.children.id.flatMap((child) => atlas.communities.get(child) ?? []);
  const shown = part.entities.id.length;
  const next = nextStep(shown, part.entities_total);
  const [size = 0] = circle.size;
  const [matching = 0] = circle.matching;
  return (
    <div class="stack">
      <header class="entity-head">
        <h2 class="break">{circle.title[0]}</h2>
        <p class="small muted">
          {matching < size ? words.fits(count(matching), count(size)) : words.entityCount(size)}
          {children.length > 0 && ` · ${words.communityCount(children.length)}`}
        </p>
      </header>
      {view.summary && <Summary text={view.summary} />}
      <div class="row wrap">
        <a class="button plain" href={linkTo("communities", { c: id })}>
          {words.report}
        </a>
      </div>
      {children.length > 0 && (
        <CommunityList
          communities={children}
          total={view.children_total}
          order={words.bySize}
          onMore={null}
        />
      )}
      <section>
        <h3 class="panel-title">
          {words.entities}
          <span class="faint">
            {words.cut(count(shown), count(part.entities_total), words.byImportance)}
          </span>
        </h3>
        {part.entities_total === 0 && <p class="small muted">{words.noneFit}</p>}
        <ul class="thing-list">
          {part.entities.id.slice(0, 100).map((entity, index) => (
            <li key={entity}>
              <button type="button" onClick={() => onFocus(entity)}>
                <span
                  class={`swatch c${colourNumber(part.entities.type[index] ?? "")}`}
                  title={sayType(part.entities.type[index] ?? "")}
                />
                <span class="break">{part.entities.name[index]}</span>
                <span class="faint small number">{count(part.entities.chunks[index] ?? 0)}</span>
              </button>
            </li>
          ))}
        </ul>
        {shown > 100 && <p class="small muted">{words.restInTable(count(shown - 100))}</p>}
        {next > shown && (
          <Button kind="quiet" onClick={() => ask({ entities: next }, { replace: true })}>
            {words.showUpTo(count(next))}
          </Button>
        )}
      </section>
    </div>
  );
}

function Summary({ text }: { text: string }) {
  if (text.length < 280) return <p class="entity-description">{text}</p>;
  return (
    <details class="summary">
      <summary>
        <span class="entity-description">{text}</span>
      </summary>
    </details>
  );
}

interface CommunityListProps {
  communities: readonly Community[];
  total: number;
  order: string;
  onMore: (() => void) | null;
}

function CommunityList({ communities, total, order, onMore }: CommunityListProps) {
  const words = t.value.graph;
  const isNarrowed = isFiltering(asked.value.filter);
  return (
    <section>
      <h3 class="panel-title">
        {words.communities}
        <span class="faint">{words.cut(count(communities.length), count(total), order)}</span>
      </h3>
      <ul class="thing-list">
        {communities.map((community) => (
          <li key={community.id}>
            <button type="button" onClick={() => ask({ c: community.id, at: null, focus: null })}>
              <span class={`swatch round c${(community.colour % 8) + 1}`} />
              <span class="break">{community.title}</span>
              <span class="faint small number">
                {isNarrowed
                  ? t.value.common.of(count(community.matching), count(community.size))
                  : count(community.size)}
              </span>
            </button>
          </li>
        ))}
      </ul>
      {onMore && (
        <Button kind="quiet" onClick={onMore}>
          {words.showUpTo(count(Math.min(500, total)))}
        </Button>
      )}
    </section>
  );
}
