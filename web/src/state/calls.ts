/** Requests by their routes; those about a workspace are written as they go on after its name. */

import { send } from "../api/client";
import type { paths } from "../api/schema";
import { type Loaded, useLoaded } from "./loading";
import { workspace } from "./location";
import { revision } from "./workspaces";

const ROOT = "/api/v1/workspaces/{workspace}";

type Method = "get" | "post" | "put" | "patch" | "delete";
/** The routes that take a method. */
type Route<M extends Method, P = keyof paths> = P extends keyof paths
  ? paths[P] extends Record<M, object>
    ? P extends `${typeof ROOT}${infer Rest}`
      ? Rest
      : P
    : never
  : never;
type Operation<M extends Method, R extends string> = paths[(R | `${typeof ROOT}${R}`) &
  keyof paths][M];

type Parameters<O> = O extends { parameters: { path?: infer P; query?: infer Q } }
  ? ([P] extends [never] ? unknown : Omit<P, "workspace">) & { query?: Q }
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

type Untyped = Record<string, unknown> & { query?: object; signal?: AbortSignal };

/** Send a request, and return the data of the reply. Throws ApiError. */
export async function call<M extends Method, R extends Route<M>>(
  method: M,
  route: R,
  ...[given]: object extends Given<Operation<M, R>>
    ? [Given<Operation<M, R>>?]
    : [Given<Operation<M, R>>]
): Promise<Data<Operation<M, R>>> {
  const { query, body, signal, ...named } = (given ?? {}) as Untyped;
  const names: Record<string, string> = { workspace: workspace.value, ...named };
  const full = route.startsWith("/api/") ? route : ROOT + route;
  const path = full.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(names[name] ?? ""));
  const search = new URLSearchParams();
  for (const [name, values] of Object.entries(query ?? {}))
    for (const value of [values].flat()) if (value != null) search.append(name, String(value));
  const url = new URL(`${path}?${search}`.replace(/\?$/, ""), location.origin);
  const sent: RequestInit = { method: method.toUpperCase(), signal: signal ?? null };
  if (body instanceof FormData) sent.body = body;
  else if (body !== undefined) {
    sent.body = JSON.stringify(body);
    sent.headers = { "Content-Type": "application/json" };
  }
  const response = await send(new Request(url, sent));
  const reply: { data: Data<Operation<M, R>> } = await response.json();
  return reply.data;
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
