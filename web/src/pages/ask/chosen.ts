/** The filter for the sources that are ticked beside a thread. */

import { api, take } from "../../api/client";
import { quote } from "../../components/filters/conditions";
import { chosenSources } from "../../state/sources";

const PAGE = 1_000;

/** Return a filter for the ticked sources of a workspace; empty if none is. Throws ApiError. */
export async function filterOfChosen(workspace: string): Promise<string> {
  const wanted = new Set(chosenSources.peek());
  const uris: string[] = [];
  for (let start: number | null = 0; start !== null && wanted.size > 0; ) {
    const query: { limit: number; start: number } = { limit: PAGE, start };
    const params = { path: { workspace }, query };
    const page = await take(api.GET("/api/v1/workspaces/{workspace}/documents", { params }));
    for (const { id, uri } of page.documents) if (wanted.delete(id)) uris.push(uri);
    start = page.next;
  }
  return uris.length > 0 ? `uri in (${uris.map(quote).join(", ")})` : "";
}
