import { Button } from "../../components/Button";
import { useTitle } from "../../components/PageHead";
import { t } from "../../i18n";
import { current, makeWorkspace, mayAdminister, workspaces } from "../../state/workspaces";
import { DropZone } from "../library/DropZone";
import { FolderList } from "../library/FolderList";
import { SAMPLE, showWorkspace, trySample } from "../library/sending";

/** Before there is anything to ask: what this is for, and where the files go. */
export default function StartPage() {
  useTitle("");
  const known = workspaces.value ?? [];
  const sample = known.find(({ name }) => name === SAMPLE);
  return (
    <div class="stack loose start">
      <h1>{t("Ask your own documents.")}</h1>
      <p class="muted">{t("Answers cite the exact passage.")}</p>
      <DropZone isFirst />
      {current.value && <FolderList />}
      <div class="row wrap center">
        <Button
          label={t("Try the sample (22 files)")}
          icon="play"
          onClick={() => (sample && !current.value ? showWorkspace(sample.name) : trySample())}
        />
        {!current.value && mayAdminister.value && (
          <Button
            label={t("Begin with an empty workspace")}
            kind="quiet"
            onClick={async () => showWorkspace(await makeWorkspace(t("New workspace")))}
          />
        )}
      </div>
    </div>
  );
}
