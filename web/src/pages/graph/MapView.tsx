import { useEffect, useRef, useState } from "preact/hooks";
import { tellError } from "../../components/ErrorState";
import {
  type CanvasEvents,
  type Dot,
  type Drawing,
  GraphCanvas,
  type View,
} from "../../components/graph/canvas";
import "../../components/graph/graph.css";
import { sayType } from "../../components/graph/types";
import { t } from "../../i18n";
import { speak } from "../../state/announcements";

interface MapViewProps extends CanvasEvents {
  drawing: Drawing;
  /** What is in view: when it changes, all of it is shown. */
  subject: string;
  /** The entity that stands out: it is brought into view. */
  focus: string;
  at: View | null;
  canvas: { current: GraphCanvas | null };
}

const PAN = 90;
const ARROWS: Record<string, readonly [number, number]> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};

/** The map. With the focus, arrows go from entity to entity, and with Shift they move the map; Page
 * Down goes to the next by importance. */
export function MapView(props: MapViewProps) {
  const { drawing, subject, focus, at, canvas } = props;
  const host = useRef<HTMLDivElement>(null);
  const [active, setActive] = useState("");
  const [failure, setFailure] = useState("");

  useEffect(() => {
    const element = host.current;
    if (!element) return;
    try {
      canvas.current = new GraphCanvas(element);
    } catch (error) {
      setFailure(tellError(error));
      return;
    }
    return () => {
      canvas.current?.destroy();
      canvas.current = null;
    };
  }, []);

  /** The place that the camera itself wrote into the address. */
  const written = useRef("");
  const onRest = ({ x, y, scale }: View) => {
    const rounded = { x: round(x, 2), y: round(y, 2), scale: round(scale, 1) };
    written.current = Object.values(rounded).join(" ");
    props.onRest(rounded);
  };
  useEffect(() => {
    if (canvas.current) canvas.current.events = { ...props, onRest };
  });
  const place = at ? `${at.x} ${at.y} ${at.scale}` : "";
  const shown = useRef("");
  useEffect(() => {
    const drawn = canvas.current;
    if (!drawn) return;
    drawn.draw(drawing);
    if (shown.current === subject || !drawing.dots.length) return;
    if (at && place !== written.current) drawn.go(at, false);
    else drawn.fit();
    shown.current = subject;
  }, [drawing, subject]);
  useEffect(() => {
    if (at && shown.current && place !== written.current) canvas.current?.go(at);
    written.current = place;
  }, [place]);
  useEffect(() => {
    if (focus) canvas.current?.reveal(focus);
  }, [focus, drawing.dots.some(({ id }) => id === focus)]);

  const dots = drawing.dots;
  const current = dots.find(({ id }) => id === active) ?? dots[0];
  const choose = (dot: Dot | undefined) => {
    if (!dot) return;
    setActive(dot.id);
    speak([dot.label, sayType(dot.type)].filter(Boolean).join(", "));
    canvas.current?.reveal(dot.id);
    canvas.current?.point(dot.id);
  };
  const press = (event: KeyboardEvent) => {
    const arrow = ARROWS[event.key];
    if (arrow && event.shiftKey) canvas.current?.pan(-PAN * arrow[0], -PAN * arrow[1]);
    else if (arrow) choose(active ? (nearest(dots, current, arrow) ?? current) : current);
    else if (event.key === "Home") choose(dots[0]);
    else if (event.key === "PageDown" || event.key === "PageUp") {
      const step = event.key === "PageDown" ? 1 : -1;
      choose(dots[(dots.findIndex(({ id }) => id === active) + step + dots.length) % dots.length]);
    } else if (event.key === "Enter" && current) props.onPick(current.id, event.shiftKey);
    else if (event.key === " " && current) props.onGrow(current.id);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div
      ref={host}
      class="map-canvas"
      role="application"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: the map is moved by keys
      tabIndex={0}
      aria-label={t(
        "Map of {entities} entities and {lines} relations. Arrow keys move between entities, Enter selects one, Space adds its neighbours. The table shows the same data.",
        { entities: dots.length, lines: drawing.lines.length },
      )}
      onKeyDown={press}
      onFocus={() => {
        if (host.current?.matches(":focus-visible")) choose(current);
      }}
      onBlur={() => canvas.current?.point(null)}
    >
      {failure && <p class="card map-note">{failure}</p>}
    </div>
  );
}

function round(value: number, digits: number): number {
  return Number(value.toFixed(digits));
}

/** Return the nearest dot in a direction. */
function nearest(
  dots: readonly Dot[],
  from: Dot | undefined,
  [right, down]: readonly [number, number],
): Dot | undefined {
  if (!from) return dots[0];
  let best: Dot | undefined;
  let least = Number.POSITIVE_INFINITY;
  for (const dot of dots) {
    const [dx, dy] = [dot.x - from.x, dot.y - from.y];
    const ahead = dx * right + dy * down;
    const aside = Math.abs(dx * down) + Math.abs(dy * right);
    const away = ahead + 2.5 * aside;
    if (dot !== from && ahead > 0 && aside < 2 * ahead && away < least) [best, least] = [dot, away];
  }
  return best;
}
