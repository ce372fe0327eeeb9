/** The workspaces that the key may see, and what the one that is shown holds. */

import { computed, effect, signal } from "@preact/signals";
import { asError, isWaiting, type Shapes } from "../api/client";
import { call } from "./calls";
import { renewal } from "./connection";
import { workspace } from "./location";
import { keep, recall } from "./preferences";
import { hear, tell } from "./tabs";

export type Workspace = Shapes["WorkspaceShape"];
export type WorkspaceDetails = Shapes["WorkspaceDetails"];

const LAST = "workspace";

/** Null until the server has listed them. */
export const workspaces = signal<readonly Workspace[] | null>(null);
export const workspacesError = signal<Error | null>(null);
/** Counts up whenever what a workspace holds has changed: pages load again. */
export const revision = signal(0);

/** The workspace that is shown; null as long as it is not known to be there. */
export const current = computed(
  () => workspaces.value?.find(({ name }) => name === workspace.value) ?? null,
);
/** What people call the workspace that is shown. */
export const title = computed(() => current.value?.title ?? workspace.value);
const role = computed(() => current.value?.role ?? "read");
/** Whether the key may send, index and delete documents here. */
export const mayWrite = computed(() => role.value !== "read");
/** Whether the key may make and remove workspaces. */
export const mayAdminister = computed(
  () => workspaces.value?.some(({ role }) => role === "admin") ?? false,
);

/** Ask the server which workspaces there are. */
export async function loadWorkspaces(): Promise<void> {
  try {
    workspaces.value = await call("get", "/api/v1/workspaces");
    workspacesError.value = null;
  } catch (error) {
    if (isWaiting(error)) return;
    workspacesError.value = asError(error);
  }
}

/** Have what a workspace holds loaded again, here and in other tabs. */
export function noteChange(name: string = workspace.peek()): void {
  tell("changed", name);
  loadAgain(name);
}

function loadAgain(name: string): void {
  if (name === workspace.peek()) revision.value += 1;
}

/** Load the list now, and whenever the server is back, the key or another tab has changed it. */
export function startWorkspaces(): void {
  hear("workspaces", loadWorkspaces);
  hear("changed", loadAgain);
  effect(() => {
    void renewal.value;
    void loadWorkspaces();
  });
}

/** Make a workspace, named by its title unless it has to have a `name`. Throws ApiError. */
export async function makeWorkspace(title: string, name = ""): Promise<string> {
  const made = await call("post", "/api/v1/workspaces", { body: { title, name } });
  await changed();
  return made.name;
}

/** Change the title of a workspace, by default of the one that is shown. Throws ApiError. */
export async function renameWorkspace(title: string, name = workspace.peek()): Promise<void> {
  await call("patch", "", { workspace: name, body: { title } });
  await changed();
}

/** Delete a workspace with all that it holds. Throws ApiError. */
export async function removeWorkspace(name: string): Promise<void> {
  await call("delete", "", { workspace: name });
  await changed();
}

function changed(): Promise<void> {
  tell("workspaces");
  return loadWorkspaces();
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
