import { plainText } from "../../components/plain";
import { Table } from "../../components/Table";
import { decimal, t } from "../../i18n";
import type { Hit, Run } from "./runs";
import { linkOf } from "./Sources";
import { sayRetriever } from "./words";

interface Row {
  hit: Hit;
  /** The hit of each run; undefined where it was not found. */
  found: (Hit | undefined)[];
}

/** Return all passages, those found by most runs first, then the best ranked. */
export function alignSources(columns: readonly (readonly Hit[])[]): Row[] {
  const rows = new Map<string, Row>();
  for (const [column, hits] of columns.entries()) {
    for (const hit of hits) {
      const row = rows.get(hit.chunk_id) ?? { hit, found: columns.map(() => undefined) };
      row.found[column] = hit;
      rows.set(hit.chunk_id, row);
    }
  }
  const ranks = ({ found }: Row) => found.flatMap((hit) => hit?.rank ?? []);
  const mean = (row: Row) => ranks(row).reduce((sum, rank) => sum + rank, 0) / ranks(row).length;
  return [...rows.values()].sort(
    (one, other) => ranks(other).length - ranks(one).length || mean(one) - mean(other),
  );
}

/** The passages that runs found: the score in one, or the rank in each, and which are cited. */
export function PassageTable({ runs }: { runs: readonly Run[] }) {
  const rows = alignSources(runs.map((run) => run.evidence.value?.hits ?? []));
  if (rows.length === 0) return null;
  const isOne = runs.length === 1;
  return (
    <Table
      label={isOne ? t("Passages found") : t("Passages by rank of each retriever")}
      items={rows}
      keyOf={({ hit }) => hit.chunk_id}
      isChosen={({ found }) => !isOne && found.every(Boolean)}
      columns={[
        {
          head: t("Passages found"),
          cell: ({ hit }) => (
            <>
              <a {...linkOf(hit)}>{hit.title || hit.document}</a>
              <p class="small faint clamp">{plainText(hit.text)}</p>
            </>
          ),
        },
        ...runs.map(({ question, answer }, column) => ({
          head: isOne ? t("Score") : sayRetriever(question.retriever),
          cell: ({ hit: { chunk_id }, found }: Row) => {
            const hit = found[column];
            const isCited = answer.value?.citations.some((cited) => cited.chunk_id === chunk_id);
            return (
              <>
                {!hit ? "–" : isOne ? decimal(hit.score, 2) : hit.rank}{" "}
                {isCited && <span class="tag accent">{t("cited")}</span>}
              </>
            );
          },
          class: "number",
        })),
      ]}
    />
  );
}
