/** One session on the map: what is loaded, what is open, and the view. */

import { useSignal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { Viewport } from "../../components/graph/ground";
import { t } from "../../i18n";
import { announce } from "../../state/announcements";
import { workspace } from "../../state/location";
import { revision } from "../../state/workspaces";
import { ask, asked, type Filter } from "./asked";
import { Atlas } from "./atlas";
import { compose, type Scene } from "./drawing";
import { innermost, openRings } from "./opening";

/** How long the camera rests before what came into view is asked for, and the address is written. */
const SETTLE_MS = 110;
const WRITE_MS = 350;

export interface Session {
  atlas: Atlas;
  scene: Scene;
  /** The community in the middle of the view, or that the address names; empty above all. */
  here: string;
  /** Take in where the camera is. */
  look: (view: Viewport) => void;
  /** Start over, after an error. */
  restart: () => void;
  /** Whether the camera itself wrote this into the address: then it is no call to go there. Each
   * writing answers once.
   */
  wrote: (at: string) => boolean;
}

function writeAt(view: Viewport): string {
  const digits = Math.max(0, Math.min(4, Math.ceil(Math.log10(view.scale)) + 1));
  return [view.x.toFixed(digits), view.y.toFixed(digits), view.scale.toPrecision(4)].join(",");
}

function sameSet(one: ReadonlySet<string>, other: ReadonlySet<string>): boolean {
  return one.size === other.size && [...one].every((id) => other.has(id));
}

/** Return whether a view shows the whole map, as `fit` does. */
function isAbove(atlas: Atlas, { x, y, scale, width, height }: Viewport): boolean {
  const radius = atlas.overview.value?.radius ?? 0;
  const share = (2 * radius * scale) / Math.min(width, height);
  return Math.hypot(x, y) < radius / 50 && share > 0.9 && share < 1.02;
}

/** Keep a session for the workspace and the filter of the address; `isTable` opens nothing but the
 * way to the community that the address names. */
export function useSession(isTable: boolean): Session {
  const turn = useSignal(0);
  const filter = asked.value.filter;
  const key = JSON.stringify([workspace.value, filter, revision.value, turn.value]);
  const next = useMemo(() => {
    const [name, wanted] = JSON.parse(key) as [string, Filter];
    return new Atlas(name, wanted);
  }, [key]);
  // What was there stays until the new is known: a filter must not empty the page.
  const last = useRef(next);
  const isReady = next.overview.value !== null || next.error.value !== null;
  if (isReady || last.current.workspace !== next.workspace) last.current = next;
  const atlas = last.current;
  const view = useRef<Viewport | null>(null);
  /** Places that the camera wrote into the address, and that were not seen there yet. */
  const written = useRef<string[]>([]);
  const open = useSignal<ReadonlySet<string>>(new Set());
  const timers = useRef<{ settle?: number | undefined; write?: number | undefined }>({});
  const current = useRef({ atlas, isTable });
  current.current = { atlas, isTable };
  const { circles, entities: limit, community, focus, way, expanded } = asked.value;

  useEffect(() => {
    void next.loadOverview(circles);
  }, [next, circles]);
  useEffect(
    () => () => {
      next.close();
    },
    [next],
  );
  useEffect(
    () => () => {
      window.clearTimeout(timers.current.settle);
      window.clearTimeout(timers.current.write);
    },
    [],
  );

  const wantedOpen = (known: Atlas, of: Viewport) =>
    openRings([...known.communities.values()], of, open.peek());
  const settle = () => {
    const { atlas: known, isTable: asTable } = current.current;
    if (asTable || !view.current) return;
    const wanted = wantedOpen(known, view.current);
    for (const id of wanted) void known.open(id, 30);
    const loaded = new Set([...wanted].filter((id) => known.opened.has(id)));
    if (!sameSet(loaded, open.peek())) open.value = loaded;
  };
  // What came in the meantime may let more be open.
  const version = atlas.version.value;
  useEffect(settle, [atlas, version]);

  const look = (seen: Viewport) => {
    view.current = seen;
    const known = current.current.atlas;
    const closed = wantedOpen(known, seen);
    const still = new Set([...closed].filter((id) => known.opened.has(id)));
    if (!sameSet(still, open.peek())) open.value = still;
    timers.current.settle ??= window.setTimeout(() => {
      timers.current.settle = undefined;
      settle();
    }, SETTLE_MS);
    window.clearTimeout(timers.current.write);
    timers.current.write = window.setTimeout(() => {
      const rings = [...known.communities.values()];
      const inside = innermost(rings, open.peek(), seen.x, seen.y);
      const place = writeAt(seen);
      const { at, community: before } = asked.peek();
      // Above all, where one begins, is what an address without a place means.
      const isStart = !inside && isAbove(known, seen);
      if (isStart && !at && !before) return;
      if (!isStart) written.current.push(place);
      ask({ at: isStart ? null : place, c: inside?.id ?? null }, { replace: true });
    }, WRITE_MS);
  };

  // The community that the address names may have been asked for with more entities.
  useEffect(() => {
    if (!community) return;
    void atlas.open(community, limit).then((isThere) => {
      if (isThere || asked.peek().community !== community) return;
      // Rebuilt communities have other ids: an old address leads to the top.
      announce(t.value.graph.communityGone);
      ask({ c: null, at: null }, { replace: true });
    });
  }, [atlas, community, limit]);

  const chain = community ? atlas.chain(community).map(({ id }) => id) : [];
  const tableOpen = isTable ? new Set(chain.filter((id) => atlas.opened.has(id))) : null;
  const shown = tableOpen ?? open.value;
  const extra = [focus, ...(way ? [way.from, way.to] : []), ...expanded].filter(Boolean);
  const shownKey = [...shown].join(" ");
  const extraKey = extra.join(" ");
  const scene = useMemo(
    () => compose(atlas, shown, [...extra, ...atlas.pinned]),
    [atlas, version, shownKey, extraKey],
  );
  return {
    atlas,
    scene,
    here: community,
    look,
    restart: () => {
      turn.value += 1;
    },
    wrote: (at) => {
      const index = written.current.indexOf(at);
      written.current.splice(0, index + 1);
      return index >= 0;
    },
  };
}
