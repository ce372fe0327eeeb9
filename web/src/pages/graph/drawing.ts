/** Select what is drawn: the same set for the map, the tables and the exports. */

import { colourOf, type Palette } from "../../components/graph/colours";
import type { Ground } from "../../components/graph/ground";
import type { DrawnEdge, DrawnNode } from "../../components/graph/view";
import type { Atlas, Community, Entity, Relation } from "./atlas";
import type { Line } from "./standing";

/** Entities that are drawn, at most: more make no picture. */
export const MOST_DRAWN = 2_000;
const MOST_LINES = 4_000;
/** Radius of an entity in a circle that is closed. */
const DOT = 1.7;

/** What is drawn. Entities come before relations: no relation is without its ends. */
export interface Scene {
  /** The outer before the inner. */
  communities: readonly Community[];
  open: ReadonlySet<string>;
  entities: readonly Entity[];
  /** Those among the entities, the strongest first. */
  relations: readonly Relation[];
  /** One line for all relations of the same two. */
  lines: readonly Line[];
  /** Entities that were left out since there are too many. */
  left: number;
}

/** Return what is to be drawn: what is open, and what was asked for besides. */
export function compose(atlas: Atlas, open: ReadonlySet<string>, extra: readonly string[]): Scene {
  const wanted = new Set<string>(extra);
  for (const [id, { ids }] of atlas.around) {
    wanted.add(id);
    for (const near of ids) wanted.add(near);
  }
  const byDepth = [...open].flatMap((id) => atlas.communities.get(id) ?? []);
  byDepth.sort((one, other) => other.level - one.level);
  for (const { id } of byDepth) {
    for (const entity of atlas.opened.get(id)?.part.entities.id ?? []) wanted.add(entity);
  }
  const known = [...wanted].flatMap((id) => atlas.entities.get(id) ?? []);
  const entities = known.slice(0, MOST_DRAWN);
  const ids = new Set(entities.map((entity) => entity.id));
  const relations = [...atlas.relations.values()].filter(
    (relation) => ids.has(relation.source) && ids.has(relation.target),
  );
  relations.sort((one, other) => other.weight - one.weight);
  const communities = [...atlas.communities.values()].filter(
    ({ parent }) => parent === null || open.has(parent),
  );
  communities.sort((one, other) => one.level - other.level);
  return {
    communities,
    open,
    entities,
    relations,
    lines: joinLines(relations).slice(0, MOST_LINES),
    left: known.length - entities.length,
  };
}

/** Return one line for each two entities, whatever relates them. */
export function joinLines(relations: readonly Relation[]): Line[] {
  const lines = new Map<string, Line>();
  for (const { source, target, weight } of relations) {
    const [one, other] = source < target ? [source, target] : [target, source];
    const id = `${one} ${other}`;
    const known = lines.get(id);
    if (known) known.weight += weight;
    else lines.set(id, { id, source: one, target: other, weight });
  }
  return [...lines.values()];
}

/** Return the names of all relations of two entities, each once, the strongest first. */
export function namesOf(line: Line, relations: readonly Relation[]): string[] {
  const between = relations.filter(
    ({ source, target }) =>
      (source === line.source && target === line.target) ||
      (source === line.target && target === line.source),
  );
  return [...new Set(between.map((relation) => relation.name))];
}

/** Return the ground: circles with what is written below their titles. */
export function drawGround(atlas: Atlas, scene: Scene, note: (c: Community) => string): Ground {
  const isShown = new Set(scene.communities.map((community) => community.id));
  const ties = [...atlas.ties.values()].map((held) =>
    held.filter((tie) => isShown.has(tie.source) && isShown.has(tie.target)),
  );
  return {
    circles: scene.communities.map((community) => ({
      id: community.id,
      title: community.title,
      note: note(community),
      x: community.x,
      y: community.y,
      radius: community.radius,
      depth: community.level,
      colour: community.colour,
      isOpen: scene.open.has(community.id),
      share: shareOf(community),
    })),
    links: ties.flatMap((held) => {
      const strongest = Math.max(1e-9, ...held.map((tie) => tie.weight));
      return held.map(({ source, target, weight }) => ({
        source,
        target,
        strength: Math.sqrt(weight / strongest),
      }));
    }),
  };
}

/** Return how strongly a circle is drawn: less where little of it fits, least where nothing does. */
function shareOf({ size, matching }: Community): number {
  if (!size || matching >= size) return 1;
  return matching ? 0.5 + 0.5 * Math.sqrt(matching / size) : 0.25;
}

/** Return the entities that are drawn with names and relations: those whose community is open, and
 * those that were asked for. The others are dots in circles that are closed.
 */
export function fullOf(atlas: Atlas, scene: Scene, extra: readonly string[]): Set<string> {
  const full = new Set<string>(extra);
  for (const [id, { ids }] of atlas.around) for (const near of [id, ...ids]) full.add(near);
  for (const { id, community } of scene.entities) {
    if (community === null || scene.open.has(community)) full.add(id);
  }
  return full;
}

/** Return entities as they are drawn. */
export function drawNodes(
  entities: readonly Entity[],
  full: ReadonlySet<string>,
  palette: Palette,
): DrawnNode[] {
  return entities.map((entity) => {
    const isDot = !full.has(entity.id);
    return {
      id: entity.id,
      label: entity.name,
      x: entity.x,
      y: entity.y,
      size: isDot ? DOT : Math.min(8, 2.6 + Math.log2(1 + entity.chunks)),
      color: colourOf(entity.type, palette),
      isDot,
    };
  });
}

/** Return lines as they are drawn; only those that `written` names have words. */
export function drawLines(
  scene: Scene,
  full: ReadonlySet<string>,
  palette: Palette,
  written: ReadonlySet<string>,
  say: (relation: string) => string,
): DrawnEdge[] {
  const homes = new Map(scene.entities.map(({ id, community }) => [id, community]));
  const drawn = scene.lines.filter(({ source, target }) => full.has(source) && full.has(target));
  return drawn.map((line) => {
    const names = written.has(line.id) ? namesOf(line, scene.relations) : [];
    const [first = "", ...others] = names;
    const isNear = homes.get(line.source) === homes.get(line.target);
    return {
      id: line.id,
      source: line.source,
      target: line.target,
      label: others.length ? `${say(first)} +${others.length}` : say(first),
      width: Math.min(3, 0.9 + 0.35 * Math.log2(Math.max(1, line.weight))),
      color: palette.faint,
      alpha: isNear ? 0.5 : 0.22,
    };
  });
}
