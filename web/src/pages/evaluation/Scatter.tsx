import type { RefObject } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { placeLabels } from "./labels";
import { linearScale, shareScale } from "./scales";

export interface Point {
  id: string;
  label: string;
  /** What it costs. */
  x: number;
  /** How good it is, from 0 to 1, and between which bounds. */
  y: number;
  low: number;
  high: number;
  mark: "first" | "second" | "none";
}

interface ScatterProps {
  points: readonly Point[];
  /** What the plot shows, for those who do not see it; the same numbers stand in a table. */
  description: string;
  xLabel: string;
  yLabel: string;
  writeX: (value: number) => string;
  writeY: (value: number) => string;
}

const HEIGHT = 300;
const FIRST_WIDTH = 640;
const LEAST_WIDTH = 260;
const TICK_WIDTH = 90;
const MARGIN = { left: 64, right: 20, top: 14, bottom: 44 };

/** Cost across, quality upwards, with intervals; a line joins those that nothing beats in both. */
export function Scatter({ points, description, xLabel, yLabel, writeX, writeY }: ScatterProps) {
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  const right = width - MARGIN.right;
  const bottom = HEIGHT - MARGIN.bottom;
  const most = Math.max(2, Math.floor((right - MARGIN.left) / TICK_WIDTH));
  const x = linearScale(
    0,
    Math.max(...points.map((point) => point.x), 0),
    MARGIN.left,
    right,
    most,
  );
  const y = shareScale(bottom, MARGIN.top);
  const spots = points.map((point) => ({ x: x(point.x), y: y(point.y), text: point.label }));
  const labels = placeLabels(spots, { width, height: bottom });
  return (
    <div ref={box}>
      <svg class="plot" width={width} height={HEIGHT} role="img" aria-label={description}>
        <g class="plot-grid">
          {y.ticks.map((tick) => (
            <g key={`y${tick}`}>
              <line x1={MARGIN.left} x2={right} y1={y(tick)} y2={y(tick)} />
              <text x={MARGIN.left - 8} y={y(tick) + 4} text-anchor="end">
                {writeY(tick)}
              </text>
            </g>
          ))}
          {x.ticks.map((tick) => (
            <g key={`x${tick}`}>
              <line x1={x(tick)} x2={x(tick)} y1={bottom} y2={bottom + 4} />
              <text x={x(tick)} y={bottom + 18} text-anchor="middle">
                {writeX(tick)}
              </text>
            </g>
          ))}
        </g>
        <text class="plot-label" x={(MARGIN.left + right) / 2} y={HEIGHT - 6} text-anchor="middle">
          {xLabel}
        </text>
        <text
          class="plot-label"
          transform={`translate(12 ${(MARGIN.top + bottom) / 2}) rotate(-90)`}
          text-anchor="middle"
        >
          {yLabel}
        </text>
        <polyline
          class="plot-front"
          points={front(points)
            .map((point) => `${x(point.x)},${y(point.y)}`)
            .join(" ")}
        />
        {points.map((point, index) => {
          const label = labels[index];
          return (
            <g key={point.id} class={`plot-point ${point.mark}`}>
              <title>{`${point.label}: ${writeY(point.y)}, ${writeX(point.x)}`}</title>
              <line x1={x(point.x)} x2={x(point.x)} y1={y(point.low)} y2={y(point.high)} />
              <circle cx={x(point.x)} cy={y(point.y)} r={point.mark === "none" ? 4.5 : 6} />
              {label && (
                <text x={label.x} y={label.y} text-anchor={label.anchor}>
                  {point.label}
                </text>
              )}
            </g>
          );
        })}
      </svg>
    </div>
  );
}

/** Return how wide an element is, so that a plot has letters of their own size in any window. */
function useWidth(box: RefObject<HTMLElement | null>): number {
  const [width, setWidth] = useState(FIRST_WIDTH);
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const measure = () => setWidth(Math.max(LEAST_WIDTH, element.clientWidth));
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    measure();
    return () => observer.disconnect();
  }, [box]);
  return width;
}

/** Return the points that no other one beats in cost and in quality, from cheap to dear. */
export function front(points: readonly Point[]): Point[] {
  const sorted = points.toSorted((one, other) => one.x - other.x || other.y - one.y);
  const found: Point[] = [];
  let best = Number.NEGATIVE_INFINITY;
  for (const point of sorted) {
    if (point.y > best) {
      found.push(point);
      best = point.y;
    }
  }
  return found;
}
