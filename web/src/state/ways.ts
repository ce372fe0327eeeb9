/** The ways to search that the server knows. */

import { call } from "./calls";
import { type Loaded, useLoaded } from "./loading";

export interface Ways {
  /** What `auto` is. */
  auto: string;
  retrievers: { name: string; summary: string; needs_model: boolean }[];
  modes: string[];
}

export function useWays(): Loaded<Ways> {
  return useLoaded("retrievers", () =>
    call("get", "/api/v1/retrievers").then((listed) => listed as unknown as Ways),
  );
}
