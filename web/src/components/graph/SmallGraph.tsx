import { useId, useMemo } from "preact/hooks";
import { t } from "../../i18n";
import { TableBox } from "../TableBox";
import { NODE, type Placed, placeInLevels } from "./columns";
import "./graph.css";

export interface SmallNode {
  id: string;
  label: string;
  /** Its class in the style sheet, beside that of all nodes. */
  kind?: string;
  /** Whether the graph begins here: such nodes are in the first level. */
  isStart?: boolean;
  /** Whether it leads nowhere, so that it is no button. */
  isFixed?: boolean;
}

export interface SmallEdge {
  id: string;
  source: string;
  target: string;
  label: string;
  /** Whether it has no direction. */
  isMutual?: boolean;
}

interface SmallGraphProps {
  /** A hundred, at most: more are counted below the drawing. */
  nodes: readonly SmallNode[];
  edges: readonly SmallEdge[];
  onNode?: (id: string) => void;
  onEdge?: (id: string) => void;
  /** What it shows, for those who do not see it. */
  ariaLabel: string;
}

const MOST_NODES = 100;
const LABEL = { width: 88, height: 32 };

/** A small graph in levels, such as the way from a question to its evidence. */
export function SmallGraph({ nodes, edges, onNode, onEdge, ariaLabel }: SmallGraphProps) {
  const arrow = useId();
  const shown = nodes.slice(0, MOST_NODES);
  const { places, width, height, isTall } = useMemo(() => {
    const starts = shown.filter(({ isStart }) => isStart).map(({ id }) => id);
    const ids = shown.map(({ id }) => id);
    return placeInLevels(starts, ids, edges);
  }, [nodes, edges]);
  const nameOf = (id: string) => shown.find((node) => node.id === id)?.label ?? id;
  const lines = edges.flatMap((edge) => {
    const [from, to] = [places.get(edge.source), places.get(edge.target)];
    return from && to && from !== to ? [{ edge, ...join(from, to, isTall) }] : [];
  });
  return (
    <figure class="small-graph" aria-label={ariaLabel}>
      <TableBox isInText label={ariaLabel}>
        {/* biome-ignore lint/a11y/noSvgWithoutTitle: the figure has the name, and a title is a tip */}
        <svg width={width} height={height} viewBox={`0 0 ${width} ${height}`}>
          <marker id={arrow} viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" orient="auto">
            <path class="small-arrow" d="M0 0 8 4 0 8z" />
          </marker>
          {lines.map(({ edge, path }) => (
            <path
              key={edge.id}
              class="small-line"
              d={path}
              marker-end={edge.isMutual ? undefined : `url(#${arrow})`}
            />
          ))}
          {lines.map(
            ({ edge, middle: { x, y } }) =>
              edge.label && (
                <foreignObject
                  key={edge.id}
                  x={x - LABEL.width / 2}
                  y={y - LABEL.height / 2}
                  {...LABEL}
                >
                  <Part
                    class="small-label"
                    title={edge.label}
                    name={[edge.source, edge.label, edge.target].map(nameOf).join(" · ")}
                    onOpen={onEdge}
                    id={edge.id}
                  />
                </foreignObject>
              ),
          )}
          {shown.map(({ id, label, kind = "", isFixed }) => {
            const { x, y } = places.get(id) ?? { x: 0, y: 0 };
            return (
              <foreignObject key={id} x={x - NODE.width / 2} y={y - NODE.height / 2} {...NODE}>
                <Part
                  class={`small-node ${kind}`}
                  title={label}
                  onOpen={isFixed ? undefined : onNode}
                  id={id}
                />
              </foreignObject>
            );
          })}
        </svg>
      </TableBox>
      {nodes.length > MOST_NODES && (
        <p class="small muted">
          {t("Showing {shown} of {total} entities.", { shown: MOST_NODES, total: nodes.length })}
        </p>
      )}
    </figure>
  );
}

interface PartProps {
  id: string;
  title: string;
  /** What it is called for those who do not see what it joins. */
  name?: string;
  class: string;
  onOpen: ((id: string) => void) | undefined;
}

/** The words of a node or an edge: a button where it leads somewhere. */
function Part({ id, title, name = title, class: kind, onOpen }: PartProps) {
  const words = <span class="clamp">{title}</span>;
  if (!onOpen) return <div class={kind}>{words}</div>;
  return (
    <button type="button" class={kind} aria-label={name} title={title} onClick={() => onOpen(id)}>
      {words}
    </button>
  );
}

/** Return the line between two nodes, and its middle; within a level it bends around the others. */
function join(from: Placed, to: Placed, isTall: boolean): { path: string; middle: Placed } {
  const [half, side] = isTall
    ? [NODE.height / 2, NODE.width / 2]
    : [NODE.width / 2, NODE.height / 2];
  const turn = ({ x, y }: Placed) => (isTall ? { x: y, y: x } : { x, y });
  const [one, other] = [turn(from), turn(to)];
  const at = (x: number, y: number) => (isTall ? `${y} ${x}` : `${x} ${y}`);
  if (one.x === other.x) {
    const step = Math.sign(other.y - one.y);
    const isNext = Math.abs(other.y - one.y) < 3 * side;
    const bend = isNext ? 0 : half + 24;
    const [y, end] = isNext ? [one.y + step * side, other.y - step * side] : [one.y, other.y];
    const [x, out] = isNext ? [one.x, one.x] : [one.x + half, one.x + bend];
    return {
      path: `M${at(x, y)} C${at(out, y)} ${at(out, end)} ${at(x, end)}`,
      middle: turn({ x: isNext ? one.x : out, y: (y + end) / 2 }),
    };
  }
  const step = Math.sign(other.x - one.x);
  const [x, end] = [one.x + step * half, other.x - step * half];
  const halfway = (x + end) / 2;
  return {
    path: `M${at(x, one.y)} C${at(halfway, one.y)} ${at(halfway, other.y)} ${at(end, other.y)}`,
    middle: turn({ x: halfway, y: (one.y + other.y) / 2 }),
  };
}
