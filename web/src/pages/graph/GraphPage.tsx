import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { api, take } from "../../api/client";
import { Button, IconButton } from "../../components/Button";
import { Empty } from "../../components/Empty";
import { ErrorState, tellError } from "../../components/ErrorState";
import { canDrawMaps } from "../../components/graph/drawable";
import type { MapView } from "../../components/graph/map-view";
import { Skeleton } from "../../components/Progress";
import { count, t } from "../../i18n";
import { announce, speak } from "../../state/announcements";
import { addJob, openJobs } from "../../state/jobs";
import { linkTo, workspace } from "../../state/location";
import { mayWrite } from "../../state/workspaces";
import { ask, asked, isFiltering, NO_FILTER, writeList } from "./asked";
import { CommunityPanel, nextStep } from "./CommunityPanel";
import { EntityPanel } from "./EntityPanel";
import { exportScene } from "./exporting";
import { GraphTables } from "./GraphTables";
import "./graph.css";
import { useGraphKeys } from "./keys";
import { MapCanvas } from "./MapCanvas";
import { PathPanel } from "./PathPanel";
import { type Session, useSession } from "./session";
import { neighboursOf, standAlong, standOut } from "./standing";
import { Crumbs, Toolbar } from "./Toolbar";

/** The graph: from communities down to entities, and back. */
export default function GraphPage() {
  const [canDraw, setCanDraw] = useState(canDrawMaps);
  const isNarrow = useNarrow();
  const view = asked.value.view || (isNarrow ? "table" : "map");
  const isTable = view === "table" || !canDraw;
  const session = useSession(isTable);
  const words = t.value.graph;
  const title = [t.value.pages.graph, workspace.value, t.value.shell.product].join(" · ");
  useEffect(() => {
    document.title = title;
  }, [title]);
  const overview = session.atlas.overview.value;
  const error = session.atlas.error.value;
  if (!overview && error) {
    return (
      <div class="stack">
        <ErrorState error={error} retry={session.restart} />
        {isFiltering(asked.value.filter) && (
          <p>
            <Button onClick={() => ask(NO_FILTER)}>{words.clearFilter}</Button>
          </p>
        )}
      </div>
    );
  }
  if (!overview) return <Skeleton label={words.drawing} lines={6} />;
  if (overview.levels.length === 0) {
    return (
      <>
        <h1 class="only-spoken">{t.value.pages.graph}</h1>
        <NoMap />
      </>
    );
  }
  return (
    <Shell
      session={session}
      isTable={isTable}
      isNarrow={isNarrow}
      canDraw={canDraw}
      onFail={(failure) => {
        setCanDraw(false);
        announce(`${words.cannotDraw} ${tellError(failure)}`, "bad");
      }}
    />
  );
}

interface ShellProps {
  session: Session;
  isTable: boolean;
  isNarrow: boolean;
  canDraw: boolean;
  onFail: (error: unknown) => void;
}

function Shell({ session, isTable, isNarrow, canDraw, onFail }: ShellProps) {
  const view = useRef<MapView | null>(null);
  const field = useRef<HTMLInputElement>(null);
  const [stations, setStations] = useState<readonly string[]>([]);
  const { atlas, scene, here } = session;
  const { focus, way, expanded, filter } = asked.value;
  const words = t.value.graph;

  const focusOn = (id: string) => ask({ focus: id, at: null, from: null, to: null, pick: null });
  const around = atlas.around.get(focus);
  useFocus(session, view);

  const emphasis = useMemo(() => {
    if (way && stations.length) return standAlong(stations, scene.lines);
    return focus && atlas.entities.has(focus) ? standOut(focus, scene.lines) : null;
  }, [scene, focus, way, stations, atlas]);

  const choosePath = (ids: readonly string[]) => {
    setStations(ids);
    atlas.pin(ids);
    if (!ids.length) return;
    const missing = ids.filter((id) => !atlas.entities.has(id));
    void (missing.length ? atlas.find(ids) : Promise.resolve())
      .then(() => requestAnimationFrame(() => view.current?.fit(ids)))
      .catch((error: unknown) => announce(tellError(error), "bad"));
  };
  useEffect(() => {
    if (!way) {
      setStations([]);
      atlas.pin([]);
      return;
    }
    atlas.find([way.from, way.to].filter((id) => !atlas.entities.has(id))).catch(() => undefined);
  }, [atlas, way?.from, way?.to]);

  const expand = async () => {
    if (!focus) return;
    const drawn = scene.entities.map(({ id }) => id);
    const added = await atlas.expand(focus, drawn);
    ask({ more: writeList([...new Set([...expanded, focus])]) }, { replace: true });
    const more = atlas.around.get(focus)?.more ?? 0;
    speak(words.expanded(count(added), count(more)));
  };
  const collapse = () => {
    atlas.collapse(focus);
    ask({ more: writeList(expanded.filter((id) => id !== focus)) || null }, { replace: true });
    speak(words.collapsed);
  };
  const startPath = () => ask({ from: focus || "", to: way?.to ?? "", pick: null });
  useGraphKeys({ session, view, field, expand, collapse, startPath, isTable, canDraw });

  const exportAs = (kind: "png" | "svg" | "graphml") =>
    exportScene(kind, { atlas, scene, view: view.current, name: workspace.value });
  const isFocused = focus !== "";
  return (
    <div class={`map-page ${isTable ? "as-table" : ""} ${isFocused || way ? "has-panel" : ""}`}>
      <h1 class="only-spoken">{t.value.pages.graph}</h1>
      <Toolbar
        atlas={atlas}
        field={field}
        isTable={isTable}
        canDraw={canDraw}
        onChoose={focusOn}
        onPath={() => (way ? ask({ from: null, to: null, pick: null }) : startPath())}
        onExport={exportAs}
      />
      <div class="map-main">
        <div class="map-line">
          <Crumbs chain={atlas.chain(here)} />
          <Shown session={session} />
        </div>
        {atlas.error.value && <ErrorState error={atlas.error.value} retry={session.restart} />}
        {isTable ? (
          <GraphTables atlas={atlas} scene={scene} here={here} onFocus={focusOn} />
        ) : (
          <MapCanvas
            session={session}
            emphasis={emphasis}
            onView={(next) => {
              view.current = next;
            }}
            onNode={focusOn}
            onFail={onFail}
          />
        )}
        {!isTable && <Zoom view={view} />}
        {isFiltering(filter) && scene.communities.every(({ matching }) => matching === 0) && (
          <div class="map-note">
            <span>{words.noneFit}</span>
            <Button kind="quiet" onClick={() => ask(NO_FILTER)}>
              {words.clearFilter}
            </Button>
          </div>
        )}
      </div>
      {/* The tables say what the panel would, as long as nothing is chosen. */}
      <aside class="map-panel" aria-label={words.panel} hidden={isTable && !isFocused && !way}>
        {isFocused && !way && (
          <IconButton
            icon="close"
            class="map-panel-close"
            label={t.value.common.close}
            onClick={() => ask({ focus: null })}
          />
        )}
        {way ? (
          <PathPanel
            atlas={atlas}
            way={way}
            onChoose={choosePath}
            onFocus={focusOn}
            isNarrow={isNarrow || isTable}
          />
        ) : isFocused ? (
          <EntityPanel
            id={focus}
            more={around ? around.more : null}
            isExpanded={expanded.includes(focus)}
            onExpand={expand}
            onCollapse={collapse}
            onFocus={focusOn}
            onPath={startPath}
          />
        ) : (
          <CommunityPanel atlas={atlas} here={here} onFocus={focusOn} />
        )}
      </aside>
    </div>
  );
}

/** Let the entity of the address be known, with its neighbours, and fly there. */
function useFocus(session: Session, view: { current: MapView | null }): void {
  const { atlas } = session;
  const { focus, at, expanded } = asked.value;
  const moreKey = expanded.join(" ");
  useEffect(() => {
    if (!focus) return;
    let isGone = false;
    const reveal = async () => {
      await atlas.find([focus]);
      if (!atlas.around.has(focus)) await atlas.expand(focus, []);
      const entity = atlas.entities.get(focus);
      if (isGone || !entity) return;
      const near = neighboursOf(focus, [...atlas.relations.values()]);
      speak(t.value.graph.focused(entity.name, count(near.length)));
      if (at) return;
      const away = near
        .flatMap((id) => atlas.entities.get(id) ?? [])
        .map((other) => Math.hypot(other.x - entity.x, other.y - entity.y))
        .sort((one, other) => one - other);
      const reach = away[Math.floor(away.length / 4)] ?? 0;
      const most = (atlas.overview.value?.radius ?? 10) / 8;
      view.current?.fly({ ...entity, radius: Math.max(3, Math.min(reach * 1.15, most)) });
    };
    reveal().catch((error: unknown) => {
      if (!isGone) announce(tellError(error), "bad");
    });
    return () => {
      isGone = true;
      if (!asked.peek().expanded.includes(focus)) atlas.collapse(focus);
    };
  }, [atlas, focus]);
  useEffect(() => {
    for (const id of expanded) {
      if (!atlas.around.has(id) && id !== focus) {
        void atlas.find([id]).then(() => atlas.expand(id, []));
      }
    }
  }, [atlas, moreKey]);
}

/** How much of what there is is drawn, and a way to more of it. */
function Shown({ session }: { session: Session }) {
  const { atlas, scene, here } = session;
  const words = t.value.graph;
  const part = atlas.opened.get(here)?.part;
  const overview = atlas.overview.value;
  if (!overview) return null;
  const shown = (part?.entities.id ?? overview.communities.id).length;
  const total = part?.entities_total ?? overview.total;
  const next = part ? nextStep(shown, total) : Math.min(500, total);
  const phrase = part ? words.shownInside : words.shownAbove;
  return (
    <div class="map-shown small">
      <span role="status">
        {phrase(count(shown), count(total))}
        {scene.left > 0 && ` ${words.leftOut(count(scene.left))}`}
      </span>
      {shown < total && next > shown && (
        <button
          type="button"
          class="link-button"
          onClick={() => ask(part ? { entities: next } : { circles: next }, { replace: true })}
        >
          {words.showUpTo(count(next))}
        </button>
      )}
    </div>
  );
}

function Zoom({ view }: { view: { current: MapView | null } }) {
  const words = t.value.graph;
  return (
    <div class="map-zoom">
      <IconButton icon="plus" label={words.zoomIn} onClick={() => view.current?.zoom(1.6)} />
      <IconButton icon="minus" label={words.zoomOut} onClick={() => view.current?.zoom(1 / 1.6)} />
      <IconButton icon="fit" label={words.fit} onClick={() => view.current?.fit()} />
    </div>
  );
}

/** What stands where no communities were found yet. */
function NoMap() {
  const words = t.value.graph;
  const find = async () => {
    const job = await take(
      api.POST("/api/v1/workspaces/{workspace}/communities/refresh", {
        params: { path: { workspace: workspace.value } },
        body: { rebuild: false },
      }),
    );
    addJob(job);
  };
  const isFinding = openJobs.value.length > 0;
  return (
    <Empty
      icon="graph"
      title={words.noMap}
      actions={
        <>
          {mayWrite.value && (
            <Button kind="main" busy={isFinding} onClick={find}>
              {words.findCommunities}
            </Button>
          )}
          <a class="button plain" href={linkTo("library")}>
            {words.toLibrary}
          </a>
        </>
      }
    >
      <p>{words.noMapFix}</p>
    </Empty>
  );
}

function useNarrow(): boolean {
  const [isNarrow, setNarrow] = useState(() => window.matchMedia("(max-width: 700px)").matches);
  useEffect(() => {
    const wanted = window.matchMedia("(max-width: 700px)");
    const take = () => setNarrow(wanted.matches);
    wanted.addEventListener("change", take);
    return () => wanted.removeEventListener("change", take);
  }, []);
  return isNarrow;
}
