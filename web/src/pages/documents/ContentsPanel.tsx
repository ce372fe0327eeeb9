import { useState } from "preact/hooks";
import { ErrorState } from "../../components/ErrorState";
import { Skeleton } from "../../components/Progress";
import type { Contents, Details, Read } from "../../components/reader/document";
import { count, t } from "../../i18n";
import type { Loaded } from "../../state/loading";
import { linkTo } from "../../state/location";
import { sayRelation } from "../graph/words";
import { Links } from "./Links";
import { More, SHOWN } from "./More";

/** What the graph has from a document: links, things and relations. */
export function ContentsPanel({ read, contents }: { read: Read; contents: Loaded<Contents> }) {
  const { details } = read;
  const words = t.value.documents;
  const data = contents.data;
  return (
    <section class="contents stack" aria-labelledby="contents-title">
      <h2 id="contents-title">{words.contents}</h2>
      {contents.error && <ErrorState error={contents.error} retry={contents.reload} />}
      {!data && !contents.error && <Skeleton label={t.value.common.loading} lines={5} />}
      {data && (
        <>
          <p class="small muted">
            {words.counts(
              count(details.chunks.filter((chunk) => !chunk.is_parent).length),
              count(data.things.length),
              count(data.relations.length),
            )}
          </p>
          <Links read={read} contents={data} />
          <Things details={details} things={data.things} />
          <Relations relations={data.relations} />
        </>
      )}
    </section>
  );
}

function Things({ details, things }: { details: Details; things: Contents["things"] }) {
  const words = t.value.documents;
  const [limit, setLimit] = useState(SHOWN);
  if (things.length === 0) return null;
  return (
    <div class="stack tight">
      <h3>{words.things}</h3>
      <ul class="things">
        {things.slice(0, limit).map((thing) => {
          const [start, end] = thing.spans[0] ?? [];
          return (
            <li key={thing.id}>
              <a class="grow clip" href={linkTo("graph", { focus: thing.id })} title={thing.name}>
                {thing.name}
              </a>
              {thing.only_here && <span class="tag">{words.onlyHere}</span>}
              {start !== undefined ? (
                <a
                  class="small faint number"
                  href={linkTo("documents", { doc: details.id, start, end, things: 1 })}
                  title={words.times(count(thing.spans.length))}
                  aria-label={words.times(count(thing.spans.length))}
                >
                  {count(thing.spans.length)}×
                </a>
              ) : (
                <span class="small faint">–</span>
              )}
            </li>
          );
        })}
      </ul>
      <More shown={limit} total={things.length} onMore={() => setLimit(limit + 100)} />
    </div>
  );
}

function Relations({ relations }: { relations: Contents["relations"] }) {
  const [limit, setLimit] = useState(SHOWN);
  if (relations.length === 0) return null;
  return (
    <div class="stack tight">
      <h3>{t.value.documents.relations}</h3>
      <ul class="relations small">
        {relations.slice(0, limit).map((relation) => (
          <li key={`${relation.source} ${relation.relation} ${relation.target}`}>
            <a href={linkTo("graph", { focus: relation.source })}>{relation.source_name}</a>{" "}
            <span class="muted">{sayRelation(relation.relation)}</span>{" "}
            <a href={linkTo("graph", { focus: relation.target })}>{relation.target_name}</a>
          </li>
        ))}
      </ul>
      <More shown={limit} total={relations.length} onMore={() => setLimit(limit + 100)} />
    </div>
  );
}
