/** What routes of the workspace that is shown answer. */

import { api, take } from "../api/client";
import type { paths } from "../api/schema";
import { type Loaded, useLoaded } from "./loading";
import { workspace } from "./location";
import { revision } from "./workspaces";

const BELOW = "/api/v1/workspaces/{workspace}";

interface Get<Path, Query, Data> {
  parameters: { path: Path; query?: Query };
  responses: { 200: { content: { "application/json": { data: Data } } } };
}

/** What a route asks for and answers, by its path below that of the workspace. */
type Routes = {
  [P in keyof paths as P extends `${typeof BELOW}${infer Route}`
    ? paths[P] extends { get: object }
      ? Route
      : never
    : never]: paths[P] extends { get: Get<infer Path, infer Query, infer Data> }
    ? { path: Omit<Path, "workspace">; query: Query; data: Data }
    : never;
};

interface Asked<Route extends keyof Routes> {
  path?: Routes[Route]["path"];
  query?: Routes[Route]["query"];
  /** Another value loads again; by default what the workspace holds has to change. */
  turn?: number;
  keepsOld?: boolean;
}

/** Load what a route answers, again whenever the question changes; null loads nothing. */
export function useRoute<Route extends keyof Routes>(
  route: Route | null,
  { path, query, turn = revision.value, keepsOld = false }: Asked<Route> = {},
): Loaded<Routes[Route]["data"]> {
  const params = { path: { workspace: workspace.value, ...path }, query };
  const wanted = route === null ? "" : JSON.stringify([route, params, turn]);
  const load = (signal: AbortSignal) =>
    take<Routes[Route]["data"]>(
      api.GET(`${BELOW}${route}` as never, { params, signal } as never) as never,
    );
  return useLoaded(wanted, load, { keepsOld });
}
