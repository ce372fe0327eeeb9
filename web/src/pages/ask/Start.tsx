import { api, take } from "../../api/client";
import { Button } from "../../components/Button";
import { Empty } from "../../components/Empty";
import { t } from "../../i18n";
import { useLoaded } from "../../state/loading";
import { go, linkTo, workspace } from "../../state/location";
import { revision } from "../../state/workspaces";

const SUGGESTED = 4;

/** Before the first question: what can be asked, after what the documents are about. */
export function Start({ isEmpty }: { isEmpty: boolean }) {
  const here = workspace.value;
  const words = t.value.ask;
  const topics = useLoaded(isEmpty ? "" : `${here} ${revision.value}`, (signal) =>
    take(
      api.GET("/api/v1/workspaces/{workspace}/communities", {
        params: { path: { workspace: here }, query: { limit: SUGGESTED, members: 1 } },
        signal,
      }),
    ),
  );
  if (isEmpty) {
    return (
      <Empty
        icon="ask"
        title={t.value.documents.none}
        actions={
          <Button kind="main" onClick={() => go(linkTo("library"))}>
            {t.value.documents.toLibrary}
          </Button>
        }
      >
        <p>{words.startEmpty}</p>
      </Empty>
    );
  }
  const communities = topics.data?.communities ?? [];
  return (
    <div class="ask-start muted">
      <p>{words.start}</p>
      {communities.length > 0 && (
        <ul>
          {communities.map(({ id, title }) => {
            const question = t.value.communities.question(title);
            return (
              <li key={id}>
                <a href={linkTo("ask", { q: question })}>{question}</a>
              </li>
            );
          })}
        </ul>
      )}
    </div>
  );
}
