"""The nodes and structural edges of the graph, as parts of statements, and keys of relations."""

from __future__ import annotations

from functools import lru_cache

from knotwork.records import KEYWORD_TYPES, Label, content_id, id_to_int

_KEYWORDS = ", ".join(f"'{type_}'" for type_ in sorted(KEYWORD_TYPES))
"""The types of keywords, as the list of an SQL ``IN``."""

NODE_TABLES = {
    Label.DOCUMENT: "document WHERE true",
    Label.SECTION: "section WHERE true",
    Label.CHUNK: "chunk WHERE true",
    Label.ENTITY: f"entity WHERE type NOT IN ({_KEYWORDS})",
    Label.KEYWORD: f"entity WHERE type IN ({_KEYWORDS})",
}
"""The table of each label with a WHERE clause, to which conditions can be added."""

SECTION_ROWS = "SELECT coalesce(parent, document), id FROM section ORDER BY 1, 2"
"""Source and target of all HAS_SECTION edges."""

NEXT_ROWS = """
    SELECT n.id, n.following
    FROM (
        SELECT id, lead(id) OVER (PARTITION BY document ORDER BY ordinal, id) AS following
        FROM chunk WHERE is_parent = 0
    ) n
    WHERE n.following IS NOT NULL ORDER BY n.id
"""
"""Source and target of all NEXT edges."""


@lru_cache(maxsize=1 << 16)
def relation_key(name: str) -> int:
    """Return the integer key of a relation, a hash of its name."""
    return id_to_int(content_id("relation", name))
