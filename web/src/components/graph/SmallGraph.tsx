import { useEffect, useRef, useState } from "preact/hooks";
import { count, t } from "../../i18n";
import { placeInColumns } from "./columns";
import "./graph.css";

export interface SmallNode {
  id: string;
  label: string;
  type?: string;
  /** Whether one begins here: these stand in the first column, and are larger. */
  isStart?: boolean;
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
  nodes: readonly SmallNode[];
  edges: readonly SmallEdge[];
  onNode?: (id: string) => void;
  onEdge?: (id: string) => void;
  /** What it shows, for those who do not see it. */
  ariaLabel: string;
  /** Pixels. */
  height?: number;
}

const MOST_NODES = 100;
const LONGEST = 26;

function shorten(text: string): string {
  return text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text;
}

/** A small graph in columns. Every node and every edge can be reached by the keyboard. */
export function SmallGraph(props: SmallGraphProps) {
  const { nodes, ariaLabel, height = 260 } = props;
  const box = useRef<HTMLElement>(null);
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const observer = new ResizeObserver(() => setWidth(element.clientWidth));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  const shown = nodes.slice(0, MOST_NODES);
  const ids = shown.map(({ id }) => id);
  const starts = shown.filter(({ isStart }) => isStart).map(({ id }) => id);
  const places = placeInColumns(starts, ids, props.edges, width, height);
  const names = new Map(nodes.map(({ id, label }) => [id, label]));
  const button = (label: string, run: (() => void) | undefined) => ({
    role: "button" as const,
    tabIndex: 0,
    "aria-label": label,
    onClick: run,
    onKeyDown: (event: KeyboardEvent) => {
      if (event.key === "Enter" || event.key === " ") run?.();
    },
  });
  return (
    <figure ref={box} class="small-graph" aria-label={ariaLabel}>
      <svg width={width} height={height}>
        <title>{ariaLabel}</title>
        <defs>
          <marker
            id="tip"
            viewBox="0 0 8 8"
            refX="8"
            refY="4"
            markerWidth="7"
            markerHeight="7"
            orient="auto"
          >
            <path d="M0 0L8 4L0 8z" />
          </marker>
        </defs>
        {props.edges.map((edge) => {
          const [from, to] = [places.get(edge.source), places.get(edge.target)];
          if (!from || !to) return null;
          const [dx, dy] = [to.x - from.x, to.y - from.y];
          const short = 9 / (Math.hypot(dx, dy) || 1);
          const words = [names.get(edge.source), edge.label, names.get(edge.target)];
          return (
            <g
              key={edge.id}
              class="small-edge"
              {...button(words.join(" · "), () => props.onEdge?.(edge.id))}
            >
              <line
                x1={from.x}
                y1={from.y}
                x2={to.x - dx * short}
                y2={to.y - dy * short}
                {...(edge.isMutual ? {} : { "marker-end": "url(#tip)" })}
              />
              <text x={(from.x + to.x) / 2} y={(from.y + to.y) / 2 - 4}>
                {shorten(edge.label)}
              </text>
            </g>
          );
        })}
        {shown.map((node) => {
          const place = places.get(node.id);
          if (!place) return null;
          return (
            <g
              key={node.id}
              class="small-node"
              {...button(node.label, () => props.onNode?.(node.id))}
            >
              <circle
                cx={place.x}
                cy={place.y}
                r={node.isStart ? 8 : 6}
                data-start={node.isStart}
              />
              <text x={place.x} y={place.y + 20}>
                {shorten(node.label)}
                <title>{node.label}</title>
              </text>
            </g>
          );
        })}
      </svg>
      {nodes.length > MOST_NODES && (
        <p class="small muted">{t.value.graph.small.cut(count(MOST_NODES), count(nodes.length))}</p>
      )}
    </figure>
  );
}
