import { Icon } from "../../components/Icon";
import { t } from "../../i18n";
import { FileButton } from "./FileButton";
import { addFiles } from "./sending";

interface DropZoneProps {
  /** Whether nothing is there yet: the zone then is what the page is about. */
  isFirst: boolean;
  /** The language model that reads; empty for none, undefined where that is not known. */
  model?: string;
}

/** Says that files may be dropped, and has buttons to choose them. */
export function DropZone({ isFirst, model }: DropZoneProps) {
  const words = t.value.library;
  return (
    <section class={`row wrap drop-zone ${isFirst ? "first" : ""}`} aria-label={words.addFiles}>
      <Icon name="upload" size={isFirst ? 26 : 18} />
      <div class="grow">
        <p class="drop-title">{words.dropHere}</p>
        <p class="small muted">
          {words.kinds}
          {model !== undefined && ` ${model ? words.goesToModel(model) : words.staysHere}`}
        </p>
      </div>
      <div class="row wrap">
        <FileButton kind="main" label={words.chooseFiles} onChoose={addFiles} />
        <FileButton of="folder" label={words.chooseFolder} onChoose={addFiles} />
      </div>
    </section>
  );
}
