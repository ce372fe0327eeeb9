/** The keys of the map. */

import type { RefObject } from "preact";
import type { MapView } from "../../components/graph/map-view";
import { t } from "../../i18n";
import { speak } from "../../state/announcements";
import { useShortcuts } from "../../state/keys";
import { ask, asked } from "./asked";
import type { Atlas, Community } from "./atlas";
import type { Session } from "./session";

interface Keyed {
  session: Session;
  view: RefObject<MapView | null>;
  field: RefObject<HTMLInputElement | null>;
  expand: () => Promise<unknown>;
  collapse: () => void;
  startPath: () => void;
  isTable: boolean;
  canDraw: boolean;
}

/** Make the keys work while the map is shown. */
export function useGraphKeys(keyed: Keyed): void {
  const { session, view, field, isTable } = keyed;
  const words = t.value.graph;
  const has = () => asked.peek().focus !== "";
  useShortcuts([
    { keys: "/", label: words.search, run: () => field.current?.focus() },
    { keys: "]", label: words.levelDown, run: () => goInto(session, view.current) },
    { keys: "[", label: words.levelUp, run: () => goOut(session) },
    { keys: "e", label: words.expand, run: () => void (has() && keyed.expand()) },
    { keys: "x", label: words.collapse, run: () => void (has() && keyed.collapse()) },
    { keys: "p", label: words.pathFrom, run: keyed.startPath },
    {
      keys: "t",
      label: words.table,
      run: () => {
        if (keyed.canDraw) ask({ view: isTable ? "map" : "table" });
      },
    },
    { keys: "+", label: words.zoomIn, run: () => view.current?.zoom(1.6) },
    { keys: "-", label: words.zoomOut, run: () => view.current?.zoom(1 / 1.6) },
    { keys: "0", label: words.fit, run: () => ask({ c: null, at: null, focus: null }) },
    { keys: "Escape", label: words.back, run: () => stepBack(session) },
  ]);
}

/** Go into the nearest community that is closed; where all are open, into the first of them. */
function goInto(session: Session, view: MapView | null): void {
  const { atlas, scene, here } = session;
  const inside = scene.communities.filter(
    (community) => community.parent === (here || null) && community.id !== here,
  );
  const place = view?.viewport() ?? { x: 0, y: 0 };
  const away = ({ x, y, radius }: Community) => Math.hypot(x - place.x, y - place.y) - radius;
  const next = [...inside].sort((one, other) => away(one) - away(other))[0];
  if (next) enter(atlas, next.id);
}

function goOut({ atlas, here }: Session): void {
  if (here) enter(atlas, atlas.communities.get(here)?.parent ?? "");
}

function enter(atlas: Atlas, id: string): void {
  ask({ c: id || null, at: null, focus: null });
  speak(atlas.communities.get(id)?.title ?? t.value.graph.overview);
}

/** Leave what one is in, the innermost first: a path, an entity, a community. */
function stepBack(session: Session): void {
  const { way, focus } = asked.peek();
  if (way) ask({ from: null, to: null, pick: null });
  else if (focus) ask({ focus: null });
  else goOut(session);
}
