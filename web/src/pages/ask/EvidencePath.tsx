import { useMemo } from "preact/hooks";
import { SmallGraph } from "../../components/graph/SmallGraph";
import { Icon } from "../../components/Icon";
import { t } from "../../i18n";
import { go, linkTo } from "../../state/location";
import { sayRelation } from "../graph/words";
import {
  findPath,
  type EvidencePath as Path,
  type PathEdge,
  type PathNode,
  type Place,
} from "./path";
import type { Answer, Evidence } from "./runs";

interface EvidencePathProps {
  answer: Answer;
  evidence: Evidence;
  onPlace: (place: Place) => void;
}

const MOST_LABEL = 34;

/** The types of things whose colours are borrowed; the legend has the same (`ask.css`). */
const COLOURED_AS = { name: "", passage: "NUMBER", thing: "ORGANIZATION" };

/** The way from the question to its evidence, drawn, and as a list. */
export function EvidencePath({ answer, evidence, onPlace }: EvidencePathProps) {
  const path = useMemo(() => findPath(answer, evidence), [answer, evidence]);
  const words = t.value.ask;
  if (!path.leadsOn) return null;
  const nodes = path.nodes.map((node) => ({
    id: node.id,
    label: shorten(node.label),
    type: COLOURED_AS[node.kind],
    isStart: node.kind === "name",
  }));
  const edges = path.edges.map(({ id, source, target, label }) => ({
    id,
    source,
    target,
    label: sayRelation(label),
  }));
  const open = (node: PathNode | undefined) => {
    if (node?.place) onPlace(node.place);
    else if (node?.kind === "thing") go(linkTo("graph", { focus: node.id }));
  };
  return (
    <section class="card stack" aria-labelledby="path-title">
      <div class="row between wrap">
        <h2 id="path-title">{words.path}</h2>
        <ul class="row wrap small muted legend">
          <li class="legend-name">{words.legend.name}</li>
          <li class="legend-passage">{words.legend.passage}</li>
          <li class="legend-thing">{words.legend.thing}</li>
        </ul>
      </div>
      <SmallGraph
        nodes={nodes}
        edges={edges}
        ariaLabel={words.path}
        height={Math.min(360, 130 + 34 * Math.ceil(nodes.length / 3))}
        onNode={(id) => open(path.nodes.find((node) => node.id === id))}
        onEdge={(id) => openEdge(path, id, onPlace)}
      />
      <PathList path={path} onPlace={onPlace} />
    </section>
  );
}

function openEdge(path: Path, id: string, onPlace: (place: Place) => void): void {
  const edge = path.edges.find((known) => known.id === id);
  const place = edge?.place ?? path.nodes.find((node) => node.id === edge?.target)?.place;
  if (place) onPlace(place);
}

/** The sentences that lead on; each opens where it stands. */
function PathList({ path, onPlace }: { path: Path; onPlace: (place: Place) => void }) {
  const names = new Map(path.nodes.map((node) => [node.id, node]));
  const stated = path.edges.filter((edge) => edge.sentence || edge.label);
  if (stated.length === 0) return null;
  return (
    <ol class="path-list small">
      {stated.map((edge) => (
        <li key={edge.id}>
          <PathLine edge={edge} names={names} onPlace={onPlace} />
        </li>
      ))}
    </ol>
  );
}

interface PathLineProps {
  edge: PathEdge;
  names: ReadonlyMap<string, PathNode>;
  onPlace: (place: Place) => void;
}

function PathLine({ edge, names, onPlace }: PathLineProps) {
  const { place } = edge;
  const said = edge.sentence ? `“${edge.sentence}”` : sayRelation(edge.label);
  return (
    <>
      <span>{names.get(edge.source)?.label}</span>
      <Icon name="arrow" size={12} />
      {place ? (
        <button type="button" class="link-button" onClick={() => onPlace(place)}>
          {said}
        </button>
      ) : (
        <span class="muted">{said}</span>
      )}
      <Icon name="arrow" size={12} />
      <a href={linkTo("graph", { focus: edge.target })}>{names.get(edge.target)?.label}</a>
    </>
  );
}

function shorten(label: string): string {
  const letters = [...label];
  return letters.length > MOST_LABEL ? `${letters.slice(0, MOST_LABEL - 1).join("")}…` : label;
}
