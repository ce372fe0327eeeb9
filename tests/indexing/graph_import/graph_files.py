"""Writing graphs as files, and reading back what a reader or an index makes of them."""

from __future__ import annotations

from collections import Counter

from knotwork._extensions.graphs.graph_import.formats import (
    FORMATS,
    EntityRow,
    ImportOptions,
    ReadFault,
    RelationRow,
)
from knotwork.records import ALIAS_RELATION


def elements_of(path, kind, **options):
    """Return the things, facts and complaints that a reader yields."""
    things, facts, complaints = [], [], []
    for element in FORMATS[kind].open()(path, ImportOptions(**options)):
        for rows, row_type in ((things, EntityRow), (facts, RelationRow), (complaints, ReadFault)):
            if isinstance(element, row_type):
                rows.append(element)
    return things, facts, complaints


def facts_of(path, kind, **options):
    """Return how often each (source, relation, target) stands in a file."""
    return Counter((f.source, f.relation, f.target) for f in elements_of(path, kind, **options)[1])


def write(folder, text, name="films.tsv", encoding="utf-8"):
    path = folder / name
    path.write_bytes(text.encode(encoding))
    return path


def edges_of(kb, *, aliases=True):
    names = {node.id: node.name for node in kb.store.graph.find(label="Entity", limit=99_999)}
    return {
        (names[e.source], e.relation, names[e.target])
        for e in kb.store.graph.edges(types=["RELATES"])
        if aliases or e.relation != ALIAS_RELATION
    }


def text_of(kb):
    documents = kb.store.documents.documents(kb.store.documents.document_ids())
    return "\n".join(d.text for d in sorted(documents.values(), key=lambda d: d.uri))


def type_of(kb, form):
    return kb.store.graph.lookup([form])[form].type
