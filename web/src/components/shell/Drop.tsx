import { useLayoutEffect, useState } from "preact/hooks";
import { size, t } from "../../i18n";
import { droppedFiles } from "../../pages/library/files";
import { addFiles, sendingError, underway } from "../../pages/library/sending";
import { isAway } from "../../state/connection";
import { set } from "../../state/set";
import { Button } from "../Button";
import { ErrorState } from "../ErrorState";
import { Icon } from "../Icon";
import { Progress } from "../Progress";
import "./drop.css";

/** Takes files that are dropped anywhere, and shows how far they are on their way. */
export function Drop() {
  const isOver = useDrop();
  const now = underway.value;
  const error = sendingError.value;
  const label = t("Uploading {n} {n:file|files}", { n: now?.files ?? 0 });
  return (
    <>
      {isOver && (
        <div class="drop-cover" aria-hidden="true">
          <Icon name="upload" size={32} />
          <span>{t("Drop to add the files")}</span>
        </div>
      )}
      {now && (
        <section class="card raised stack tight sending" aria-label={label}>
          <div class="row between">
            <span>{label}</span>
            <Button label={t("Cancel")} kind="quiet" onClick={now.stop} />
          </div>
          <Progress done={now.sent} total={now.bytes} label={label} />
          <span class="small muted number">
            {isAway.value
              ? t("The server is away. Trying again…")
              : t("{shown} of {total}", { shown: size(now.sent), total: size(now.bytes) })}
          </span>
        </section>
      )}
      {error && !now && (
        <div class="stack tight sending">
          <ErrorState error={error} />
          <Button
            label={t("Close")}
            icon="close"
            class="fold"
            onClick={() => set(sendingError, null)}
          />
        </div>
      )}
    </>
  );
}

/** Take what is dropped anywhere in the window, and return whether something hovers over it. */
function useDrop(): boolean {
  const [isOver, setOver] = useState(false);
  // From the moment the frame is drawn: a file dropped before would replace the page.
  useLayoutEffect(() => {
    let depth = 0;
    const enter = (into: number) => {
      depth = Math.max(0, into);
      setOver(depth > 0);
    };
    const handlers = {
      dragenter: () => enter(depth + 1),
      dragleave: () => enter(depth - 1),
      dragover: () => undefined,
      drop: (carried: DataTransfer) => {
        enter(0);
        droppedFiles(carried).then(addFiles, (error: Error) => set(sendingError, error));
      },
    };
    const abort = new AbortController();
    for (const [name, handle] of Object.entries(handlers)) {
      const listen = (event: Event) => {
        const carried = (event as DragEvent).dataTransfer;
        if (!carried?.types.includes("Files")) return;
        event.preventDefault();
        handle(carried);
      };
      window.addEventListener(name, listen, { signal: abort.signal });
    }
    return () => abort.abort();
  }, []);
  return isOver;
}
