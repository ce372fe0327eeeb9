import { useEffect } from "preact/hooks";
import type { Shapes } from "../../api/client";
import { Pending } from "../../components/ErrorState";
import { Choice } from "../../components/Fields";
import { t } from "../../i18n";
import { useSpoken } from "../../state/announcements";
import { useCall } from "../../state/calls";
import { ask, type Way } from "./asked";
import { EntityLink, Quote } from "./EntityPanel";
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
}

/** Two entities, and the paths between them as lines to read, each step with its sentence. */
export function PathPanel({ way, nameOf, onChoose }: PathPanelProps) {
  const names = [nameOf(way.from), nameOf(way.to)];
  const isAsked = names.every(Boolean) && way.from !== way.to;
  const found = useCall("post", "/paths", isAsked ? { body: { names, limit: 8 } } : null);
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
  const message = found.data ? t("{n} {n:path|paths} found", { n: paths.length }) : "";
  useSpoken(message);
  return (
    <div class="stack">
      <h2>{t("Paths between two entities")}</h2>
      <div class="stack tight">
        {(["from", "to"] as const).map((end, index) => (
          <Search
            key={end}
            label={end === "from" ? t("From") : t("To")}
            initial={names[index] ?? ""}
            onChoose={(id) => ask({ [end]: id, path: 1, pick: null }, { replace: true })}
          />
        ))}
      </div>
      {!isAsked && (
        <p class="small muted">
          {t("Choose two entities to list the shortest paths between them.")}
        </p>
      )}
      <Pending of={found} />
      {found.data && paths.length === 0 && (
        <p class="muted">{t("No path of up to five relations found.")}</p>
      )}
      {paths.length > 0 && <p class="small muted">{message}</p>}
      {paths.length > 0 && (
        <Choice
          legend={t("Paths between two entities")}
          isPlain
          options={paths.map((_, index) => `${index}`)}
          say={(index) => sayPath(paths[Number(index)])}
          chosen={`${paths.indexOf(chosen as Path)}`}
          onChange={(pick) => ask({ pick }, { replace: true })}
        />
      )}
      {chosen && (
        <ol class="stack tight" aria-label={t("Steps of the path")}>
          {chosen.hops.map((hop) => (
            <li key={`${hop.source} ${hop.target}`}>
              <p>
                <EntityLink id={hop.source} name={hop.source_name} />{" "}
                <span class="muted">{arrowed(hop)}</span>{" "}
                <EntityLink id={hop.target} name={hop.target_name} />
              </p>
              <Quote stated={sentences.get(keyOf(edgeOf(hop)))} />
            </li>
          ))}
        </ol>
      )}
    </div>
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

function sayPath(path: Path | undefined): string {
  const hops = path?.hops ?? [];
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
