import { t } from "../i18n";

interface ProgressProps {
  /** From 0 to `total`; a total of 0 is not known, and the bar runs. */
  done: number;
  total: number;
  label: string;
}

/** How far something is. */
export function Progress({ done, total, label }: ProgressProps) {
  const known = total > 0 ? { value: done, max: total } : {};
  return <progress aria-label={label} {...known} />;
}

/** Lines that stand for a text that is on its way. */
export function Skeleton({ lines = 3, label }: { lines?: number; label?: string }) {
  return (
    <div class="stack skeleton" role="status" aria-label={label ?? t("Loading")}>
      {Array.from({ length: lines }, (_, index) => (
        <span key={index} />
      ))}
    </div>
  );
}
