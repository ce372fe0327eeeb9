import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Button } from "../../components/Button";
import { ErrorState } from "../../components/ErrorState";
import { Icon } from "../../components/Icon";
import { Progress } from "../../components/Progress";
import { size, t } from "../../i18n";
import { type Chosen, droppedFiles, filesOf } from "./files";
import { sendingError, underway } from "./sending";

interface DropZoneProps {
  onFiles: (chosen: Chosen[]) => void;
  /** Whether nothing is there yet: the zone then is what the page is about. */
  isFirst: boolean;
  /** The language model that reads, or nothing. */
  model: string;
}

/** Takes files that are dropped anywhere on the page, or chosen. */
export function DropZone({ onFiles, isFirst, model }: DropZoneProps) {
  const isOver = useDrop(onFiles);
  const files = useRef<HTMLInputElement>(null);
  const folder = useRef<HTMLInputElement>(null);
  const words = t.value.library;
  const take = (input: HTMLInputElement) => {
    const chosen = filesOf(input.files);
    input.value = "";
    onFiles(chosen);
  };
  useEffect(() => {
    // No property of its own in the types, as it is not in the standard.
    folder.current?.setAttribute("webkitdirectory", "");
  }, []);
  return (
    <section class={`drop-zone ${isFirst ? "first" : ""}`} aria-label={words.addFiles}>
      <Icon name="upload" size={isFirst ? 26 : 18} />
      <div class="grow">
        <p class="drop-title">{words.dropHere}</p>
        <p class="small muted">
          {words.kinds} {model ? words.goesToModel(model) : words.staysHere}
        </p>
      </div>
      <div class="row wrap">
        <input
          ref={files}
          class="only-spoken"
          type="file"
          multiple
          tabIndex={-1}
          aria-label={words.chooseFiles}
          onChange={(event) => take(event.currentTarget)}
        />
        <input
          ref={folder}
          class="only-spoken"
          type="file"
          multiple
          tabIndex={-1}
          aria-label={words.chooseFolder}
          onChange={(event) => take(event.currentTarget)}
        />
        <Button
          kind="main"
          onClick={() => files.current?.click()}
          disabled={underway.value !== null}
        >
          {words.chooseFiles}
        </Button>
        <Button onClick={() => folder.current?.click()} disabled={underway.value !== null}>
          {words.chooseFolder}
        </Button>
      </div>
      {underway.value && <Sending />}
      {sendingError.value && <ErrorState error={sendingError.value} />}
      {isOver && (
        <div class="drop-cover" aria-hidden="true">
          <Icon name="upload" size={32} />
          <span>{words.letGo}</span>
        </div>
      )}
    </section>
  );
}

function Sending() {
  const now = underway.value;
  const words = t.value.library;
  if (!now) return null;
  return (
    <div class="sending">
      <div class="row between">
        <span>{words.sending(now.files)}</span>
        <span class="row">
          <span class="small muted number">
            {t.value.common.of(size(now.sent), size(now.bytes))}
          </span>
          <Button kind="quiet" onClick={now.stop}>
            {t.value.common.cancel}
          </Button>
        </span>
      </div>
      <Progress done={now.sent} total={now.bytes} label={words.sending(now.files)} />
    </div>
  );
}

/**
 * Take what is dropped anywhere in the window, and return whether something hovers over it.
 *
 * From the moment the zone is drawn: a file dropped before would replace the page.
 */
function useDrop(onFiles: (chosen: Chosen[]) => void): boolean {
  const [isOver, setOver] = useState(false);
  const take = useRef(onFiles);
  take.current = onFiles;
  useLayoutEffect(() => {
    let depth = 0;
    const hasFiles = (event: DragEvent) => event.dataTransfer?.types.includes("Files") ?? false;
    const enter = (event: DragEvent) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      depth += 1;
      setOver(true);
    };
    const leave = (event: DragEvent) => {
      if (!hasFiles(event)) return;
      depth = Math.max(0, depth - 1);
      if (depth === 0) setOver(false);
    };
    const over = (event: DragEvent) => {
      if (hasFiles(event)) event.preventDefault();
    };
    const drop = (event: DragEvent) => {
      if (!hasFiles(event) || !event.dataTransfer) return;
      event.preventDefault();
      depth = 0;
      setOver(false);
      void droppedFiles(event.dataTransfer).then((chosen) => take.current(chosen));
    };
    window.addEventListener("dragenter", enter);
    window.addEventListener("dragleave", leave);
    window.addEventListener("dragover", over);
    window.addEventListener("drop", drop);
    return () => {
      window.removeEventListener("dragenter", enter);
      window.removeEventListener("dragleave", leave);
      window.removeEventListener("dragover", over);
      window.removeEventListener("drop", drop);
    };
  }, []);
  return isOver;
}
