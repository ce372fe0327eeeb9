import { useEffect, useRef, useState } from "preact/hooks";
import { t } from "../../i18n";
import { announce } from "../../state/announcements";
import { addressOf, linkTo, NEW, page, workspace } from "../../state/location";
import {
  mayAdminister,
  mayWrite,
  renameWorkspace,
  title,
  workspaces,
} from "../../state/workspaces";
import { tellError } from "../ErrorState";
import { Menu, type MenuItem, MenuList } from "../Menu";

const MOST_TITLE = 200;

/** Which workspace is shown, by the name that people gave it, and the others. */
export function Switcher() {
  return (
    <div class="card switcher">
      {mayWrite.value ? <Title /> : <span class="workspace-title clip">{shownTitle()}</span>}
      <Menu
        label={t("Switch workspace")}
        icon="down"
        content={(close) => <MenuList close={close} items={listItems()} />}
      />
    </div>
  );
}

function listItems(): MenuItem[] {
  const items = (workspaces.value ?? []).map(({ name, title: label }): MenuItem => {
    return { label, href: addressOf(name, page.value), isCurrent: name === workspace.value };
  });
  if (mayAdminister.value)
    items.push({ label: t("New workspace"), href: NEW, icon: "plus", isRuled: true });
  if (workspace.value)
    items.push({ label: t("Manage workspaces"), href: linkTo("library"), icon: "library" });
  return items;
}

function shownTitle(): string {
  return title.value || t("No workspace");
}

/** The name of the workspace; a click changes it. */
function Title() {
  const [isEdited, setEdited] = useState(false);
  if (!isEdited)
    return (
      <button
        type="button"
        class="workspace-title clip"
        title={t("Rename the workspace")}
        aria-label={t("{title}: rename the workspace", { title: shownTitle() })}
        onClick={() => setEdited(true)}
      >
        {shownTitle()}
      </button>
    );
  return <TitleField onDone={() => setEdited(false)} />;
}

function TitleField({ onDone }: { onDone: () => void }) {
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.select(), []);
  const save = (written: string) => {
    onDone();
    if (written.trim() && written !== title.value)
      renameWorkspace(written).catch((error) => announce(tellError(error), "bad"));
  };
  return (
    <input
      ref={field}
      type="text"
      class="grow"
      aria-label={t("Rename the workspace")}
      maxLength={MOST_TITLE}
      defaultValue={title.value}
      onBlur={(event) => save(event.currentTarget.value)}
      onKeyDown={(event) => {
        if (event.key === "Escape") event.currentTarget.value = title.value;
        if (event.key === "Enter" && !event.isComposing) event.currentTarget.blur();
      }}
    />
  );
}
