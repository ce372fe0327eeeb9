import { useRef } from "preact/hooks";
import { placeLabels } from "../../components/graph/labels";
import { useMeasured } from "../../components/measure";
import { ticksTo } from "./scales";

export interface Point {
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
const [LEAST_WIDTH, MOST_WIDTH] = [260, 820];
const TICK_WIDTH = 90;
const LEFT = 64;
const TOP = 14;
const BOTTOM = HEIGHT - 44;
const RADIUS = 6;
const WALL = 600;
const SHARES = ticksTo(1, 6);

/** Cost across, quality upwards, with intervals; a line joins those that nothing beats in both. */
export function Scatter({ points, description, xLabel, yLabel, writeX, writeY }: ScatterProps) {
  const box = useRef<HTMLDivElement>(null);
  const width = useMeasured(box, FIRST_WIDTH, (element) =>
    Math.max(LEAST_WIDTH, Math.min(MOST_WIDTH, element.clientWidth)),
  );
  const right = width - 20;
  const costs = ticksTo(
    Math.max(0, ...points.map((point) => point.x)),
    (right - LEFT) / TICK_WIDTH,
  );
  const x = (value: number) => LEFT + (value / (costs.at(-1) ?? 1)) * (right - LEFT);
  const y = (share: number) => BOTTOM + share * (TOP - BOTTOM);
  // No label leaves the plot.
  const walls = [
    { x: -WALL, y: 0 },
    { x: width + WALL, y: 0 },
    { x: width / 2, y: -WALL },
    { x: width / 2, y: BOTTOM + WALL },
  ].map((wall) => ({ ...wall, text: "", radius: WALL }));
  const spots = points.map(({ label: text, ...point }) => {
    return { text, x: x(point.x), y: y(point.y), radius: RADIUS, isBeside: true };
  });
  const placed = placeLabels(spots, measureText, [...spots, ...walls]);
  const labels = [...placed].filter((label) => label !== null);
  return (
    <div ref={box}>
      <svg class="plot" width={width} height={HEIGHT} role="img" aria-label={description}>
        <g class="plot-grid">
          {SHARES.map((tick) => (
            <g key={tick}>
              <line x1={LEFT} x2={right} y1={y(tick)} y2={y(tick)} />
              <text x={LEFT - 8} y={y(tick) + 4} text-anchor="end">
                {writeY(tick)}
              </text>
            </g>
          ))}
          {costs.map((tick) => (
            <g key={tick} text-anchor="middle">
              <line x1={x(tick)} x2={x(tick)} y1={BOTTOM} y2={BOTTOM + 4} />
              <text x={x(tick)} y={BOTTOM + 18}>
                {writeX(tick)}
              </text>
            </g>
          ))}
        </g>
        <g text-anchor="middle">
          <text x={(LEFT + right) / 2} y={HEIGHT - 6}>
            {xLabel}
          </text>
          <text transform={`translate(12 ${(TOP + BOTTOM) / 2}) rotate(-90)`}>{yLabel}</text>
        </g>
        <polyline
          class="plot-front"
          points={front(points)
            .map((point) => `${x(point.x)},${y(point.y)}`)
            .join(" ")}
        />
        {points.map((point) => (
          <g key={point.label} class={`plot-point ${point.mark}`}>
            <title>{`${point.label}: ${writeY(point.y)}, ${writeX(point.x)}`}</title>
            <line x1={x(point.x)} x2={x(point.x)} y1={y(point.low)} y2={y(point.high)} />
            <circle cx={x(point.x)} cy={y(point.y)} r={point.mark === "none" ? 4.5 : RADIUS} />
          </g>
        ))}
        <g class="plot-names" text-anchor="middle">
          {labels.map((label) => (
            <text key={label.text} x={label.x} y={label.y + 4}>
              {label.text}
            </text>
          ))}
        </g>
      </svg>
    </div>
  );
}

const ruler = document.createElement("canvas").getContext("2d");

function measureText(text: string): number {
  if (!ruler) return 0;
  ruler.font = "12px system-ui, sans-serif";
  return ruler.measureText(text).width;
}

/** Return the points that no other one beats in cost and in quality, from cheap to dear. */
function front(points: readonly Point[]): Point[] {
  let best = Number.NEGATIVE_INFINITY;
  return points
    .toSorted((one, other) => one.x - other.x || other.y - one.y)
    .filter(({ y }) => {
      const isBetter = y > best;
      best = Math.max(best, y);
      return isBetter;
    });
}
