/** Requests about a workspace: routes are written as they go on after its name. */

import { api, take } from "../api/client";
import type { paths } from "../api/schema";
import { type Loaded, useLoaded } from "./loading";
import { workspace } from "./location";
import { revision } from "./workspaces";

const ROOT = "/api/v1/workspaces/{workspace}";

type Method = "get" | "post" | "put" | "patch" | "delete";
/** The routes that take a method. */
type Route<M extends Method, P = keyof paths> = P extends `${typeof ROOT}${infer Rest}` &
  keyof paths
  ? paths[P] extends Record<M, object>
    ? Rest
    : never
  : never;
type Operation<M extends Method, R extends string> = paths[`${typeof ROOT}${R}` & keyof paths][M];

type Parameters<O> = O extends { parameters: { path: infer P; query?: infer Q } }
  ? Omit<P, "workspace"> & { query?: Q }
  : never;
type Body<O> = O extends { requestBody: { content: { "application/json": infer B } } }
  ? { body: B }
  : unknown;
/** Parameters of the route by their names; the workspace is the one that is shown, by default. */
type Given<O> = Parameters<O> & Body<O> & { workspace?: string; signal?: AbortSignal };
type Data<O> = O extends { responses: infer R }
  ? R[keyof R & (200 | 201 | 202)] extends { content: { "application/json": { data: infer D } } }
    ? D
    : never
  : never;

/** Send a request about a workspace, and return the data of the reply. Throws ApiError. */
export function call<M extends Method, R extends Route<M>>(
  method: M,
  route: R,
  ...[given]: object extends Given<Operation<M, R>>
    ? [Given<Operation<M, R>>?]
    : [Given<Operation<M, R>>]
): Promise<Data<Operation<M, R>>> {
  const { query, body, signal, ...named } = (given ?? {}) as Record<string, unknown>;
  const path = { workspace: workspace.value, ...named };
  const init = { params: { path, query }, body, signal };
  return take(api.request(method, `${ROOT}${route}` as never, init as never) as never);
}

/** Load what a request returns, again whenever the workspace or `turn` changes; null loads nothing. */
export function useCall<M extends Method, R extends Route<M>>(
  method: M,
  route: R,
  given: Given<Operation<M, R>> | null,
  { turn, ...options }: { turn?: unknown; keepsOld?: boolean } = {},
): Loaded<Data<Operation<M, R>>> {
  const wanted =
    given && JSON.stringify([workspace.value, method, route, given, revision.value, turn]);
  return useLoaded(
    wanted ?? "",
    (signal) => call(method, route, ...([{ ...given, signal }] as never)),
    options,
  );
}
