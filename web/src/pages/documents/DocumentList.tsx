import { useEffect, useState } from "preact/hooks";
import { api, take } from "../../api/client";
import { Button } from "../../components/Button";
import { Empty } from "../../components/Empty";
import { ErrorState } from "../../components/ErrorState";
import { Icon } from "../../components/Icon";
import { PageHead } from "../../components/PageHead";
import { Skeleton } from "../../components/Progress";
import { count, size, t } from "../../i18n";
import { useShortcuts } from "../../state/keys";
import { useLoaded } from "../../state/loading";
import { asked, go, linkTo, setQuery, workspace } from "../../state/location";
import { revision } from "../../state/workspaces";
import { nameOf } from "./names";

const PAGE = 100;
const MOST = 1_000;
const PAUSE_MS = 200;

/** The documents by name, and the files that could not be read. */
export function DocumentList() {
  const words = t.value.documents;
  const here = workspace.value;
  const name = asked("name");
  const [limit, setLimit] = useState(PAGE);
  const listed = useLoaded(
    `${here} ${revision.value} ${limit} ${name}`,
    (signal) =>
      take(
        api.GET("/api/v1/workspaces/{workspace}/documents", {
          params: { path: { workspace: here }, query: { limit, name } },
          signal,
        }),
      ),
    { keepsOld: true },
  );
  const { documents, total } = listed.data ?? { documents: [], total: 0 };
  useShortcuts([
    {
      keys: "/",
      label: words.filter,
      run: () => window.document.getElementById("filter")?.focus(),
    },
  ]);
  return (
    <>
      <PageHead title={t.value.pages.documents}>
        {listed.data && <p class="number">{words.shown(count(documents.length), count(total))}</p>}
      </PageHead>
      <Filter name={name} />
      {listed.error && <ErrorState error={listed.error} retry={listed.reload} />}
      {!listed.data && listed.isLoading && <Skeleton label={t.value.common.loading} lines={8} />}
      {listed.data && total === 0 && !name && (
        <Empty
          icon="documents"
          title={words.none}
          actions={
            <Button kind="main" onClick={() => go(linkTo("library"))}>
              {words.toLibrary}
            </Button>
          }
        >
          <p>{words.noneFix}</p>
        </Empty>
      )}
      {listed.data && total === 0 && name && (
        <Empty
          icon="search"
          title={words.noMatch}
          actions={<Button onClick={() => setQuery({ name: null })}>{words.clear}</Button>}
        />
      )}
      {documents.length > 0 && (
        <div class="card document-list">
          <table>
            <thead>
              <tr>
                <th scope="col">{words.name}</th>
                <th scope="col" class="number">
                  {words.passages}
                </th>
                <th scope="col" class="number wide-only">
                  {words.size}
                </th>
              </tr>
            </thead>
            <tbody>
              {documents.map((entry) => (
                <tr key={entry.uri}>
                  <td>
                    {entry.error && entry.chunks === 0 ? (
                      <span class="document-name">{nameOf(entry.uri)}</span>
                    ) : (
                      <a class="document-name" href={linkTo("documents", { doc: entry.id })}>
                        {entry.title || nameOf(entry.uri)}
                      </a>
                    )}
                    {entry.error && (
                      <>
                        {" "}
                        <span class="tag warn">{words.notRead}</span>
                      </>
                    )}
                    <p class="small faint break">{entry.uri}</p>
                    {entry.error && <p class="small muted break">{entry.error}</p>}
                  </td>
                  <td class="number">{count(entry.chunks)}</td>
                  <td class="number wide-only">{size(entry.size)}</td>
                </tr>
              ))}
            </tbody>
          </table>
          {documents.length < total && limit < MOST && (
            <Button kind="quiet" onClick={() => setLimit(Math.min(MOST, limit + 3 * PAGE))}>
              {t.value.common.more} ({t.value.common.of(count(documents.length), count(total))})
            </Button>
          )}
          {documents.length < total && limit >= MOST && (
            <p class="small muted">{words.shown(count(documents.length), count(total))}</p>
          )}
        </div>
      )}
    </>
  );
}

function Filter({ name }: { name: string }) {
  const [text, setText] = useState(name);
  useEffect(() => setText(name), [name]);
  useEffect(() => {
    if (text === name) return;
    const timer = setTimeout(() => setQuery({ name: text }, { replace: true }), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text, name]);
  return (
    <search class="filter-field">
      <Icon name="search" />
      <input
        id="filter"
        type="search"
        aria-label={t.value.documents.filter}
        placeholder={t.value.documents.filter}
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
      />
    </search>
  );
}
