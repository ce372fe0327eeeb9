"""All that a store holds, as rows that are the same on every kind of store."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from knotwork._stores.base import Store
from knotwork._stores.capabilities import Contents, RowPage
from knotwork._stores.copy_marks import COPY_META
from knotwork._stores.indexes import stored_type
from knotwork._stores.sql.database import SqlDatabase, SqlPart, unpack_text
from knotwork._stores.sql.store import SqlStore
from knotwork._stores.sql.tables import TABLE_COLUMNS
from knotwork.errors import MissingCapability
from knotwork.records import id_to_int


def require_contents(store: Store) -> Contents:
    """Return the contents of a store. Raises MissingCapability if it cannot list them."""
    contents = store.capabilities.contents
    if contents is None:
        raise MissingCapability(store.url, "listing its contents")
    return contents()


_CONTENTS = {
    "documents": "document", "sections": "section", "chunks": "chunk",
    "fields": "document_field", "pages": "document_page",
    "corrections": "correction", "mentions": "mention", "relations": "contribution",
    "hidden mentions": "aside_mention", "removed relations": "aside_contribution",
    "readings": "chunk_reading", "descriptions": "description", "summaries": "entity_summary",
    "questions": "question", "communities": "community", "members": "community_member",
    "community chunks": "community_chunk", "reports": "report", "citations": "report_citation",
    "decisions": "same_as", "touched": "touched_entity", "homonyms": "homonym", "senses": "sense",
    "ledger": "ledger", "entities": "entity", "edges": "edge",
}  # fmt: skip
"""The tables of the parts of `Contents`."""

_NAMED = {
    "mentions": ", (SELECT e.normal_form FROM entity e WHERE e.id = t.entity)",
    "relations": ", (SELECT r.name FROM relation r WHERE r.id = t.relation)",
}
"""What rows need beside their columns to be added: see `Contributions.add_rows`."""

_COMPRESSED = {"documents": ("outline", "text"), "readings": ("raw",)}


def _page_statement(part: str, *, is_first: bool) -> str:
    table, (types, key) = _CONTENTS[part], TABLE_COLUMNS[_CONTENTS[part]]
    ordered = ", ".join(f"t.{name}" for name in key)
    places = ", ".join(f"${number}" for number in range(1, len(key) + 1))
    where = "" if is_first else f"WHERE ({ordered}) > ({places})"
    columns = ", ".join(f"t.{name}" for name in types) + _NAMED.get(part, "")
    last = 1 if is_first else len(key) + 1
    return f"SELECT {columns} FROM {table} t {where} ORDER BY {ordered} LIMIT ${last}"


_PAGES = {
    (part, is_first): _page_statement(part, is_first=is_first)
    for part in _CONTENTS
    for is_first in (True, False)
}


class SqlContents(SqlPart):
    """The `Contents` of stores in SQL databases, whose tables have the same columns."""

    def __init__(self, database: SqlDatabase, store: SqlStore[Any, Any]) -> None:
        super().__init__(database)
        self._store = store

    def _index(self, part: str) -> Any:  # noqa: ANN401  of texts or vectors
        """Return the index whose items are a part; None for rows of tables."""
        name, _, kind = part.rpartition(" ")
        if kind in ("texts", "vectors"):
            return self._store.texts(name) if kind == "texts" else self._store.vectors(name)
        return None

    def page(self, part: str, after: str, *, limit: int) -> RowPage:
        if index := self._index(part):
            rows: list[Any] = index.items(int(after or -1), limit=limit)
            last = rows[-1][0] if rows else ""
            return RowPage(rows, str(id_to_int(last) if isinstance(last, str) and last else last))
        if part == "settings":
            held = sorted(item for item in self._store.meta().items() if item[0] != COPY_META)
            rows = [item for item in held if item[0] > after][:limit]
            return RowPage(rows, rows[-1][0] if rows else "")
        if part == "graphs":
            graphs = self._store.property_graphs
            names = [name for name in graphs.names() if name > after][:limit]
            return RowPage(
                [(name, graphs.rows_of(name)) for name in names], names[-1] if names else ""
            )
        start = json.loads(after) if after else ()
        rows = self._database.rows(_PAGES[part, not after], (*start, limit))
        types, key = TABLE_COLUMNS[_CONTENTS[part]]
        places = [list(types).index(name) for name in key]
        return RowPage(rows, json.dumps([rows[-1][place] for place in places]) if rows else "")

    def count(self, part: str) -> int:
        if index := self._index(part):
            return int(index.count())
        if part == "settings":
            return len(self._store.meta().keys() - {COPY_META})
        if part == "graphs":
            return len(self._store.property_graphs.names())
        ((count,),) = self._database.rows(f"SELECT count(*) FROM {_CONTENTS[part]}")
        return int(count)

    def add(self, part: str, rows: Sequence[Any]) -> None:
        if index := self._index(part):
            index.put(rows)
        elif part == "settings":
            self._store.set_meta(dict(rows))
        elif part == "graphs":
            for name, graph in rows:
                self._store.property_graphs.put_rows(name, graph)
        elif part == "mentions":
            self._store.graph.add_rows(rows, ())
        elif part == "relations":
            self._store.graph.add_rows((), rows)
        else:
            table = _CONTENTS[part]
            self._database.add_rows(table, TABLE_COLUMNS[table].types, rows)

    def values(self, part: str, rows: Sequence[Any]) -> list[tuple[str, object]]:
        return list(self._values(part, rows))

    def _values(self, part: str, rows: Sequence[Any]) -> Iterator[tuple[str, object]]:
        if part == "graphs":
            for name, (nodes, relationships) in rows:
                yield "graphs", name
                yield from (("graph nodes", [name, i, *row]) for i, row in enumerate(nodes))
                edges = enumerate(relationships)
                yield from (("graph relationships", [name, i, *row]) for i, row in edges)
        elif part.endswith(" vectors"):
            stored = f"<f{stored_type(part.removesuffix(' vectors'))().itemsize}"
            for key, content_key, matrix in rows:
                found = matrix.astype(stored)
                yield part, [key, content_key, found.shape, found.tobytes()]
        elif part in _COMPRESSED:
            places = [
                list(TABLE_COLUMNS[_CONTENTS[part]].types).index(n) for n in _COMPRESSED[part]
            ]
            for row in map(list, rows):
                for place in places:
                    row[place] = None if row[place] is None else unpack_text(row[place])
                yield part, row
        else:
            yield from ((part, row) for row in rows)
