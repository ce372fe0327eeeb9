import { useEffect, useState } from "preact/hooks";
import { api, take } from "../../api/client";
import { Button } from "../../components/Button";
import { Empty } from "../../components/Empty";
import { ErrorState } from "../../components/ErrorState";
import { Icon } from "../../components/Icon";
import { PageHead } from "../../components/PageHead";
import { Skeleton } from "../../components/Progress";
import { Reader } from "../../components/reader/Reader";
import { t } from "../../i18n";
import { announce } from "../../state/announcements";
import { addJob } from "../../state/jobs";
import { useShortcuts } from "../../state/keys";
import { useLoaded } from "../../state/loading";
import { asked, go, linkTo, setQuery, workspace } from "../../state/location";
import { mayWrite, revision } from "../../state/workspaces";
import "./communities.css";
import { Report } from "./Report";
import { MOST_SHOWN, Tree } from "./Tree";

/** What the documents are about: a tree of communities, and the report of the one that is chosen. */
export default function CommunitiesPage() {
  const here = workspace.value;
  const words = t.value.communities;
  const about = asked("about");
  const chosen = asked("c");
  const listed = useLoaded(
    `${here} ${about} ${revision.value}`,
    (signal) =>
      take(
        api.GET("/api/v1/workspaces/{workspace}/communities", {
          params: {
            path: { workspace: here },
            query: about
              ? { about, limit: MOST_SHOWN, members: 3 }
              : { level: 0, limit: MOST_SHOWN, members: 3 },
          },
          signal,
        }),
      ),
    { keepsOld: true },
  );
  useShortcuts([
    { keys: "/", label: words.search, run: () => document.getElementById("about")?.focus() },
  ]);
  const place = readPlace();
  const { communities, total, levels, is_current: isCurrent } = listed.data ?? NONE;
  const isEmpty = listed.data !== null && !about && total === 0;
  const first = communities[0]?.id ?? "";
  const shown = chosen || first;
  return (
    <>
      <PageHead
        title={t.value.pages.communities}
        actions={
          mayWrite.value &&
          !isEmpty && (
            <Button icon="refresh" onClick={refresh}>
              {words.refresh}
            </Button>
          )
        }
      >
        {listed.data && !isEmpty && (
          <p class="row wrap">
            <span>{about ? words.matching(total) : words.topmost(total, levels.length)}</span>
            {!isCurrent && <span class="tag warn">{words.outdated}</span>}
          </p>
        )}
      </PageHead>
      {listed.error && <ErrorState error={listed.error} retry={listed.reload} />}
      {!listed.data && listed.isLoading && <Skeleton label={t.value.common.loading} lines={8} />}
      {isEmpty && <None />}
      {listed.data && !isEmpty && (
        <div class={place ? "communities reading" : "communities"}>
          <div class={chosen ? "community-side has-choice" : "community-side"}>
            <Search about={about} />
            {communities.length === 0 ? (
              <p class="muted">{words.noMatch}</p>
            ) : (
              <Tree communities={communities} total={total} chosen={shown} isFlat={about !== ""} />
            )}
          </div>
          {shown && (
            <div class={chosen ? "community-report chosen" : "community-report"}>
              {chosen && (
                <Button
                  kind="quiet"
                  icon="left"
                  class="narrow-only"
                  onClick={() => setQuery({ c: null })}
                >
                  {words.back}
                </Button>
              )}
              <Report key={shown} id={shown} />
            </div>
          )}
          {place && (
            <div class="community-reader">
              <Reader {...place} onClose={() => setQuery({ at: null })} />
            </div>
          )}
        </div>
      )}
    </>
  );
}

const NONE = { communities: [], total: 0, levels: [], is_current: true };

/** No communities: there are no documents, or nobody has looked for any yet. */
function None() {
  const here = workspace.value;
  const words = t.value.communities;
  const details = useLoaded(`${here} ${revision.value}`, (signal) =>
    take(
      api.GET("/api/v1/workspaces/{workspace}", { params: { path: { workspace: here } }, signal }),
    ),
  );
  const hasDocuments = (details.data?.documents ?? 0) > 0;
  const find = (
    <Button kind="main" icon="communities" onClick={refresh}>
      {words.find}
    </Button>
  );
  const add = (
    <Button kind="main" onClick={() => go(linkTo("library"))}>
      {t.value.documents.toLibrary}
    </Button>
  );
  return (
    <Empty
      icon="communities"
      title={words.none}
      actions={details.data && mayWrite.value && (hasDocuments ? find : add)}
    >
      <p>{words.noneFix}</p>
    </Empty>
  );
}

function Search({ about }: { about: string }) {
  const words = t.value.communities;
  const [text, setText] = useState(about);
  useEffect(() => setText(about), [about]);
  return (
    <search>
      <form
        class="search-in"
        onSubmit={(event) => {
          event.preventDefault();
          setQuery({ about: text.trim(), c: null, at: null });
        }}
      >
        <Icon name="search" />
        <input
          id="about"
          type="search"
          aria-label={words.search}
          placeholder={words.search}
          value={text}
          onInput={(event) => {
            setText(event.currentTarget.value);
            if (event.currentTarget.value === "" && about) setQuery({ about: null, c: null });
          }}
        />
      </form>
    </search>
  );
}

/** Return what the address says is open beside the report. */
function readPlace(): { document: string; start: number; end: number } | null {
  const match = /^([^:]+):(\d+):(\d+)$/.exec(asked("at"));
  if (!match) return null;
  return { document: match[1] ?? "", start: Number(match[2]), end: Number(match[3]) };
}

async function refresh(): Promise<void> {
  const params = { path: { workspace: workspace.value } };
  const body = { rebuild: false };
  addJob(
    await take(api.POST("/api/v1/workspaces/{workspace}/communities/refresh", { params, body })),
  );
  announce(t.value.communities.refreshing);
}
