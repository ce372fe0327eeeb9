import { useEffect } from "preact/hooks";
import { api, type Shapes, take } from "../../api/client";
import { IconButton } from "../../components/Button";
import { ErrorState } from "../../components/ErrorState";
import { SmallGraph } from "../../components/graph/SmallGraph";
import { Skeleton } from "../../components/Progress";
import { count, decimal, t } from "../../i18n";
import { speak } from "../../state/announcements";
import { useLoaded } from "../../state/loading";
import { workspace } from "../../state/location";
import { ask, type Way } from "./asked";
import type { Atlas } from "./atlas";
import { Search } from "./Search";
import { isMutual, sayRelation } from "./words";

type Path = Shapes["PathShape"];

interface PathPanelProps {
  atlas: Atlas;
  way: Way;
  /** Gets the entities of the path that is chosen, in their order. */
  onChoose: (ids: readonly string[]) => void;
  onFocus: (id: string) => void;
  isNarrow: boolean;
}

/** Return the entities of a path, in their order. */
export function stationsOf(path: Path): string[] {
  const [first] = path.hops;
  return first ? [first.source, ...path.hops.map((hop) => hop.target)] : [];
}

/** Two entities, the paths between them, and the one that is drawn. */
export function PathPanel({ atlas, way, onChoose, onFocus, isNarrow }: PathPanelProps) {
  void atlas.version.value;
  const words = t.value.graph;
  const nameOf = (id: string) => atlas.entities.get(id)?.name ?? "";
  const names = [nameOf(way.from), nameOf(way.to)];
  const isAsked = names.every(Boolean) && way.from !== way.to;
  const found = useLoaded(isAsked ? JSON.stringify([workspace.value, ...names]) : "", (signal) =>
    take(
      api.POST("/api/v1/workspaces/{workspace}/paths", {
        params: { path: { workspace: workspace.value } },
        body: { names, limit: 8 },
        signal,
      }),
    ),
  );
  const paths = found.data?.paths ?? [];
  const chosen = paths[way.pick] ?? paths[0];
  const stations = chosen ? stationsOf(chosen) : [];
  const key = stations.join(" ");
  useEffect(() => {
    onChoose(stations);
  }, [key]);
  const message = found.data ? words.pathsFound(paths.length) : "";
  useEffect(() => {
    if (message) speak(message);
  }, [message]);
  return (
    <div class="stack">
      <header class="row between">
        <h2>{words.paths}</h2>
        <IconButton
          icon="close"
          label={t.value.common.close}
          onClick={() => ask({ from: null, to: null, pick: null })}
        />
      </header>
      <div class="stack tight">
        <Search
          label={words.from}
          initial={names[0] ?? ""}
          onChoose={(id) => ask({ from: id, pick: null }, { replace: true })}
        />
        <Search
          label={words.to}
          initial={names[1] ?? ""}
          onChoose={(id) => ask({ to: id, pick: null }, { replace: true })}
        />
      </div>
      {!isAsked && <p class="small muted">{words.pathHint}</p>}
      {found.error && <ErrorState error={found.error} retry={found.reload} />}
      {isAsked && found.isLoading && <Skeleton label={t.value.common.loading} lines={3} />}
      {found.data && paths.length === 0 && <p class="muted">{words.noPath}</p>}
      {paths.length > 0 && <p class="small muted">{message}</p>}
      {paths.length > 0 && (
        <fieldset class="path-list">
          <legend class="only-spoken">{words.paths}</legend>
          {paths.map((path, index) => (
            <label key={path.text} class="path-option">
              <input
                type="radio"
                name="path"
                checked={path === chosen}
                onChange={() => ask({ pick: index }, { replace: true })}
              />
              <PathWords path={path} />
              <span class="faint small number" title={words.score}>
                {Number.isInteger(path.score) ? count(path.score) : decimal(path.score, 2)}
              </span>
            </label>
          ))}
        </fieldset>
      )}
      {isNarrow && chosen && <PathDrawing path={chosen} onFocus={onFocus} />}
    </div>
  );
}

function PathWords({ path }: { path: Path }) {
  return (
    <span class="path-words">
      {path.hops.map((hop, index) => (
        <span key={`${hop.source} ${hop.target}`}>
          {index === 0 && <strong>{hop.source_name}</strong>}
          <span class="faint small">
            {` ${startOf(hop)} ${sayRelation(hop.relation)} ${endOf(hop)} `}
          </span>
          <strong>{hop.target_name}</strong>
        </span>
      ))}
    </span>
  );
}

type Hop = Path["hops"][number];

function startOf(hop: Hop): string {
  return hop.forward || isMutual(hop.relation) ? "–" : "←";
}

function endOf(hop: Hop): string {
  return hop.forward && !isMutual(hop.relation) ? "→" : "–";
}

function PathDrawing({ path, onFocus }: { path: Path; onFocus: (id: string) => void }) {
  const names = new Map<string, string>();
  for (const hop of path.hops) {
    names.set(hop.source, hop.source_name);
    names.set(hop.target, hop.target_name);
  }
  const [start = ""] = names.keys();
  return (
    <SmallGraph
      ariaLabel={path.text}
      nodes={[...names].map(([id, label]) => ({ id, label, isStart: id === start }))}
      edges={path.hops.map((hop) => ({
        id: `${hop.source} ${hop.target}`,
        source: hop.forward ? hop.source : hop.target,
        target: hop.forward ? hop.target : hop.source,
        label: sayRelation(hop.relation),
        isMutual: isMutual(hop.relation),
      }))}
      onNode={onFocus}
    />
  );
}
