import { useEffect, useRef } from "preact/hooks";
import { Button } from "../../components/Button";
import { Icon } from "../../components/Icon";
import { t } from "../../i18n";
import { filesOf } from "./files";
import { addFiles } from "./sending";

interface DropZoneProps {
  /** Whether nothing is there yet: the zone then is what the page is about. */
  isFirst: boolean;
  /** The language model that reads; empty for none, undefined where that is not known. */
  model?: string;
}

/** Says that files may be dropped, and has buttons to choose them. */
export function DropZone({ isFirst, model }: DropZoneProps) {
  const files = useRef<HTMLInputElement>(null);
  const folder = useRef<HTMLInputElement>(null);
  const words = t.value.library;
  const take = (input: HTMLInputElement) => {
    const chosen = filesOf(input.files);
    input.value = "";
    void addFiles(chosen);
  };
  useEffect(() => {
    // No property of its own in the types, as it is not in the standard.
    folder.current?.setAttribute("webkitdirectory", "");
  }, []);
  const field = (ref: typeof files, label: string) => (
    <input
      ref={ref}
      class="only-spoken"
      type="file"
      multiple
      tabIndex={-1}
      aria-label={label}
      onChange={(event) => take(event.currentTarget)}
    />
  );
  return (
    <section class={`drop-zone ${isFirst ? "first" : ""}`} aria-label={words.addFiles}>
      <Icon name="upload" size={isFirst ? 26 : 18} />
      <div class="grow">
        <p class="drop-title">{words.dropHere}</p>
        <p class="small muted">
          {words.kinds}
          {model !== undefined && ` ${model ? words.goesToModel(model) : words.staysHere}`}
        </p>
      </div>
      <div class="row wrap">
        {field(files, words.chooseFiles)}
        {field(folder, words.chooseFolder)}
        <Button kind="main" onClick={() => files.current?.click()}>
          {words.chooseFiles}
        </Button>
        <Button onClick={() => folder.current?.click()}>{words.chooseFolder}</Button>
      </div>
    </section>
  );
}
