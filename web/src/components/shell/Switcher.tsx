import { t } from "../../i18n";
import { addressOf, linkTo, page, workspace } from "../../state/location";
import { workspaces } from "../../state/workspaces";
import { Icon } from "../Icon";
import { Menu } from "../Menu";

/** Which workspace is shown, and the others. */
export function Switcher() {
  const known = workspaces.value ?? [];
  return (
    <Menu
      label={t.value.shell.switchWorkspace}
      class="switcher"
      content={(close) => (
        <ul class="menu-list">
          {known.map(({ name }) => (
            <li key={name}>
              <a
                href={addressOf(name, page.value)}
                aria-current={name === workspace.value ? "true" : undefined}
                onClick={close}
              >
                <span class="grow clip" title={name}>
                  {name}
                </span>
                {name === workspace.value && <Icon name="check" />}
              </a>
            </li>
          ))}
          <li class="menu-rule">
            <a href={linkTo("library", { manage: 1 })} onClick={close}>
              <Icon name="plus" />
              {t.value.shell.manageWorkspaces}
            </a>
          </li>
        </ul>
      )}
    >
      <span class="switcher-name clip">{workspace.value || t.value.shell.noWorkspace}</span>
      <Icon name="down" size={14} />
    </Menu>
  );
}
