/** The address is the state: which workspace, which page, and what is shown there. */

import { computed, signal } from "@preact/signals";

/** What each page is called. */
export const PAGE_TITLES = {
  library: "Library",
  graph: "Graph",
  ask: "Workspace",
  documents: "Documents",
  evaluation: "Evaluation",
} as const;

export const PAGES = ["ask", "graph", "library", "evaluation", "documents"] as const;
/** Those that the navigation leads to; the others are views of these. */
export const MAIN_PAGES = PAGES.slice(0, 4);
export type PageName = (typeof PAGES)[number];
/** A page that became a view of the graph: its addresses lead there. */
const MOVED = "communities";
type Name = PageName | typeof MOVED;
export type Query = Record<string, string | number | null | undefined>;

export interface Place {
  /** Empty where the address names none. */
  workspace: string;
  page: PageName;
  query: URLSearchParams;
}

const BASE = "/ui/";
/** Where a new workspace is begun, whatever others there are. */
export const NEW = `${BASE}?new=1`;

export function isPage(name: string): name is PageName {
  return (PAGES as readonly string[]).includes(name);
}

/** Read an address. `/ui/documents/ID?ws=W` is what citations of other interfaces lead to. */
export function readPlace(path: string, search: string): Place {
  const query = new URLSearchParams(search);
  const parts = path.startsWith(BASE) ? path.slice(BASE.length).split("/").filter(Boolean) : [];
  const [first = "", second = ""] = parts.map(decodePart);
  const named = query.get("ws");
  if (first === "documents" && second && !isPage(second) && named !== null) {
    query.delete("ws");
    query.set("doc", second);
    return { workspace: named, page: "documents", query };
  }
  if (second === MOVED) {
    query.set("view", second);
    return { workspace: first, page: "graph", query };
  }
  return { workspace: first, page: isPage(second) ? second : "ask", query };
}

/** Return the address of a place. */
export function addressOf(workspace: string, page: Name, query: Query = {}): string {
  if (page === MOVED) return addressOf(workspace, "graph", { ...query, view: page });
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== null && value !== undefined && value !== "") search.set(name, String(value));
  }
  const asked = search.toString();
  return `${BASE}${encodeURIComponent(workspace)}/${page}${asked ? `?${asked}` : ""}`;
}

export const place = signal<Place>(readPlace(location.pathname, location.search));
export const workspace = computed(() => place.value.workspace);
export const page = computed(() => place.value.page);

/** Return the address of a page of the workspace that is shown. */
export function linkTo(page: Name, query: Query = {}): string {
  return addressOf(workspace.value, page, query);
}

/** Go to an address; `replace` leaves no step to go back to. */
export function go(address: string, { replace = false } = {}): void {
  if (address === location.pathname + location.search) return;
  history[replace ? "replaceState" : "pushState"](null, "", address);
  const before = place.value;
  place.value = readPlace(location.pathname, location.search);
  const isOther = before.query.get("doc") !== place.value.query.get("doc");
  if (isOther || before.page !== place.value.page) window.scrollTo(0, 0);
}

/** Change a part of what the address asks for; null takes a name out of it. With `on`, it changes
 * nothing while another page is shown: a timer or a reply may come after its page was left. */
export function setQuery(
  change: Query,
  { replace = false, on }: { replace?: boolean; on?: Name } = {},
): void {
  const { query } = place.value;
  if (on && on !== page.value) return;
  go(addressOf(workspace.value, page.value, { ...Object.fromEntries(query), ...change }), {
    replace,
  });
}

/** Return the part of a document that the address has open beside the page, as `id:start:end`. */
export function askedPart(): { document: string; start: number; end: number } | null {
  const [, document, start, end] = /^([^:]+):(\d+):(\d+)$/.exec(asked("at")) ?? [];
  return document ? { document, start: Number(start), end: Number(end) } : null;
}

/** Return what the address says under a name, or an empty text. */
export function asked(name: string): string {
  return place.value.query.get(name) ?? "";
}

function decodePart(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** Return whether a click is for the page: with a key, it opens a tab, a window or a download. */
export function isPlain({ button, metaKey, ctrlKey, shiftKey, altKey }: MouseEvent): boolean {
  return button === 0 && !metaKey && !ctrlKey && !shiftKey && !altKey;
}

/** Do something else where a link leads, at a plain click. */
export function instead(event: MouseEvent, then: () => void): void {
  if (!isPlain(event)) return;
  event.preventDefault();
  then();
}

/** Follow links within the pages without reloading them, and the browser's back and forward. */
export function startRouting(): void {
  window.addEventListener("popstate", () => {
    place.value = readPlace(location.pathname, location.search);
  });
  document.addEventListener("click", (event) => {
    if (event.defaultPrevented || !isPlain(event)) return;
    const link = event.target instanceof Element ? event.target.closest("a[href]") : null;
    if (!(link instanceof HTMLAnchorElement) || link.target || link.hasAttribute("download"))
      return;
    if (link.origin !== location.origin || !link.pathname.startsWith(BASE)) return;
    // A place on the page itself: the browser goes there, and takes the focus along.
    if (link.hash && link.pathname === location.pathname) return;
    event.preventDefault();
    go(link.pathname + link.search);
  });
}
