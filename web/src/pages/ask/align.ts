/** Sources of several retrievers side by side: one row a passage, its rank in each. */

import type { Hit } from "./runs";

export interface Row {
  hit: Hit;
  /** The rank in each column; null where it was not found. */
  ranks: (number | null)[];
}

/** Return all passages, those found by most columns first, then the best ranked. */
export function alignSources(columns: readonly (readonly Hit[])[]): Row[] {
  const rows = new Map<string, Row>();
  for (const [column, hits] of columns.entries()) {
    for (const hit of hits) {
      const row = rows.get(hit.chunk_id) ?? { hit, ranks: columns.map(() => null) };
      row.ranks[column] = hit.rank;
      rows.set(hit.chunk_id, row);
    }
  }
  const found = (row: Row) => row.ranks.filter((rank) => rank !== null).length;
  const sum = (row: Row) => row.ranks.reduce<number>((total, rank) => total + (rank ?? 0), 0);
  return [...rows.values()].sort(
    (one, other) => found(other) - found(one) || sum(one) / found(one) - sum(other) / found(other),
  );
}
