import { t } from "../../i18n";
import { openJobs } from "../../state/jobs";
import { linkTo, MAIN_PAGES, PAGE_TITLES, page, workspace } from "../../state/location";
import { Icon } from "../Icon";

/** The pages of a workspace: a rail at the side, a bar at the bottom of a narrow window. */
export function Navigation() {
  if (!workspace.value) return null;
  return (
    <nav class="navigation" aria-label={t("Main navigation")}>
      {MAIN_PAGES.map((name) => (
        <a
          key={name}
          href={linkTo(name)}
          class="navigation-link"
          aria-current={page.value === name ? "page" : undefined}
          title={t(PAGE_TITLES[name])}
        >
          <Icon name={name} size={18} />
          <span>{t(PAGE_TITLES[name])}</span>
          {name === "library" && openJobs.value.length > 0 && (
            <span class="dot" role="img" aria-label={t("Running")} />
          )}
        </a>
      ))}
    </nav>
  );
}
