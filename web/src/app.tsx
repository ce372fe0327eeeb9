import type { ComponentType } from "preact";
import { useEffect, useErrorBoundary, useState } from "preact/hooks";
import { Button, IconButton } from "./components/Button";
import { Empty } from "./components/Empty";
import { ErrorState } from "./components/ErrorState";
import { PRODUCT } from "./components/PageHead";
import { Skeleton } from "./components/Progress";
import { Banner } from "./components/shell/Banner";
import { Drop } from "./components/shell/Drop";
import { Help } from "./components/shell/Help";
import { JobsTray } from "./components/shell/JobsTray";
import { KeyDialog } from "./components/shell/KeyDialog";
import { Navigation } from "./components/shell/Navigation";
import { Notices } from "./components/shell/Notices";
import { Palette } from "./components/shell/Palette";
import { Settings } from "./components/shell/Settings";
import { Switcher } from "./components/shell/Switcher";
import { t } from "./i18n";
import { underway } from "./pages/library/sending";
import { isLocked, needsKey } from "./state/access";
import { useSpoken } from "./state/announcements";
import { fileCounts, jobs } from "./state/jobs";
import { useShortcuts } from "./state/keys";
import {
  addressOf,
  asked,
  go,
  linkTo,
  PAGE_TITLES,
  PAGES,
  page,
  place,
  workspace,
} from "./state/location";
import { useModule } from "./state/modules";
import {
  current,
  firstWorkspace,
  loadWorkspaces,
  mayWrite,
  rememberWorkspace,
  workspaces,
  workspacesError,
} from "./state/workspaces";

type Load = () => Promise<{ default: ComponentType }>;

const LOADS = {
  ask: () => import("./pages/ask/AskPage"),
  graph: () => import("./pages/graph/GraphPage"),
  library: () => import("./pages/library/LibraryPage"),
  evaluation: () => import("./pages/evaluation/EvaluationPage"),
  documents: () => import("./pages/documents/DocumentsPage"),
  start: () => import("./pages/start/StartPage"),
  components: () => import("./pages/components/ComponentsPage"),
} satisfies Record<string, Load>;

type Opened = "" | "palette" | "help" | "settings";

/** The frame around every page, and the page. */
export function App() {
  const [opened, setOpened] = useState<Opened>("");
  const open = (what: Opened) => () => setOpened(what);
  const close = open("");
  useShortcuts([
    { keys: "Mod+k", label: t("Find anything"), run: open("palette") },
    { keys: "?", label: t("Keyboard shortcuts"), run: open("help") },
    ...PAGES.map((name) => ({
      keys: `g ${name[0]}`,
      label: t("Go to {page}", { page: t(PAGE_TITLES[name]) }),
      run: () => go(linkTo(name)),
    })),
  ]);
  return (
    <div class="shell">
      <a class="raised skip only-spoken" href="#main">
        {t("Skip to the content")}
      </a>
      <aside class="rail">
        <div class="stack rail-head">
          <a class="row brand" href="/ui/" aria-label={PRODUCT}>
            <img src={`${import.meta.env.BASE_URL}icon.svg`} width={22} height={22} alt="" />
            <span>{PRODUCT}</span>
          </a>
          {workspaces.value?.length !== 0 && <Switcher />}
          <button
            type="button"
            class="row between seek"
            onClick={open("palette")}
            title={t("Find anything")}
          >
            <span>{t("Search…")}</span>
            <kbd>Ctrl K</kbd>
          </button>
        </div>
        <Navigation />
        <div class="row between rail-foot">
          {workspace.value && <JobsTray side="left" />}
          <IconButton
            icon="search"
            class="seek-small"
            label={t("Find anything")}
            onClick={open("palette")}
          />
          <IconButton icon="settings" label={t("Settings")} onClick={open("settings")} />
        </div>
      </aside>
      <Banner />
      <main id="main" tabIndex={-1}>
        <Guarded key={`${workspace.value}/${page.value}`} />
      </main>
      <Drop />
      <Notices />
      {opened === "palette" && (
        <Palette onClose={close} openHelp={open("help")} openSettings={open("settings")} />
      )}
      {opened === "help" && <Help onClose={close} />}
      {opened === "settings" && <Settings onClose={close} openHelp={open("help")} />}
      {needsKey.value && <KeyDialog />}
    </div>
  );
}

/** Keeps a fault of one page from taking the others with it: each has a guard of its own. */
function Guarded() {
  const [error] = useErrorBoundary();
  if (error === undefined) return <View />;
  return <ErrorState error={error} retry={() => location.reload()} />;
}

/** The page of the address, once it is known that its workspace is there. */
function View() {
  const known = workspaces.value;
  const here = workspace.value;
  const name = page.value;
  const isThere = current.value !== null;
  const isShowcase = !here && asked("components") === "1";
  const first = known && !isShowcase && !asked("new") ? firstWorkspace(known) : "";
  const isFresh = isUntouched();
  useEffect(() => {
    if (!here && first) go(addressOf(first, "ask"), { replace: true });
    if (isThere) rememberWorkspace(here);
  }, [here, first, isThere]);
  useSpoken(t(PAGE_TITLES[name]));
  if (!known) {
    if (isLocked.value) return null;
    const error = workspacesError.value;
    if (!error) return <Skeleton lines={5} />;
    return <ErrorState error={error} retry={() => void loadWorkspaces()} />;
  }
  if (!isThere && here) return <NoWorkspace name={here} first={first} />;
  if (first && !here) return null;
  const shown = isShowcase ? "components" : isFresh || !here ? "start" : name;
  return <Page key={`${here}/${shown}`} load={LOADS[shown]} />;
}

/** A page whose code is loaded when it is first shown. */
function Page({ load }: { load: Load }) {
  const module = useModule(load);
  if (!module) return <Skeleton lines={5} />;
  return <module.default />;
}

/** Return whether nothing was ever put into the workspace that is shown, and nothing is asked. */
function isUntouched(): boolean {
  const { ready = 0, failed = 0, waiting = 0 } = fileCounts.value ?? { waiting: 1 };
  return (
    page.value === "ask" &&
    place.value.query.size === 0 &&
    mayWrite.value &&
    jobs.value?.length === 0 &&
    underway.value === null &&
    ready + failed + waiting === 0
  );
}

function NoWorkspace({ name, first }: { name: string; first: string }) {
  const known = workspaces.value?.find((each) => each.name === first);
  return (
    <>
      <h1 class="only-spoken">{PRODUCT}</h1>
      <Empty
        icon="none"
        title={t("Workspace “{name}” not found", { name })}
        actions={
          <Button
            label={known ? t("Open {name}", { name: known.title }) : t("Go to the start page")}
            kind="main"
            onClick={() => go(first ? addressOf(first, "ask") : "/ui/")}
          />
        }
      >
        <p>{t("It was removed, or your key has no access to it.")}</p>
      </Empty>
    </>
  );
}
