import { useState } from "preact/hooks";
import { api, type Shapes, take } from "../../api/client";
import { Button } from "../../components/Button";
import { ErrorState } from "../../components/ErrorState";
import { Icon } from "../../components/Icon";
import { count, t } from "../../i18n";
import { addJob } from "../../state/jobs";
import { useLoaded } from "../../state/loading";
import { workspace } from "../../state/location";
import { mayWrite, revision } from "../../state/workspaces";
import { lastSent } from "./sending";

const PAGE = 50;
const MOST_NAMED = 1_000;

type Entry = Shapes["DocumentShape"];

/** Files that could not be read: why, what to do, and another try. */
export function Troubles() {
  const [limit, setLimit] = useState(PAGE);
  const here = workspace.value;
  const failed = useLoaded(
    `${here} ${revision.value} ${limit}`,
    (signal) =>
      take(
        api.GET("/api/v1/workspaces/{workspace}/documents", {
          params: { path: { workspace: here }, query: { failed: true, limit } },
          signal,
        }),
      ),
    { keepsOld: true },
  );
  const words = t.value.library;
  if (failed.error) return <ErrorState error={failed.error} retry={failed.reload} />;
  const { documents, total } = failed.data ?? { documents: [], total: 0 };
  if (total === 0) return null;
  return (
    <section class="card" aria-labelledby="troubles-title">
      <div class="card-head">
        <h2 id="troubles-title">
          {words.unread} <span class="tag warn">{count(total)}</span>
        </h2>
        {mayWrite.value && (
          <Button icon="refresh" onClick={() => retryAll(documents, total)}>
            {words.retryAll}
          </Button>
        )}
      </div>
      <ul class="troubles">
        {documents.map((entry) => (
          <Trouble key={entry.uri} entry={entry} />
        ))}
      </ul>
      {total > documents.length && (
        <Button kind="quiet" onClick={() => setLimit(Math.min(limit + 200, MOST_NAMED))}>
          {t.value.common.more} ({t.value.common.of(count(documents.length), count(total))})
        </Button>
      )}
    </section>
  );
}

function Trouble({ entry }: { entry: Entry }) {
  const words = t.value.library;
  const advice = words.advice[entry.error_reason];
  return (
    <li>
      <Icon name="warning" />
      <div class="grow">
        <p class="break">
          <strong>{entry.uri}</strong>{" "}
          <span class="tag warn">{words.reasons[entry.error_reason] ?? entry.error_reason}</span>
        </p>
        <p class="small muted break">{entry.error}</p>
        {advice && <p class="small">{advice}</p>}
      </div>
      {mayWrite.value && (
        <Button kind="quiet" icon="refresh" onClick={() => retry([entry.uri])}>
          {t.value.common.retry}
        </Button>
      )}
    </li>
  );
}

async function retry(documents: string[]): Promise<void> {
  const params = { path: { workspace: workspace.value } };
  const body = { documents, budget: "" };
  addJob(
    await take(api.POST("/api/v1/workspaces/{workspace}/documents/reindex", { params, body })),
  );
}

async function retryAll(shown: readonly Entry[], total: number): Promise<void> {
  if (shown.length >= total) return retry(shown.map(({ uri }) => uri));
  const listed = await take(
    api.GET("/api/v1/workspaces/{workspace}/documents", {
      params: { path: { workspace: workspace.value }, query: { failed: true, limit: MOST_NAMED } },
    }),
  );
  return retry(listed.documents.map(({ uri }) => uri));
}

/** Files of the last upload that the server did not take at all. */
export function Refused() {
  const words = t.value.library;
  const sent = lastSent.value;
  if (!sent || sent.workspace !== workspace.value || sent.refused.length === 0) return null;
  return (
    <section class="card" aria-labelledby="refused-title">
      <div class="card-head">
        <h2 id="refused-title">
          {words.refused} <span class="tag bad">{count(sent.refused.length)}</span>
        </h2>
        <Button
          kind="quiet"
          icon="close"
          onClick={() => {
            lastSent.value = { ...sent, refused: [] };
          }}
        >
          {t.value.common.close}
        </Button>
      </div>
      <ul class="troubles">
        {sent.refused.map((file) => (
          <li key={file.name}>
            <Icon name="bad" />
            <div class="grow">
              <p class="break">
                <strong>{file.name}</strong>{" "}
                <span class="tag bad">{words.reasons[file.reason] ?? file.reason}</span>
              </p>
              <p class="small muted break">{file.message}</p>
              {file.fix && <p class="small">{file.fix}</p>}
            </div>
          </li>
        ))}
      </ul>
    </section>
  );
}
