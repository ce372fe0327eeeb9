/** What is shown of the graph: the same entities and relations on the map, in the tables and in
 * exports. It follows from the address alone. */

import type { Shapes } from "../../api/client";
import type { Dot, Drawing, Line } from "../../components/graph/canvas";
import { COLOURS, type Palette } from "../../components/graph/colours";
import { call } from "../../state/calls";
import type { Asked } from "./asked";

export type Overview = Shapes["Overview"];
type Part = Shapes["PartShape"];

type Columns = Part["entities"];
export type Entity = { [Name in keyof Columns]: Columns[Name][number] };

export interface Relation {
  source: string;
  target: string;
  /** As the documents state it. */
  name: string;
  weight: number;
  isStated: boolean;
}

export type Scene = ReturnType<Collection["scene"]>;

/** A path that is drawn alone: its entities in their order. */
export type Stations = readonly string[];

const MOST_KNOWN = 2_000;
const NEIGHBOURS = 20;
const LOCAL = 120;
const FOCUS_LABELS = 14;
const DIMMED = 0.12;

/** Load what the address asks for. */
export async function loadScene(
  asked: Asked,
  stations: Stations,
  signal: AbortSignal,
): Promise<Scene> {
  const { filter } = asked;
  const relations = [...filter.relations];
  const fields = {
    relations,
    types: [...filter.types],
    community: filter.community,
    document: filter.document,
    co_occurrence: filter.coOccurrence,
  };
  // What is around an entity is of any type and community.
  const open = { ...fields, types: [], community: "", document: "" };
  const query = { ...fields, minor: filter.minor, limit: asked.limit };
  const overview = await call("get", "/graph", { query, signal });
  const find = (ids: readonly string[], options = open) => {
    const body = { ...options, entities: ids.slice(0, MOST_KNOWN) };
    return call("post", "/graph/entities", { body, signal });
  };
  const around = (id: string, ids: readonly string[], depth: number, limit: number) => {
    const known = ids.slice(0, MOST_KNOWN);
    const body = { ...open, entities: [id], known, depth, hubs: asked.hubs, limit };
    return call("post", "/graph/neighbours", { body, signal });
  };
  const made = new Collection();
  let statement = "";
  if (stations.length > 0)
    made.add(await find(stations, { ...open, relations: [], co_occurrence: true }));
  else if (asked.depth && asked.focus) {
    made.add(await find([asked.focus]));
    made.add(await around(asked.focus, [], asked.depth, LOCAL));
    return radial(made.scene(overview, statement), asked.focus);
  } else if (asked.phrase) {
    const found = await call("get", "/graph/search", { query: { phrase: asked.phrase }, signal });
    statement = found.statement;
    if (found.entities.length) made.add(await find(found.entities.map(({ id }) => id)));
  } else made.add(overview.part);
  for (const id of stations.length ? [] : asked.expanded) {
    if (!made.entities.has(id)) made.add(await find([id, ...made.entities.keys()]));
    made.add(await around(id, [...made.entities.keys()], 1, NEIGHBOURS));
  }
  const ends = [asked.focus, asked.way?.from ?? "", asked.way?.to ?? ""].filter(
    (id) => id && !made.entities.has(id),
  );
  if (ends.length && !stations.length) made.add(await find([...ends, ...made.entities.keys()]));
  return made.scene(overview, statement);
}

class Collection {
  readonly entities = new Map<string, Entity>();
  private readonly relations = new Map<string, Relation>();
  private total = 0;
  private coOccurrences = 0;
  private readonly merged = new Map<string, string>();

  add(part: Part): void {
    const { entities: columns, edges } = part;
    const ids = [...columns.id, ...edges.anchors];
    this.total = Math.max(this.total, part.entities_total);
    this.coOccurrences += part.co_occurrences;
    for (const [id, canonical] of Object.entries(part.merged)) this.merged.set(id, canonical);
    columns.id.forEach((id, index) => {
      if (this.entities.has(id)) return;
      const cells = Object.entries(columns).map(([name, column]) => [name, column[index]]);
      this.entities.set(id, Object.fromEntries(cells));
    });
    edges.source.forEach((from, index) => {
      const [source = "", target = ""] = [ids[from], ids[edges.target[index] ?? -1]];
      const name = edges.relations[edges.relation[index] ?? -1] ?? "";
      const weight = edges.weight[index] ?? 1;
      const isStated = edges.stated[index] ?? true;
      this.relations.set(`${source} ${target} ${name}`, { source, target, name, weight, isStated });
    });
  }

  /** Return what was collected; the statement is the query that found it, if there was one. */
  scene(overview: Overview, statement: string) {
    const relations = [...this.relations.values()];
    return {
      overview,
      entities: [...this.entities.values()] as readonly Entity[],
      relations: relations.filter(
        ({ source, target }) => this.entities.has(source) && this.entities.has(target),
      ),
      /** Entities that these were taken from. */
      total: Math.max(this.total, this.entities.size),
      coOccurrences: this.coOccurrences,
      statement,
      /** The entities that others were merged into, by the id of these. */
      merged: this.merged as ReadonlyMap<string, string>,
    };
  }
}

/** Place entities in rings around one, each in the direction where the map has it. */
function radial(scene: Scene, focus: string): Scene {
  const middle = scene.entities.find(({ id }) => id === focus);
  if (!middle) return scene;
  const rings = new Map<number, Entity[]>();
  for (const entity of scene.entities)
    if (entity.id !== focus) rings.set(entity.step, [...(rings.get(entity.step) ?? []), entity]);
  const turnOf = ({ x, y }: Entity) => Math.atan2(y - middle.y, x - middle.x);
  const placed: Entity[] = [{ ...middle, x: 0, y: 0 }];
  let reach = 0;
  for (const step of [...rings.keys()].sort()) {
    const ring = (rings.get(step) ?? []).sort((one, other) => turnOf(one) - turnOf(other));
    reach = Math.max(reach + 1.6, (ring.length * 0.9) / (2 * Math.PI));
    ring.forEach((entity, index) => {
      const turn = -Math.PI + (2 * Math.PI * (index + 0.5)) / ring.length;
      const [x, y] = [1.5 * reach * Math.cos(turn), reach * Math.sin(turn)];
      placed.push({ ...entity, x, y });
    });
  }
  return { ...scene, entities: placed };
}

/** Place the entities of a path one after the other. */
function chain(entities: readonly Entity[], stations: Stations, isNarrow: boolean): Entity[] {
  const known = new Map(entities.map((entity) => [entity.id, entity]));
  return stations.flatMap((id, index) => {
    const entity = known.get(id);
    const [x, y] = isNarrow ? [0, index * 1.2] : [index * 2.4, index % 2 ? 0.7 : 0];
    return entity ? [{ ...entity, x, y }] : [];
  });
}

export interface Look {
  palette: Palette;
  focus: string;
  stations: Stations;
  isNarrow: boolean;
  /** Whether only what is around the focus is shown. */
  isLocal: boolean;
  /** Places that the user chose. */
  moved: ReadonlyMap<string, readonly [number, number]>;
  say: (relation: string) => string;
}

/** Return which colour each community has, or each type where there are no communities. */
export function colourNumbers({ communities, types }: Overview): Map<string, number> {
  const names = communities.length
    ? communities.map(({ id }) => id)
    : types.values.map(({ name }) => name);
  return new Map(names.slice(0, COLOURS).map((name, index) => [name, index]));
}

/** Return how a scene is drawn. */
export function compose(scene: Scene, look: Look): Drawing {
  const { focus, palette } = look;
  const stations = look.stations.map((id) => scene.merged.get(id) ?? id);
  const entities = stations.length
    ? chain(scene.entities, stations, look.isNarrow)
    : scene.entities;
  const lines = joinLines(scene.relations, stations);
  const near = new Set([focus]);
  for (const { source, target } of lines) {
    if (source === focus) near.add(target);
    if (target === focus) near.add(source);
  }
  const stands = focus && !stations.length && !look.isLocal ? near : null;
  const numbers = colourNumbers(scene.overview);
  const byType = scene.overview.communities.length === 0;
  const most = entities.reduce((best, { importance }) => Math.max(best, importance), 1);
  const dots = entities.map((entity): Dot => {
    const number = numbers.get((byType ? entity.type : entity.community) ?? "");
    const [x, y] = (stations.length ? null : look.moved.get(entity.id)) ?? [entity.x, entity.y];
    return {
      id: entity.id,
      label: entity.name,
      x,
      y,
      radius: entity.id === focus ? 14 : 5 + 9 * Math.sqrt(entity.importance / most),
      color: number === undefined ? palette.other : (palette.data[number] ?? palette.other),
      type: entity.type,
      share: !stands || stands.has(entity.id) ? 1 : DIMMED,
    };
  });
  dots.sort((one, other) => other.share - one.share || other.radius - one.radius);
  let labels = 0;
  return {
    dots,
    lines: lines.map(({ source, target, names, isStated, isBoth }): Line => {
      const isOwn = stations.length > 0 || source === focus || target === focus;
      const isNamed = isOwn && isStated && labels < FOCUS_LABELS;
      if (isNamed) labels += 1;
      const more = names.length > 1 ? ` +${names.length - 1}` : "";
      return {
        source,
        target,
        width: isOwn ? 1.8 : 1.1,
        color: isStated ? (isOwn ? palette.muted : palette.strongLine) : palette.line,
        share: stands && !isOwn ? DIMMED : 1,
        isDashed: !isStated,
        hasArrow: isOwn && isStated && !isBoth,
        ...(isNamed ? { label: look.say(names[0] ?? "") + more } : {}),
      };
    }),
  };
}

interface Joined {
  source: string;
  target: string;
  names: string[];
  isStated: boolean;
  /** Whether relations lead both ways. */
  isBoth: boolean;
}

/** Return one line for each two entities, stated ones first; of a path only those along it. */
export function joinLines(relations: readonly Relation[], stations: Stations = []): Joined[] {
  const steps = new Set(
    stations.flatMap((id, index) => {
      const next = stations[index + 1];
      return next === undefined ? [] : [`${id} ${next}`, `${next} ${id}`];
    }),
  );
  const lines = new Map<string, Joined>();
  const sorted = [...relations].sort(
    (one, other) => Number(other.isStated) - Number(one.isStated) || other.weight - one.weight,
  );
  for (const { source, target, name, isStated } of sorted) {
    if (stations.length && !steps.has(`${source} ${target}`)) continue;
    const known = lines.get(`${source} ${target}`) ?? lines.get(`${target} ${source}`);
    if (!known)
      lines.set(`${source} ${target}`, { source, target, names: [name], isStated, isBoth: false });
    else if (isStated || !known.isStated) {
      if (!known.names.includes(name)) known.names.push(name);
      if (known.source !== source) known.isBoth = true;
    }
  }
  return [...lines.values()];
}
