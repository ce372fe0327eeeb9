import { t } from "../../i18n";
import { dismiss, notices, spoken } from "../../state/announcements";
import { IconButton } from "../Button";

/** Short messages at the edge of the window, read out as they come. */
export function Notices() {
  return (
    <>
      <div class="notices" role="status" aria-live="polite">
        {notices.value.map((notice) => (
          <div key={notice.id} class={`row raised notice ${notice.tone}`}>
            <span>{notice.text}</span>
            <IconButton icon="close" label={t("Close")} onClick={() => dismiss(notice.id)} />
          </div>
        ))}
      </div>
      <div class="only-spoken" aria-live="polite">
        {spoken.value}
      </div>
    </>
  );
}
