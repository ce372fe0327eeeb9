import { Button } from "../../components/Button";
import { count, t } from "../../i18n";

/** Entries of a list that are shown at first. */
export const SHOWN = 20;

/** What shows more of a list, and how many there are. */
export function More({
  shown,
  total,
  onMore,
}: {
  shown: number;
  total: number;
  onMore: () => void;
}) {
  if (shown >= total) return null;
  return (
    <Button kind="quiet" onClick={onMore}>
      {t.value.common.more} ({t.value.common.of(count(shown), count(total))})
    </Button>
  );
}
