/** What the address says of the map: where one looks, what stands out, what is left out. */

import { computed } from "@preact/signals";
import { place, type Query, setQuery } from "../../state/location";

export interface Filter {
  types: readonly string[];
  relations: readonly string[];
  weight: number;
  document: string;
}

export interface Way {
  from: string;
  to: string;
  /** Which of the paths is drawn, from 0 on. */
  pick: number;
}

export interface Asked {
  /** The community that one is in; empty above all. */
  community: string;
  /** The entity that stands out. */
  focus: string;
  /** Entities whose neighbours were added, and how often. */
  expanded: readonly string[];
  /** Null while no path is sought; an end that is not chosen yet is empty. */
  way: Way | null;
  filter: Filter;
  view: "map" | "table" | "";
  /** Communities of the topmost level, at most. */
  circles: number;
  /** Entities of the community one is in, at most. */
  entities: number;
  /** Where one looks: x, y and pixels for each step of the map. */
  at: readonly [number, number, number] | null;
}

export const FEWEST_CIRCLES = 60;
export const FEWEST_ENTITIES = 30;

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

/** Read what an address asks for; what makes no sense is as if it were not there. */
export function readAsked(query: URLSearchParams): Asked {
  const at = (query.get("at") ?? "").split(",").map(Number);
  const [x = Number.NaN, y = Number.NaN, scale = Number.NaN] = at;
  const [from, to] = [query.get("from"), query.get("to")];
  const view = query.get("view");
  return {
    community: query.get("c") ?? "",
    focus: query.get("focus") ?? "",
    expanded: readList(query.get("more")),
    way:
      from === null && to === null
        ? null
        : { from: from ?? "", to: to ?? "", pick: readNumber(query.get("pick"), 0, 50) },
    filter: {
      types: readList(query.get("types")),
      relations: readList(query.get("relations")),
      weight: readNumber(query.get("weight"), 0, 1e9),
      document: query.get("document") ?? "",
    },
    view: view === "map" || view === "table" ? view : "",
    circles: readNumber(query.get("circles"), FEWEST_CIRCLES, 500),
    entities: readNumber(query.get("entities"), FEWEST_ENTITIES, 2_000),
    at: at.length === 3 && at.every(Number.isFinite) && scale > 0 ? [x, y, scale] : null,
  };
}

export const asked = computed(() => readAsked(place.value.query));

/** Change the address; what says nothing leaves no trace there. */
export function ask(change: Query, options: { replace?: boolean } = {}): void {
  setQuery(change, options);
}

/** Return what says that nothing is left out any more. */
export const NO_FILTER: Query = { types: null, relations: null, weight: null, document: null };

export function isFiltering({ types, relations, weight, document }: Filter): boolean {
  return types.length > 0 || relations.length > 0 || weight > 0 || document !== "";
}
