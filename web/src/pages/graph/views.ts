/** Saved views: a name, the address, and the places of entities that were moved. */

import { signal } from "@preact/signals";
import { keep, recall } from "../../state/preferences";

export interface SavedView {
  name: string;
  /** What the address asks for. */
  query: string;
  places: Record<string, readonly [number, number]>;
}

const KEPT = "views.";

/** Entities that were moved since the map was opened. */
export const moved = signal<ReadonlyMap<string, readonly [number, number]>>(new Map());

export const saved = signal<readonly SavedView[]>([]);

function isView(value: unknown): value is SavedView {
  const view = value as Partial<SavedView> | null;
  return (
    typeof view?.name === "string" &&
    typeof view.query === "string" &&
    typeof view.places === "object"
  );
}

/** Read the views of a workspace; what other versions left there is no view. */
export function readViews(workspace: string): void {
  try {
    const found: unknown = JSON.parse(recall(KEPT + workspace) ?? "[]");
    saved.value = Array.isArray(found) ? found.filter(isView) : [];
  } catch {
    saved.value = [];
  }
}

function write(workspace: string, views: readonly SavedView[]): void {
  saved.value = views;
  keep(KEPT + workspace, JSON.stringify(views));
}

/** Save what is shown under a name; another view of this name is replaced. */
export function saveView(workspace: string, name: string, query: string): void {
  const view = { name, query, places: Object.fromEntries(moved.value) };
  write(workspace, [...saved.value.filter((other) => other.name !== name), view]);
}

export function removeView(workspace: string, name: string): void {
  write(
    workspace,
    saved.value.filter((other) => other.name !== name),
  );
}

/** Take the places of a view; the address is for the caller to go to. */
export function takePlaces({ places }: SavedView): void {
  moved.value = new Map(Object.entries(places));
}
