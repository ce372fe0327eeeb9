import { useEffect, useRef, useState } from "preact/hooks";
import { readPalette } from "../../components/graph/colours";
import type { MapView } from "../../components/graph/map-view";
import type { Emphasis } from "../../components/graph/view";
import { count, t } from "../../i18n";
import { speak } from "../../state/announcements";
import { isDark } from "../../state/preferences";
import { ask, asked } from "./asked";
import type { Community } from "./atlas";
import { drawGround, drawLines, drawNodes, fullOf } from "./drawing";
import type { Session } from "./session";
import { neighboursOf } from "./standing";
import { sayRelation } from "./words";

interface MapCanvasProps {
  session: Session;
  emphasis: Emphasis | null;
  /** Gets the view once it is there, and null when it goes. */
  onView: (view: MapView | null) => void;
  onNode: (id: string) => void;
  onFail: (error: unknown) => void;
}

const PAN = 90;
const ARROWS: Record<string, [number, number]> = {
  ArrowLeft: [-PAN, 0],
  ArrowRight: [PAN, 0],
  ArrowUp: [0, -PAN],
  ArrowDown: [0, PAN],
};

/** The map itself. With the focus, arrows move it and Tab walks along the neighbours. */
export function MapCanvas({ session, emphasis, onView, onNode, onFail }: MapCanvasProps) {
  const box = useRef<HTMLElement>(null);
  const view = useRef<MapView | null>(null);
  const [isReady, setReady] = useState(false);
  const calls = useRef({ session, onNode });
  calls.current = { session, onNode };
  const { atlas, scene } = session;
  const words = t.value.graph;
  const dark = isDark();
  const radius = atlas.overview.value?.radius ?? 0;
  const { focus, community, at } = asked.value;
  const place = at?.join(",") ?? "";

  useEffect(() => {
    const element = box.current;
    if (!element || !radius) return;
    let isGone = false;
    import("../../components/graph/map-view")
      .then(({ openMapView }) => {
        if (isGone) return;
        view.current = openMapView(element, radius, {
          onNode: (id) => calls.current.onNode(id),
          onCircle: (id) => {
            if (id) ask({ c: id, at: null, focus: null });
            else if (asked.peek().focus) ask({ focus: null });
          },
          onMove: (moved) => calls.current.session.look(moved),
        });
        onView(view.current);
        setReady(true);
      })
      .catch(onFail);
    return () => {
      isGone = true;
      view.current?.destroy();
      view.current = null;
      onView(null);
      setReady(false);
    };
  }, [radius]);

  useEffect(() => {
    if (!isReady) return;
    view.current?.recolour();
  }, [isReady, dark]);

  useEffect(() => {
    if (!view.current) return;
    const palette = readPalette();
    const note = ({ size, matching }: Community) =>
      matching < size ? words.fits(count(matching), count(size)) : count(size);
    view.current.drawGround(drawGround(atlas, scene, note));
    const full = fullOf(atlas, scene, [...atlas.pinned, ...(focus ? [focus] : [])]);
    view.current.draw({
      nodes: drawNodes(scene.entities, full, palette),
      edges: drawLines(scene, full, palette, emphasis?.labelled ?? new Set(), sayRelation),
    });
  }, [isReady, atlas, scene, emphasis?.labelled, dark, words]);

  useEffect(() => {
    if (isReady) view.current?.emphasise(emphasis);
  }, [isReady, emphasis]);

  // Where the address says one is: by its place, by its community, or above all.
  const version = atlas.version.value;
  const gone = useRef("");
  useEffect(() => {
    if (!isReady || !view.current) return;
    const wanted = `${place} ${place ? "" : community} ${place || community ? "" : focus}`;
    if (gone.current === wanted) return;
    if (place) {
      gone.current = wanted;
      if (at && !session.wrote(place)) view.current.jump(...at);
      return;
    }
    if (focus) {
      gone.current = wanted; // the page moves there once it has the neighbours
      return;
    }
    const target = atlas.communities.get(community);
    if (community && !target) return;
    gone.current = wanted;
    if (target) view.current.fly({ ...target, radius: target.radius * 1.08 });
    else view.current.fit();
  }, [isReady, place, community, focus, version]);

  const walk = (event: KeyboardEvent) => {
    const near = focus ? neighboursOf(focus, scene.lines) : [];
    const step = event.shiftKey ? -1 : 1;
    const before = near.indexOf(box.current?.dataset.near ?? "");
    const next = before < 0 && step < 0 ? -1 : before + step;
    const id = near[next];
    if (id === undefined || !box.current) {
      if (box.current) delete box.current.dataset.near;
      return; // at either end Tab leads on, as everywhere
    }
    event.preventDefault();
    box.current.dataset.near = id;
    const name = atlas.entities.get(id)?.name ?? "";
    speak(words.neighbour(name, count(next + 1), count(near.length)));
    view.current?.point(id);
  };
  const press = (event: KeyboardEvent) => {
    const arrow = ARROWS[event.key];
    if (arrow) {
      event.preventDefault();
      view.current?.pan(...arrow);
    } else if (event.key === "Tab") walk(event);
    else if (event.key === "Enter" && box.current?.dataset.near) {
      onNode(box.current.dataset.near);
      delete box.current.dataset.near;
    }
  };
  return (
    <section
      ref={box}
      class="map-canvas"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: the map is moved by keys
      tabIndex={0}
      aria-label={words.mapLabel(count(scene.communities.length), count(scene.entities.length))}
      onKeyDown={press}
      onBlur={() => view.current?.point(null)}
    />
  );
}
