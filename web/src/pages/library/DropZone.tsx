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
  return (
    <section class={`row wrap drop-zone ${isFirst ? "first" : ""}`} aria-label={t("Add files")}>
      <Icon name="upload" size={isFirst ? 26 : 18} />
      <div class="grow">
        <p class="drop-title">{t("Drop files here")}</p>
        <p class="small muted">
          {t("Text, Markdown, HTML, PDF, Word, PowerPoint, Excel, CSV, JSON.")}
          {model !== undefined &&
            ` ${model ? t("Text that {model} processes is sent to its server.", { model }) : t("Your data stays on this machine.")}`}
        </p>
      </div>
      <div class="row wrap">
        <FileButton kind="main" label={t("Choose files")} onChoose={addFiles} />
        <FileButton of="folder" label={t("Choose a folder")} onChoose={addFiles} />
      </div>
    </section>
  );
}
