import { t } from "../i18n";

interface BarProps {
  /** From 0 to `total`; a total of 0 is not known, and the bar runs. */
  done: number;
  total: number;
  label: string;
  role?: "progressbar" | "meter";
}

/** How far something is, or how much of it there is. */
export function Progress({ done, total, label, role = "progressbar" }: BarProps) {
  const known = total > 0 ? { "aria-valuenow": done, "aria-valuemax": total } : {};
  const style = { "--share": total > 0 ? done / total : 0 };
  return (
    // biome-ignore lint/a11y/useAriaPropsSupportedByRole: both roles have them
    <div class="bar" role={role} aria-label={label} title={label} style={style} {...known} />
  );
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
