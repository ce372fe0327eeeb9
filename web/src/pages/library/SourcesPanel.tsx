import { api, take } from "../../api/client";
import { t } from "../../i18n";
import { useLoaded } from "../../state/loading";
import { linkTo } from "../../state/location";
import { chooseSources, chosenSources } from "../../state/sources";
import { revision } from "../../state/workspaces";

/** The documents of a workspace; those that are ticked limit the questions. */
export function SourcesPanel({ workspace }: { workspace: string }) {
  const loaded = useLoaded(`${workspace} ${revision.value}`, (signal) =>
    take(
      api.GET("/api/v1/workspaces/{workspace}/documents", {
        params: { path: { workspace }, query: { failed: false, limit: 100 } },
        signal,
      }),
    ),
  );
  const chosen = chosenSources.value;
  return (
    <section class="stack tight" aria-label={t.value.ask.sources}>
      <h2>{t.value.ask.sources}</h2>
      <ul class="small">
        {(loaded.data?.documents ?? []).map(({ id, title, uri }) => (
          <li key={id}>
            <label class="row top">
              <input
                type="checkbox"
                checked={chosen.has(id)}
                onChange={() => chooseSources([{ id, uri }], !chosen.has(id))}
              />
              <span>{title || uri}</span>
            </label>
          </li>
        ))}
      </ul>
      <a class="small" href={linkTo("library")}>
        {t.value.pages.library}
      </a>
    </section>
  );
}
