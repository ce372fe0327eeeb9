import { Pending } from "../../components/ErrorState";
import type { Contents, Read } from "../../components/reader/document";
import { count, t } from "../../i18n";
import type { Loaded } from "../../state/loading";
import { linkTo } from "../../state/location";
import { sayRelation } from "../graph/words";
import { Entries } from "./Entries";
import { Links } from "./Links";

/** What the graph has from a document: links, things and relations. */
export function ContentsPanel({ read, contents }: { read: Read; contents: Loaded<Contents> }) {
  const words = t.value.documents;
  const { data } = contents;
  const passages = read.details.chunks.filter((chunk) => !chunk.is_parent);
  return (
    <section class="contents stack" aria-labelledby="contents-title">
      <h2 id="contents-title">{words.contents}</h2>
      <Pending of={contents} lines={5} />
      {data && !contents.error && (
        <>
          <p class="small muted">
            {words.counts(
              count(passages.length),
              count(data.things.length),
              count(data.relations.length),
            )}
          </p>
          <Links read={read} contents={data} />
          <Entries
            title={words.things}
            items={data.things}
            keyOf={({ id }) => id}
            row={(thing) => <Thing thing={thing} document={read.details.id} />}
          />
          <Entries
            title={words.relations}
            items={data.relations}
            keyOf={({ source, relation, target }) => `${source} ${relation} ${target}`}
            row={(relation) => (
              <>
                <a href={linkTo("graph", { focus: relation.source })}>{relation.source_name}</a>{" "}
                <span class="muted">{sayRelation(relation.relation)}</span>{" "}
                <a href={linkTo("graph", { focus: relation.target })}>{relation.target_name}</a>
              </>
            )}
          />
        </>
      )}
    </section>
  );
}

function Thing({ thing, document: doc }: { thing: Contents["things"][number]; document: string }) {
  const words = t.value.documents;
  const { id, name, spans, only_here } = thing;
  const [start, end] = spans[0] ?? [];
  const times = words.times(count(spans.length));
  return (
    <div class="row">
      <a class="grow clip" href={linkTo("graph", { focus: id })} title={name}>
        {name}
      </a>
      {only_here && <span class="tag">{words.onlyHere}</span>}
      {start === undefined ? (
        <span class="faint">–</span>
      ) : (
        <a
          class="faint number"
          href={linkTo("documents", { doc, start, end, things: 1 })}
          title={times}
          aria-label={times}
        >
          {count(spans.length)}×
        </a>
      )}
    </div>
  );
}
