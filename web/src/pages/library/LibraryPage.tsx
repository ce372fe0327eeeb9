import { api, take } from "../../api/client";
import { ErrorState } from "../../components/ErrorState";
import { Icon } from "../../components/Icon";
import { PageHead } from "../../components/PageHead";
import { t } from "../../i18n";
import { useShortcuts } from "../../state/keys";
import { useLoaded } from "../../state/loading";
import { asked, linkTo, workspace } from "../../state/location";
import { mayWrite, revision, type WorkspaceDetails } from "../../state/workspaces";
import { DropZone } from "./DropZone";
import { EstimateCard } from "./EstimateCard";
import { JobList } from "./JobList";
import "./library.css";
import { RunningJob } from "./RunningJob";
import { SearchBox } from "./SearchBox";
import { Refused, Troubles } from "./Troubles";
import { WorkspaceList } from "./WorkspaceList";

/** What there is: workspaces, files on their way in, and those that did not make it. */
export default function LibraryPage() {
  const words = t.value.library;
  const here = workspace.value;
  const details = useLoaded(
    here ? `${here} ${revision.value}` : "",
    (signal) =>
      take(
        api.GET("/api/v1/workspaces/{workspace}", {
          params: { path: { workspace: here } },
          signal,
        }),
      ),
    { keepsOld: true },
  );
  useShortcuts([
    {
      keys: "/",
      label: words.search,
      run: () => document.getElementById("library-search")?.focus(),
    },
  ]);
  const known = details.data?.name === here ? details.data : null;
  const isEmpty = known !== null && known.documents === 0 && known.failed === 0;
  return (
    <>
      <PageHead title={t.value.pages.library}>{known && <Numbers details={known} />}</PageHead>
      {details.error && <ErrorState error={details.error} retry={details.reload} />}
      <div class="library">
        <div class="stack">
          {known && mayWrite.value && <DropZone isFirst={isEmpty} model={known.model} />}
          {known && <EstimateCard details={known} />}
          <RunningJob />
          <Refused />
          <Troubles />
          {known && !isEmpty && <SearchBox />}
          {known && !isEmpty && !asked("q") && <Next />}
        </div>
        <div class="stack">
          <WorkspaceList />
          <JobList />
        </div>
      </div>
    </>
  );
}

function Numbers({ details }: { details: WorkspaceDetails }) {
  const words = t.value.library;
  return (
    <p class="numbers number">
      <a href={linkTo("documents")}>{words.documents(details.documents)}</a>
      <span>{words.passages(details.chunks)}</span>
      <a href={linkTo("graph")}>{words.things(details.entities)}</a>
      {details.embedder && <span class="small faint">{details.embedder}</span>}
    </p>
  );
}

/** What there is to do with an index. */
function Next() {
  const words = t.value.library.next;
  return (
    <ul class="next">
      {(["ask", "graph", "communities"] as const).map((name) => (
        <li key={name}>
          <a href={linkTo(name)}>
            <Icon name={name} size={18} />
            <strong>{words[name][0]}</strong>
            <span class="small muted">{words[name][1]}</span>
          </a>
        </li>
      ))}
    </ul>
  );
}
