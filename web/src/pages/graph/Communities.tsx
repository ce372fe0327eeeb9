import { useEffect, useState } from "preact/hooks";
import { api, take } from "../../api/client";
import { Button } from "../../components/Button";
import { Empty } from "../../components/Empty";
import { ErrorState } from "../../components/ErrorState";
import { Icon } from "../../components/Icon";
import { Skeleton } from "../../components/Progress";
import { Reader } from "../../components/reader/Reader";
import { t } from "../../i18n";
import { useShortcuts } from "../../state/keys";
import { useLoaded } from "../../state/loading";
import { asked, setQuery, workspace } from "../../state/location";
import { mayWrite, revision } from "../../state/workspaces";
import "./communities.css";
import { buildCommunities } from "./Legend";
import { Report } from "./Report";
import { MOST_SHOWN, Tree } from "./Tree";

const NONE = { communities: [], total: 0, levels: [], is_current: true };

/** What the documents are about: a tree of communities, and the report of the one that is chosen. */
export function Communities() {
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
  if (listed.error) return <ErrorState error={listed.error} retry={listed.reload} />;
  if (!listed.data) return <Skeleton label={t.value.common.loading} lines={8} />;
  if (!about && total === 0)
    return (
      <Empty
        icon="communities"
        title={words.none}
        actions={
          mayWrite.value && (
            <Button kind="main" icon="communities" onClick={buildCommunities}>
              {words.find}
            </Button>
          )
        }
      >
        <p>{words.noneFix}</p>
      </Empty>
    );
  const shown = chosen || (communities[0]?.id ?? "");
  return (
    <div class={place ? "communities reading" : "communities"}>
      <div class={chosen ? "community-side has-choice" : "community-side"}>
        <Search about={about} />
        <p class="row wrap small muted">
          <span>{about ? words.matching(total) : words.topmost(total, levels.length)}</span>
          {!isCurrent && <span class="tag warn">{words.outdated}</span>}
          {mayWrite.value && (
            <Button kind="quiet" icon="refresh" onClick={buildCommunities}>
              {words.refresh}
            </Button>
          )}
        </p>
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
