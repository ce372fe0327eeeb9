import { ErrorState } from "../../components/ErrorState";
import { PageHead } from "../../components/PageHead";
import { t } from "../../i18n";
import { useCall } from "../../state/calls";
import { settled } from "../../state/jobs";
import { linkTo, workspace } from "../../state/location";
import { mayWrite, type WorkspaceDetails } from "../../state/workspaces";
import { Attention } from "./Attention";
import { DropZone } from "./DropZone";
import { EstimateCard } from "./EstimateCard";
import { FileTable } from "./FileTable";
import { FolderList } from "./FolderList";
import { JobList } from "./JobList";
import "./library.css";
import { RunningJob } from "./RunningJob";
import { SearchBox } from "./SearchBox";
import { Unfinished } from "./Unfinished";
import { WorkspaceList } from "./WorkspaceList";

/** What there is: workspaces, files on their way in, and those that did not make it. */
export default function LibraryPage() {
  const here = workspace.value;
  const details = useCall("get", "", here ? {} : null, { keepsOld: true, turn: settled.value });
  const known = details.data?.name === here ? details.data : null;
  const isEmpty = known !== null && known.documents === 0 && known.failed === 0;
  return (
    <>
      <PageHead title={t("Library")}>{known && <Numbers details={known} />}</PageHead>
      {details.error && <ErrorState error={details.error} retry={details.reload} />}
      <div class="stack">
        {known && mayWrite.value && <DropZone isFirst={isEmpty} model={known.model} />}
        {known && <EstimateCard details={known} />}
        <RunningJob />
        {known && <Unfinished class="card" model={known.model} />}
        <Attention />
        {known && <FileTable />}
        {known && !isEmpty && <SearchBox />}
        <div class="grid">
          <FolderList />
          <WorkspaceList />
          <JobList />
        </div>
      </div>
    </>
  );
}

function Numbers({ details }: { details: WorkspaceDetails }) {
  return (
    <p class="row wrap numbers number">
      <a href={linkTo("library", { state: "ready" })}>
        {t("{n} {n:document|documents}", { n: details.documents })}
      </a>
      <span>{t("{n} {n:passage|passages}", { n: details.chunks })}</span>
      <a href={linkTo("graph")}>
        {t("{n} {n:entity|entities} in the graph", { n: details.entities })}
      </a>
      {details.embedder && <span class="small faint">{details.embedder}</span>}
    </p>
  );
}
