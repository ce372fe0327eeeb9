import { useEffect, useRef, useState } from "preact/hooks";
import { count, t } from "../../i18n";
import { isDark } from "../../state/preferences";
import { Skeleton } from "../Progress";
import { colourOf, readPalette } from "./colours";
import { placeInColumns } from "./columns";
import "./graph.css";
import type { Drawing, GraphView } from "./view";

export interface SmallNode {
  id: string;
  label: string;
  /** The type of the entity: its colour. */
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
  /** A hundred, at most: more are counted below the drawing, and in the list. */
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

/** A small graph in columns, as the ways from a question to its evidence. Every node and every edge
 * is a button for the keyboard and for screen readers, too. */
export function SmallGraph(props: SmallGraphProps) {
  const { nodes, edges, ariaLabel, height = 260 } = props;
  const box = useRef<HTMLDivElement>(null);
  const view = useRef<GraphView | null>(null);
  const [width, setWidth] = useState(0);
  const [isReady, setReady] = useState(false);
  const [failed, setFailed] = useState(false);
  const events = useRef(props);
  events.current = props;
  const dark = isDark();
  const shown = nodes.slice(0, MOST_NODES);
  const signature = JSON.stringify([shown, edges, width, height, dark]);

  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const observer = new ResizeObserver(() => setWidth(Math.round(element.clientWidth)));
    observer.observe(element);
    setWidth(Math.round(element.clientWidth));
    return () => observer.disconnect();
  }, []);

  useEffect(() => {
    const element = box.current;
    if (!element || !width) return;
    let isGone = false;
    let opened: GraphView | null = null;
    const drawing = drawSmall(shown, edges, width, height);
    setReady(false);
    import("./small-view")
      .then(({ openSmallView }) =>
        openSmallView(element, drawing, {
          onNode: (id) => events.current.onNode?.(id),
          onEdge: (id) => events.current.onEdge?.(id),
        }),
      )
      .then(
        (made) => {
          opened = made;
          if (isGone) made.destroy();
          else {
            view.current = made;
            setReady(true);
          }
        },
        () => {
          if (!isGone) setFailed(true);
        },
      );
    return () => {
      isGone = true;
      view.current = null;
      opened?.destroy();
    };
  }, [signature]);

  const point = (id: string | null, edge: string | null = null) => {
    const ends = edges.find((known) => known.id === edge);
    const lit = id ? [id] : ends ? [ends.source, ends.target] : [];
    view.current?.emphasise(
      lit.length
        ? {
            nodes: new Map(lit.map((node) => [node, 1])),
            edges: new Set(edge ? [edge] : edges.filter((e) => touches(e, id)).map((e) => e.id)),
            rest: 0.25,
            labelled: new Set(),
          }
        : null,
    );
  };
  const words = t.value.graph.small;
  return (
    <figure class="small-graph" aria-label={ariaLabel}>
      {!isReady && !failed && <Skeleton label={t.value.common.loading} lines={3} />}
      <div
        ref={box}
        class={failed ? "small-graph-canvas failed" : "small-graph-canvas"}
        style={{ height: `${height}px` }}
        aria-hidden="true"
      />
      {nodes.length > MOST_NODES && (
        <p class="small muted">{words.cut(count(MOST_NODES), count(nodes.length))}</p>
      )}
      <ul class="small-graph-list" aria-label={words.parts}>
        {shown.map((node) => (
          <li key={node.id}>
            <button
              type="button"
              onClick={() => props.onNode?.(node.id)}
              onFocus={() => point(node.id)}
              onBlur={() => point(null)}
            >
              {node.label}
            </button>
          </li>
        ))}
        {edges.map((edge) => (
          <li key={edge.id}>
            <button
              type="button"
              onClick={() => props.onEdge?.(edge.id)}
              onFocus={() => point(null, edge.id)}
              onBlur={() => point(null)}
            >
              {`${nameOf(nodes, edge.source)} · ${edge.label} · ${nameOf(nodes, edge.target)}`}
            </button>
          </li>
        ))}
      </ul>
    </figure>
  );
}

function touches(edge: SmallEdge, id: string | null): boolean {
  return edge.source === id || edge.target === id;
}

function nameOf(nodes: readonly SmallNode[], id: string): string {
  return nodes.find((node) => node.id === id)?.label ?? "";
}

function drawSmall(
  nodes: readonly SmallNode[],
  edges: readonly SmallEdge[],
  width: number,
  height: number,
): Drawing {
  const palette = readPalette();
  const ids = nodes.map((node) => node.id);
  const starts = nodes.filter((node) => node.isStart).map((node) => node.id);
  const places = placeInColumns(starts, ids, edges, width, height);
  return {
    nodes: nodes.map((node) => ({
      id: node.id,
      label: node.label,
      x: places.get(node.id)?.x ?? 0,
      y: places.get(node.id)?.y ?? 0,
      ...(height > width ? { side: "right" as const } : {}),
      size: node.isStart ? 9 : 7,
      color: node.isStart ? palette.accent : colourOf(node.type ?? "", palette),
    })),
    edges: edges.map((edge) => ({ ...edge, width: 1.4, color: palette.strongLine })),
  };
}
