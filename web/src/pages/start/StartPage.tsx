import { Button } from "../../components/Button";
import { useTitle } from "../../components/PageHead";
import { t } from "../../i18n";
import { current, makeWorkspace, mayAdminister, workspaces } from "../../state/workspaces";
import { DropZone } from "../library/DropZone";
import { FolderList } from "../library/FolderList";
import { SAMPLE, showWorkspace, trySample } from "../library/sending";

/** Before there is anything to ask: what this is for, and where the files go. */
export default function StartPage() {
  const words = t.value.start;
  useTitle("");
  const known = workspaces.value ?? [];
  const sample = known.find(({ name }) => name === SAMPLE);
  return (
    <div class="stack loose start">
      <h1>{words.title}</h1>
      <p class="muted">{words.note}</p>
      <DropZone isFirst />
      {current.value && <FolderList />}
      <div class="row wrap center">
        <Button
          label={words.sample}
          icon="play"
          onClick={() => (sample && !current.value ? showWorkspace(sample.name) : trySample())}
        />
        {!current.value && mayAdminister.value && (
          <Button
            label={words.empty}
            kind="quiet"
            onClick={async () => showWorkspace(await makeWorkspace(words.emptyTitle))}
          />
        )}
      </div>
    </div>
  );
}
