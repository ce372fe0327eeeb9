/** What draws a graph: sigma the map, G6 small views. Pages know this alone. */

export interface DrawnNode {
  id: string;
  label: string;
  x: number;
  y: number;
  /** Radius in pixels. */
  size: number;
  color: string;
  /** The position of its name; below by default. */
  side?: "right";
  /** Whether it is a mere dot: its name shows when something points at it. */
  isDot?: boolean;
}

export interface DrawnEdge {
  id: string;
  source: string;
  target: string;
  label: string;
  /** Pixels. */
  width: number;
  color: string;
  /** Whether it leads both ways, and has no arrow. */
  isMutual?: boolean;
  /** How much it covers what is below, from 0 to 1; without, all of it. */
  alpha?: number;
}

export interface Drawing {
  nodes: readonly DrawnNode[];
  edges: readonly DrawnEdge[];
}

/** What stands out: 1 is full, what is not listed has `rest`. */
export interface Emphasis {
  nodes: ReadonlyMap<string, number>;
  edges: ReadonlySet<string>;
  rest: number;
  /** Edges whose relation is written on them. */
  labelled: ReadonlySet<string>;
}

export interface ViewEvents {
  onNode?: ((id: string) => void) | undefined;
  onEdge?: ((id: string) => void) | undefined;
}

export interface GraphView {
  /** Replace what was drawn with this. */
  draw(drawing: Drawing): void;
  /** Let a part stand out; null lets all be as they are. */
  emphasise(emphasis: Emphasis | null): void;
  /** Show nodes, or everything, as large as there is room. */
  fit(ids?: readonly string[]): void;
  /** Return a picture of what is shown. */
  picture(): Promise<Blob>;
  destroy(): void;
}
