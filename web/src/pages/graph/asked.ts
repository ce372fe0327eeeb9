/** What the address says of the graph: what is shown, what stands out, what is left out. */

import { computed } from "@preact/signals";
import { place, type Query, setQuery } from "../../state/location";

/** Change what the address says of the graph, unless another page is shown by now. */
export function ask(change: Query, { replace = false } = {}): void {
  setQuery(change, { replace, on: "graph" });
}

export const VIEWS = ["map", "communities", "table"] as const;

export const FIRST = 150;
export const STEPS = [FIRST, 300, 1_000, 2_000];

/** Lists stand in the address as names between commas, each written so that it has none itself; a
 * name that is empty is `%`. */
export function readList(text: string | null): string[] {
  return (text ?? "").split(",").filter(Boolean).map(decodeList);
}

export function writeList(names: readonly string[]): string {
  const write = (name: string) => name.replaceAll("%", "%25").replaceAll(",", "%2C") || "%";
  return names.map(write).join(",");
}

function decodeList(text: string): string {
  return text === "%" ? "" : text.replaceAll("%2C", ",").replaceAll("%25", "%");
}

function readNumber(text: string | null, least: number, most: number): number {
  const value = Number(text);
  return Number.isFinite(value) && text ? Math.min(most, Math.max(least, value)) : least;
}

export type Asked = ReturnType<typeof readAsked>;
export type Way = NonNullable<Asked["way"]>;

/** Read what an address asks for; what makes no sense is as if it were not there. */
export function readAsked(query: URLSearchParams) {
  const text = (name: string) => query.get(name) ?? "";
  const at = text("at").split(",").map(Number);
  const [x = Number.NaN, y = Number.NaN, scale = Number.NaN] = at;
  const [from, to] = [text("from"), text("to")];
  return {
    view: VIEWS.find((name) => name === query.get("view")) ?? "map",
    /** The entity that stands out. */
    focus: text("focus"),
    /** Entities whose neighbours were added. */
    expanded: readList(query.get("more")),
    /** The ends of a path, empty as long as they are not chosen, and which path is drawn; or null. */
    way:
      from || to || query.has("path")
        ? { from, to, pick: readNumber(query.get("pick"), 0, 50) }
        : null,
    filter: {
      types: readList(query.get("types")),
      relations: readList(query.get("relations")),
      community: text("c"),
      document: text("document"),
      coOccurrence: query.has("co"),
      /** Whether dates, numbers and files are shown, too. */
      minor: query.has("minor"),
    },
    /** Entities at most. */
    limit: readNumber(query.get("limit"), FIRST, 2_000),
    /** How far the local view of the focus reaches, in relations; 0 without one. */
    depth: readNumber(query.get("depth"), 0, 3),
    /** Whether the local view has entities with very many neighbours. */
    hubs: query.get("hubs") !== "0",
    /** A phrase whose entities are shown alone. */
    phrase: text("q"),
    at: at.length === 3 && at.every(Number.isFinite) && scale > 0 ? { x, y, scale } : null,
  };
}

export const asked = computed(() => readAsked(place.value.query));

/** What says that nothing is left out any more. */
export const NO_FILTER: Query = {
  types: null,
  relations: null,
  c: null,
  document: null,
  q: null,
  at: null,
};

/** What leads out of a path, and of a local view. */
export const NO_PATH: Query = { path: null, from: null, to: null, pick: null };
export const NOT_LOCAL: Query = { depth: null, hubs: null };

/** Have an entity stand out. */
export function focusOn(id: string): void {
  ask({ focus: id, ...NO_PATH, ...(asked.peek().depth ? { at: null } : {}) });
}

/** Add the neighbours of an entity, or take them away. */
export function expand(id: string): void {
  const expanded = new Set([...asked.peek().expanded, id]);
  ask({ more: writeList([...expanded]), focus: id, ...NOT_LOCAL });
}

export function collapse(id: string): void {
  ask({ more: writeList(asked.peek().expanded.filter((other) => other !== id)) || null });
}

export function isFiltering({ types, relations, community, document }: Asked["filter"]): boolean {
  return types.length > 0 || relations.length > 0 || community !== "" || document !== "";
}
