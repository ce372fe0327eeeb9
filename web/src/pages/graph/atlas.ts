/** What is known of the map so far: the overview, communities that were opened, entities found. */

import { signal } from "@preact/signals";
import { ApiError, api, type Shapes, take } from "../../api/client";
import type { Filter } from "./asked";
import type { Ring } from "./opening";
import type { Line } from "./standing";

export type Overview = Shapes["Overview"];
export type CommunityView = Shapes["CommunityView"];
type Part = Shapes["PartShape"];

export interface Entity {
  id: string;
  name: string;
  type: string;
  x: number;
  y: number;
  chunks: number;
  community: string | null;
}

export interface Community extends Ring {
  title: string;
  level: number;
  size: number;
  matching: number;
  children: number;
  /** Which of the largest communities it lies in: its colour. */
  colour: number;
}

export interface Relation extends Line {
  /** As the documents state it. */
  name: string;
}

export interface Tie {
  source: string;
  target: string;
  weight: number;
}

const NEIGHBOURS = 30;

/** The map of a workspace, seen through a filter. */
export class Atlas {
  /** Counts up whenever more is known. */
  readonly version = signal(0);
  readonly error = signal<Error | null>(null);
  readonly overview = signal<Overview | null>(null);
  readonly communities = new Map<string, Community>();
  readonly entities = new Map<string, Entity>();
  readonly relations = new Map<string, Relation>();
  /** Links between communities, by the one that holds them; those of the topmost under "". */
  readonly ties = new Map<string, readonly Tie[]>();
  readonly opened = new Map<string, CommunityView>();
  /** The entities that were added around each, and how many more there are. */
  readonly around = new Map<string, { ids: string[]; more: number }>();
  /** Entities that are drawn wherever they lie, as those of a path. */
  pinned: readonly string[] = [];
  private readonly limits = new Map<string, number>();
  private readonly loading = new Set<string>();
  private readonly abort = new AbortController();

  constructor(
    readonly workspace: string,
    readonly filter: Filter,
  ) {}

  close(): void {
    this.abort.abort();
  }

  /** Load the topmost level. */
  async loadOverview(limit: number): Promise<void> {
    try {
      const query = { level: 0, limit, ...this.asked() };
      const found = await take(
        api.GET("/api/v1/workspaces/{workspace}/graph", {
          params: { path: { workspace: this.workspace }, query },
          signal: this.abort.signal,
        }),
      );
      this.takeCircles(found.communities, null);
      this.ties.set("", readTies(found.communities.id, found.links));
      this.overview.value = found;
      this.error.value = null;
      this.touch();
    } catch (error) {
      this.fail(error);
    }
  }

  /** Load what is in a community, once for each number of entities; return whether it is loaded. */
  async open(id: string, limit: number): Promise<boolean> {
    const known = this.limits.get(id) ?? 0;
    if (known >= limit || this.loading.has(id)) return true;
    this.loading.add(id);
    try {
      const found = await take(
        api.GET("/api/v1/workspaces/{workspace}/graph/communities/{community}", {
          params: {
            path: { workspace: this.workspace, community: id },
            query: { limit, ...this.asked() },
          },
          signal: this.abort.signal,
        }),
      );
      this.limits.set(id, limit);
      this.takeCircles(found.circle, this.colourIn(found.around[0]?.id ?? id));
      this.takeCircles(found.children, this.colourIn(found.around[0]?.id ?? id));
      this.ties.set(id, readTies(found.children.id, found.links));
      this.takePart(found.part);
      this.opened.set(id, found);
      this.touch();
    } catch (error) {
      this.limits.set(id, limit); // one report is enough: a retry starts over
      if (error instanceof ApiError && error.status === 404) return false;
      this.fail(error);
    } finally {
      this.loading.delete(id);
    }
    return true;
  }

  /** Add the strongest neighbours of an entity that are not drawn. Throws ApiError. */
  async expand(id: string, known: readonly string[]): Promise<number> {
    const part = await take(
      api.POST("/api/v1/workspaces/{workspace}/graph/neighbours", {
        params: { path: { workspace: this.workspace } },
        body: {
          entity: id,
          known: known.slice(0, 2_000),
          limit: NEIGHBOURS,
          ...this.asked(),
        },
        signal: this.abort.signal,
      }),
    );
    this.takePart(part);
    const before = this.around.get(id)?.ids ?? [];
    const ids = [...new Set([...before, ...part.entities.id])];
    this.around.set(id, { ids, more: part.entities_total - part.entities.id.length });
    this.touch();
    return part.entities.id.length;
  }

  /** Take away what was added around an entity. */
  collapse(id: string): void {
    this.around.delete(id);
    this.touch();
  }

  /** Learn where entities lie, and what relates them. Throws ApiError. */
  async find(ids: readonly string[]): Promise<void> {
    const wanted = ids.filter(Boolean);
    if (!wanted.length) return;
    const part = await take(
      api.POST("/api/v1/workspaces/{workspace}/graph/entities", {
        params: { path: { workspace: this.workspace } },
        body: { entities: wanted, types: [], relations: [], weight: 0, document: "" },
        signal: this.abort.signal,
      }),
    );
    this.takePart(part);
    this.touch();
  }

  /** Draw these wherever they are, instead of those before. */
  pin(ids: readonly string[]): void {
    if (ids.join(" ") === this.pinned.join(" ")) return;
    this.pinned = ids;
    this.touch();
  }

  /** Return the communities that hold one, the topmost first, itself the last. */
  chain(id: string): Community[] {
    const found: Community[] = [];
    let next: string | null = id;
    while (next !== null) {
      const community: Community | undefined = this.communities.get(next);
      if (!community) break;
      found.unshift(community);
      next = community.parent;
    }
    return found;
  }

  private asked() {
    const { types, relations, weight, document } = this.filter;
    return { types: [...types], relations: [...relations], weight, document };
  }

  private colourIn(top: string): number {
    return this.communities.get(top)?.colour ?? 0;
  }

  private takeCircles(columns: Shapes["CircleColumns"], colour: number | null): void {
    columns.id.forEach((id, index) => {
      this.communities.set(id, {
        id,
        title: columns.title[index] ?? "",
        level: columns.level[index] ?? 0,
        parent: columns.parent[index] ?? null,
        x: columns.x[index] ?? 0,
        y: columns.y[index] ?? 0,
        radius: columns.radius[index] ?? 0,
        size: columns.size[index] ?? 0,
        matching: columns.matching[index] ?? 0,
        children: columns.children[index] ?? 0,
        colour: this.communities.get(id)?.colour ?? colour ?? index,
      });
    });
  }

  private takePart(part: Part): void {
    const { entities, edges } = part;
    entities.id.forEach((id, index) => {
      this.entities.set(id, {
        id,
        name: entities.name[index] ?? "",
        type: entities.type[index] ?? "",
        x: entities.x[index] ?? 0,
        y: entities.y[index] ?? 0,
        chunks: entities.chunks[index] ?? 0,
        community: entities.community[index] ?? null,
      });
    });
    const ends = [...entities.id, ...edges.anchors];
    edges.source.forEach((from, index) => {
      const source = ends[from];
      const target = ends[edges.target[index] ?? -1];
      const name = edges.relations[edges.relation[index] ?? -1];
      if (source === undefined || target === undefined || name === undefined) return;
      const id = `${source} ${target} ${name}`;
      this.relations.set(id, { id, source, target, name, weight: edges.weight[index] ?? 1 });
    });
  }

  private touch(): void {
    this.version.value += 1;
  }

  private fail(error: unknown): void {
    if (this.abort.signal.aborted) return;
    this.error.value = error instanceof Error ? error : new Error(String(error));
  }
}

function readTies(ids: readonly string[], links: Shapes["LinkColumns"]): Tie[] {
  return links.source.flatMap((from, index) => {
    const source = ids[from];
    const target = ids[links.target[index] ?? -1];
    return source && target ? [{ source, target, weight: links.weight[index] ?? 0 }] : [];
  });
}
