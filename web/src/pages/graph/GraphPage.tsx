import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { IconButton } from "../../components/Button";
import { Empty } from "../../components/Empty";
import { Pending } from "../../components/ErrorState";
import type { GraphCanvas } from "../../components/graph/canvas";
import { readPalette } from "../../components/graph/colours";
import { useTitle } from "../../components/PageHead";
import { t, translations } from "../../i18n";
import { useSpoken } from "../../state/announcements";
import { useShortcuts } from "../../state/keys";
import { useLoaded } from "../../state/loading";
import { linkTo, workspace } from "../../state/location";
import { isDark } from "../../state/preferences";
import { revision } from "../../state/workspaces";
import { ask, asked, collapse, expand, focusOn, isFiltering, NO_PATH, NOT_LOCAL } from "./asked";
import { Communities } from "./Communities";
import { CorrectionList, isListOpen } from "./Corrections";
import { EntityPanel } from "./EntityPanel";
import { exportScene, type Kind } from "./exporting";
import "./graph.css";
import { Legend } from "./Legend";
import { MapView } from "./MapView";
import { PathPanel } from "./PathPanel";
import { compose, loadScene, type Scene } from "./scene";
import { Tables } from "./Tables";
import { Toolbar } from "./Toolbar";
import { moved } from "./views";
import { sayRelation } from "./words";

/** The graph: a map, its communities, and tables. */
export default function GraphPage() {
  const field = useRef<HTMLInputElement>(null);
  const canvas = useRef<GraphCanvas | null>(null);
  const [stations, setStations] = useState<readonly string[]>([]);
  const [isSheetOpen, setSheetOpen] = useState(false);
  const { view, focus, way, expanded, at } = asked.value;
  useTitle(t("Graph"));
  useEffect(() => {
    moved.value = new Map();
  }, [workspace.value]);

  const wanted = JSON.stringify([
    workspace.value,
    { ...asked.value, at: null, view: null, way: way && [way.from, way.to] },
    stations,
    revision.value,
  ]);
  const loaded = useLoaded(
    view === "communities" ? "" : wanted,
    (signal) => loadScene(asked.value, stations, signal),
    { keepsOld: true },
  );
  const scene = loaded.data;
  const dark = isDark();
  const isNarrow = window.innerWidth <= 700;
  const drawing = useMemo(
    () =>
      scene &&
      compose(scene, {
        palette: readPalette(),
        focus,
        stations,
        isNarrow,
        isLocal: asked.value.depth > 0,
        moved: moved.value,
        say: sayRelation,
      }),
    [scene, focus, stations, dark, isNarrow, translations.value],
  );

  const pick = (id: string | null, withShift: boolean) => {
    if (id && withShift && focus && id !== focus) ask({ from: focus, to: id, pick: null });
    else if (id) focusOn(id);
    else if (focus) ask({ focus: null, ...NOT_LOCAL });
  };
  const zooms = [
    { keys: "+", icon: "plus", label: t("Zoom in"), run: () => canvas.current?.zoom(1.5) },
    { keys: "-", icon: "minus", label: t("Zoom out"), run: () => canvas.current?.zoom(1 / 1.5) },
    { keys: "0", icon: "fit", label: t("Fit to screen"), run: () => canvas.current?.fit() },
  ] as const;
  useShortcuts([
    ...zooms,
    { keys: "/", label: t("Find an entity or a phrase"), run: () => field.current?.focus() },
    { keys: "e", label: t("Add neighbours"), run: () => void (focus && expand(focus)) },
    { keys: "x", label: t("Remove neighbours"), run: () => void (focus && collapse(focus)) },
    { keys: "p", label: t("Find path"), run: () => ask({ path: 1, from: focus, pick: null }) },
    {
      keys: "t",
      label: t("Show as table or as map"),
      run: () => ask({ view: asked.peek().view === "table" ? null : "table" }),
    },
    {
      keys: "Escape",
      label: t("Go back"),
      run: () => (way ? ask(NO_PATH) : ask({ focus: null, ...NOT_LOCAL })),
    },
  ]);

  // What is in view, whatever stands out in it: when this changes, the camera shows all of it.
  const { filter, depth, phrase, limit } = asked.value;
  const from = [limit, phrase, expanded, depth && [focus, depth], stations];
  const subject = JSON.stringify([{ ...filter, coOccurrence: null }, from]);
  const shown = useRef(subject);
  if (scene && !loaded.isLoading) shown.current = subject;
  const nameOf = (id: string) => {
    const canonical = scene?.merged.get(id) ?? id;
    return scene?.entities.find((entity) => entity.id === canonical)?.name ?? "";
  };
  // A phrase that is the name of an entity leads there.
  const named = !loaded.isLoading && phrase && !scene?.statement ? scene?.entities[0] : undefined;
  const isName = named?.name.toLowerCase() === phrase.toLowerCase();
  useEffect(() => {
    if (named && isName) ask({ q: null, focus: named.id, at: null }, { replace: true });
  }, [isName]);
  useSpoken(nameOf(focus));
  const hasPanel = Boolean(focus || way);
  return (
    <div class={`map-page as-${view} ${hasPanel || isSheetOpen ? "has-panel" : ""}`}>
      <h1 class="only-spoken">{t("Graph")}</h1>
      <Toolbar
        field={field}
        onExport={(kind: Kind) =>
          scene && drawing && exportScene(kind, workspace.value, scene, drawing, canvas.current)
        }
      />
      {view === "communities" ? (
        <div class="map-main">
          <Communities />
        </div>
      ) : (
        <>
          <div class="map-main">
            <Pending of={loaded} lines={6} label={t("Loading the graph")} />
            {scene && isEmpty(scene) && (
              <Empty
                icon="graph"
                title={t("No entities yet")}
                actions={
                  <a class="button main" href={linkTo("library")}>
                    {t("Go to the library")}
                  </a>
                }
              >
                <p>{t("Add documents, and the entities and relations in them appear here.")}</p>
              </Empty>
            )}
            {scene && drawing && !isEmpty(scene) && view === "map" && (
              <>
                <MapView
                  drawing={drawing}
                  subject={shown.current}
                  focus={focus}
                  at={at}
                  onPick={pick}
                  onGrow={expand}
                  onRest={({ x, y, scale }) =>
                    ask({ at: [x, y, scale].join(",") }, { replace: true })
                  }
                  onDrop={(id, x, y) => {
                    moved.value = new Map([...moved.value, [id, [x, y]]]);
                  }}
                  canvas={canvas}
                />
                <div class="card map-zoom">
                  {zooms.map(({ icon, label, run }) => (
                    <IconButton key={icon} icon={icon} label={label} onClick={run} />
                  ))}
                </div>
              </>
            )}
            {scene && view === "table" && <Tables scene={scene} />}
            {scene && !isEmpty(scene) && scene.entities.length === 0 && (
              <p class="card map-note">{t("Nothing matches.")}</p>
            )}
          </div>
          {scene && !isEmpty(scene) && (
            <aside class="map-panel" aria-label={t("Details")}>
              <IconButton
                icon={isSheetOpen || hasPanel ? "close" : "filter"}
                class={hasPanel ? "map-panel-close" : "map-panel-close narrow-only"}
                label={hasPanel || isSheetOpen ? t("Close") : t("Legend")}
                onClick={() => {
                  if (hasPanel) ask({ focus: null, ...NO_PATH, ...NOT_LOCAL });
                  setSheetOpen(!isSheetOpen && !hasPanel);
                }}
              />
              {way ? (
                <PathPanel way={way} nameOf={nameOf} onChoose={setStations} />
              ) : focus ? (
                <EntityPanel key={focus} id={focus} />
              ) : (
                <Legend scene={scene} />
              )}
            </aside>
          )}
        </>
      )}
      {isListOpen.value && <CorrectionList />}
    </div>
  );
}

function isEmpty({ overview }: Scene): boolean {
  return overview.entities === 0 && !isFiltering(asked.value.filter);
}
