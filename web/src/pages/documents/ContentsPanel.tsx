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
  const { data } = contents;
  const passages = read.details.chunks.filter((chunk) => !chunk.is_parent);
  return (
    <section class="contents beside stack" aria-labelledby="contents-title">
      <h2 id="contents-title">{t("Extracted from this document")}</h2>
      <Pending of={contents} lines={5} />
      {data && !contents.error && (
        <>
          <p class="small muted">
            {t("{passages} passages, {things} entities, {relations} relations", {
              passages: passages.length,
              things: data.things.length,
              relations: data.relations.length,
            })}
          </p>
          <Links read={read} contents={data} />
          <Entries
            title={t("Entities")}
            items={data.things}
            keyOf={({ id }) => id}
            row={(thing) => <Thing thing={thing} document={read.details.id} />}
          />
          <Entries
            title={t("Relations")}
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
  const { id, name, spans, only_here } = thing;
  const [start, end] = spans[0] ?? [];
  const times = t("{n} mentions", { n: spans.length });
  return (
    <div class="row">
      <a class="grow clip" href={linkTo("graph", { focus: id })} title={name}>
        {name}
      </a>
      {only_here && <span class="tag">{t("only here")}</span>}
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
