import { useEffect } from "preact/hooks";
import { api, type Shapes, take } from "../../api/client";
import { ErrorState } from "../../components/ErrorState";
import { Skeleton } from "../../components/Progress";
import { t } from "../../i18n";
import { speak } from "../../state/announcements";
import { useLoaded } from "../../state/loading";
import { workspace } from "../../state/location";
import { revision } from "../../state/workspaces";
import { ask, type Way } from "./asked";
import { Quote } from "./EntityPanel";
import { Search } from "./Search";
import { isMutual, sayRelation } from "./words";

type Path = Shapes["PathShape"];
type Hop = Path["hops"][number];
type Stated = Shapes["StatedShape"];

interface PathPanelProps {
  way: Way;
  nameOf: (id: string) => string;
  /** Gets the entities of the path that is chosen, in their order. */
  onChoose: (ids: readonly string[]) => void;
  onFocus: (id: string) => void;
}

/** Two entities, and the paths between them as lines to read, each step with its sentence. */
export function PathPanel({ way, nameOf, onChoose, onFocus }: PathPanelProps) {
  const words = t.value.graph;
  const names = [nameOf(way.from), nameOf(way.to)];
  const isAsked = names.every(Boolean) && way.from !== way.to;
  const wanted = isAsked ? JSON.stringify([workspace.value, ...names, revision.value]) : "";
  const found = useLoaded(wanted, (signal) =>
    take(
      api.POST("/api/v1/workspaces/{workspace}/paths", {
        params: { path: { workspace: workspace.value } },
        body: { names, limit: 8 },
        signal,
      }),
    ),
  );
  const paths = found.data?.paths ?? [];
  const sentences = new Map(
    (found.data?.sentences ?? []).map((stated) => [keyOf(stated), stated] as const),
  );
  const chosen = paths[way.pick] ?? paths[0];
  const stations = chosen ? stationsOf(chosen) : [];
  const key = stations.join(" ");
  useEffect(() => {
    onChoose(stations);
    return () => onChoose([]);
  }, [key]);
  const message = found.data ? words.pathsFound(paths.length) : "";
  useEffect(() => {
    if (message) speak(message);
  }, [message]);
  return (
    <div class="stack">
      <h2>{words.paths}</h2>
      <div class="stack tight">
        {(["from", "to"] as const).map((end, index) => (
          <Search
            key={end}
            label={words[end]}
            initial={names[index] ?? ""}
            onChoose={(id) => ask({ [end]: id, path: 1, pick: null }, { replace: true })}
          />
        ))}
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
              <span class="break">{sayPath(path)}</span>
            </label>
          ))}
        </fieldset>
      )}
      {chosen && (
        <ol class="steps" aria-label={words.steps}>
          {chosen.hops.map((hop) => (
            <li key={`${hop.source} ${hop.target}`}>
              <p>
                <End id={hop.source} name={hop.source_name} onFocus={onFocus} />{" "}
                <span class="muted">{arrowed(hop)}</span>{" "}
                <End id={hop.target} name={hop.target_name} onFocus={onFocus} />
              </p>
              <Quote stated={sentences.get(keyOf(edgeOf(hop)))} />
            </li>
          ))}
        </ol>
      )}
    </div>
  );
}

function End({ id, name, onFocus }: { id: string; name: string; onFocus: (id: string) => void }) {
  return (
    <button type="button" class="link-button break" onClick={() => onFocus(id)}>
      {name}
    </button>
  );
}

function stationsOf(path: Path): string[] {
  const [first] = path.hops;
  return first ? [first.source, ...path.hops.map((hop) => hop.target)] : [];
}

function arrowed({ relation, forward }: Hop): string {
  const name = sayRelation(relation);
  if (isMutual(relation)) return `– ${name} –`;
  return forward ? `– ${name} →` : `← ${name} –`;
}

function sayPath({ hops }: Path): string {
  const [first] = hops;
  const steps = hops.map((hop) => `${arrowed(hop)} ${hop.target_name}`);
  return [first?.source_name ?? "", ...steps].join(" ");
}

function edgeOf({ source, target, relation, forward }: Hop) {
  return forward ? { source, relation, target } : { source: target, relation, target: source };
}

function keyOf({ source, relation, target }: Pick<Stated, "source" | "relation" | "target">) {
  return [source, relation, target].join("\n");
}
