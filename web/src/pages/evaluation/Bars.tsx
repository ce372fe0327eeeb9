import { shareScale } from "./scales";

const WIDTH = 96;
const HEIGHT = 12;

interface IntervalProps {
  mean: number;
  low: number;
  high: number;
}

/** A mean from 0 to 1 with its interval; the numbers stand beside it. */
export function Interval({ mean, low, high }: IntervalProps) {
  const place = shareScale(1, WIDTH - 1);
  return (
    <svg class="interval" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} aria-hidden="true">
      <line class="interval-all" x1={place(0)} x2={place(1)} y1={6} y2={6} />
      <line class="interval-range" x1={place(low)} x2={place(high)} y1={6} y2={6} />
      <circle cx={place(mean)} cy={6} r={3.5} />
    </svg>
  );
}

interface BalanceProps {
  wins: number;
  ties: number;
  losses: number;
}

/** Wins, ties and losses as shares of one bar; the numbers stand beside it. */
export function Balance({ wins, ties, losses }: BalanceProps) {
  const all = Math.max(1, wins + ties + losses);
  const place = (value: number) => (value / all) * WIDTH;
  return (
    <svg class="balance" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} aria-hidden="true">
      <rect class="balance-wins" x={0} y={2} width={place(wins)} height={8} />
      <rect class="balance-ties" x={place(wins)} y={2} width={place(ties)} height={8} />
      <rect class="balance-losses" x={place(wins + ties)} y={2} width={place(losses)} height={8} />
    </svg>
  );
}
