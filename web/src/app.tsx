import { type ComponentType, lazy, Suspense } from "preact/compat";
import { useEffect, useState } from "preact/hooks";
import { ApiError, UNREACHABLE } from "./api/client";
import { Button, IconButton } from "./components/Button";
import { Empty } from "./components/Empty";
import { ErrorBoundary } from "./components/ErrorBoundary";
import { ErrorState } from "./components/ErrorState";
import { Skeleton } from "./components/Progress";
import { Help } from "./components/shell/Help";
import { JobsTray } from "./components/shell/JobsTray";
import { KeyDialog } from "./components/shell/KeyDialog";
import { Navigation } from "./components/shell/Navigation";
import { Notices } from "./components/shell/Notices";
import { Palette } from "./components/shell/Palette";
import { Preferences } from "./components/shell/Preferences";
import { Switcher } from "./components/shell/Switcher";
import { t } from "./i18n";
import { needsKey } from "./state/access";
import { speak } from "./state/announcements";
import { useShortcuts } from "./state/keys";
import { addressOf, go, linkTo, PAGES, type PageName, page, workspace } from "./state/location";
import {
  firstWorkspace,
  loadWorkspaces,
  rememberWorkspace,
  workspaces,
  workspacesError,
} from "./state/workspaces";

type PageModule = { default: ComponentType };

/** Return a page that is loaded when it is first shown. */
function view(load: () => Promise<PageModule>): ComponentType {
  return lazy(() =>
    load().catch(() => {
      throw new ApiError(UNREACHABLE, "", "", 0);
    }),
  );
}

const VIEWS: Record<PageName, ComponentType> = {
  library: view(() => import("./pages/library/LibraryPage")),
  graph: view(() => import("./pages/graph/GraphPage")),
  ask: view(() => import("./pages/ask/AskPage")),
  documents: view(() => import("./pages/documents/DocumentsPage")),
  evaluation: view(() => import("./pages/evaluation/EvaluationPage")),
};

/** The frame around every page, and the page. */
export function App() {
  const [isHelping, setHelping] = useState(false);
  const [isSeeking, setSeeking] = useState(false);
  const words = t.value.shell;
  const openHelp = () => setHelping(true);
  useShortcuts([
    { keys: "Mod+k", label: words.palette, run: () => setSeeking(true) },
    { keys: "?", label: words.keys, run: openHelp },
    ...PAGES.map((name) => ({
      keys: `g ${name[0]}`,
      label: words.goTo(t.value.pages[name]),
      run: () => go(linkTo(name)),
    })),
  ]);
  useEffect(() => {
    void loadWorkspaces();
  }, []);
  return (
    <div class="shell">
      <a class="skip" href="#main">
        {words.skip}
      </a>
      <aside class="rail">
        <div class="rail-head">
          <a class="brand" href="/ui/" aria-label={words.product}>
            <img src={`${import.meta.env.BASE_URL}icon.svg`} width={22} height={22} alt="" />
            <span>{words.product}</span>
          </a>
          <Switcher />
          <button type="button" class="seek" onClick={() => setSeeking(true)} title={words.palette}>
            <span>{words.seek}</span>
            <kbd>Ctrl K</kbd>
          </button>
        </div>
        <Navigation />
        <div class="rail-foot">
          {workspace.value && <JobsTray side="left" />}
          <IconButton
            icon="search"
            class="seek-small"
            label={words.palette}
            onClick={() => setSeeking(true)}
          />
          <Preferences openHelp={openHelp} side="left" />
        </div>
      </aside>
      <main id="main" tabIndex={-1}>
        <ErrorBoundary name={`${workspace.value}/${page.value}`}>
          <View />
        </ErrorBoundary>
      </main>
      <Notices />
      {isSeeking && <Palette onClose={() => setSeeking(false)} openHelp={openHelp} />}
      {isHelping && <Help onClose={() => setHelping(false)} />}
      {needsKey.value && <KeyDialog />}
    </div>
  );
}

/** The page of the address, once it is known that its workspace is there. */
function View() {
  const known = workspaces.value;
  const here = workspace.value;
  const name = page.value;
  const isThere = known?.some((workspace) => workspace.name === here) ?? false;
  const first = known ? firstWorkspace(known) : "";
  useEffect(() => {
    if (!here && first) go(addressOf(first, "library"), { replace: true });
    if (isThere) rememberWorkspace(here);
  }, [here, first, isThere]);
  const title = t.value.pages[name];
  useEffect(() => speak(title), [title]);
  if (!known) {
    const error = workspacesError.value;
    if (!error) return <Skeleton label={t.value.common.loading} lines={5} />;
    return <ErrorState error={error} retry={() => void loadWorkspaces()} />;
  }
  const Page = VIEWS[name];
  if (!isThere && here) return <NoWorkspace name={here} first={first} />;
  if (!isThere && name !== "library") return null;
  return (
    <Suspense fallback={<Skeleton label={t.value.common.loading} lines={5} />}>
      <Page key={here} />
    </Suspense>
  );
}

function NoWorkspace({ name, first }: { name: string; first: string }) {
  const words = t.value.shell;
  return (
    <>
      <h1 class="only-spoken">{words.product}</h1>
      <Empty
        icon="none"
        title={words.notThere(name)}
        actions={
          <Button kind="main" onClick={() => go(first ? addressOf(first, "library") : "/ui/")}>
            {first ? words.openInstead(first) : words.toStart}
          </Button>
        }
      >
        <p>{words.notThereFix}</p>
      </Empty>
    </>
  );
}
