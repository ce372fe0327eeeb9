/** The workspaces that the key may see, and what the one that is shown holds. */

import { computed, signal } from "@preact/signals";
import { api, type Shapes, take } from "../api/client";
import { workspace } from "./location";
import { keep, recall } from "./preferences";

export type Workspace = Shapes["WorkspaceShape"];
export type WorkspaceDetails = Shapes["WorkspaceDetails"];

const LAST = "workspace";

/** Null until the server has listed them. */
export const workspaces = signal<readonly Workspace[] | null>(null);
export const workspacesError = signal<Error | null>(null);
/** Counts up whenever what a workspace holds has changed: pages load again. */
export const revision = signal(0);

const role = computed(
  () => workspaces.value?.find((known) => known.name === workspace.value)?.role ?? "read",
);
/** Whether the key may send, index and delete documents here. */
export const mayWrite = computed(() => role.value !== "read");
/** Whether the key may make and remove workspaces. */
export const mayAdminister = computed(() => role.value === "admin");

/** Ask the server which workspaces there are. */
export async function loadWorkspaces(): Promise<void> {
  try {
    workspaces.value = await take(api.GET("/api/v1/workspaces"));
    workspacesError.value = null;
  } catch (error) {
    workspacesError.value = error instanceof Error ? error : new Error(String(error));
  }
}

/** Return the workspace to begin with: the last one that is still there, or the first. */
export function firstWorkspace(known: readonly Workspace[]): string {
  const last = recall(LAST);
  return known.find(({ name }) => name === last)?.name ?? known[0]?.name ?? "";
}

/** Remember the workspace for the next visit. */
export function rememberWorkspace(name: string): void {
  if (name) keep(LAST, name);
}
