"""A small graph of films and people, in English, and one of a family, in Chinese."""

from __future__ import annotations

from collections import defaultdict

from knotwork._text.names import normal_form
from knotwork.records import (
    Chunk,
    Document,
    Mention,
    Relation,
    Section,
    Span,
    content_id,
    entity_id,
)

FILMS = [
    ("Silver Lantern", "directed_by", "Marta Ilves"),
    ("Silver Lantern", "starred_actors", "Olev Raud"),
    ("Silver Lantern", "release_year", "1954"),
    ("Copper Kettle", "directed_by", "Marta Ilves"),
    ("Copper Kettle", "written_by", "Jaan Tamm"),
    ("Copper Kettle", "starred_actors", "Kersti Pihl"),
    ("Copper Kettle", "has_genre", "Drama"),
    ("Copper Kettle", "release_year", "1961"),
    ("Iron Anchor", "directed_by", "Marta Ilves"),
    ("Iron Anchor", "starred_actors", "Olev Raud"),
    ("Iron Anchor", "has_genre", "Comedy"),
    ("Iron Anchor", "release_year", "1966"),
    ("Paper Moon Boat", "directed_by", "Jaan Tamm"),
    ("Paper Moon Boat", "starred_actors", "Kersti Pihl"),
    ("Paper Moon Boat", "has_genre", "Comedy"),
    ("Paper Moon Boat", "release_year", "1970"),
]
FAMILY = [
    ("权德舆", "儿子", "权璩"),
    ("权德舆", "毕业院校", "长安书院"),
    ("权璩", "妻子", "李氏娘子"),
    ("权璩", "毕业院校", "洛阳书院"),
    ("权德舆", "儿子", "权珏"),
    ("权珏", "毕业院校", "长安书院"),
]


def put_triples(store, triples):
    """Put a document for each subject, with a sentence for each triple."""
    by_subject = defaultdict(list)
    for triple in triples:
        by_subject[triple[0]].append(triple)
    with store.transaction():
        for subject, rows in by_subject.items():
            _put_subject(store, subject, rows)
        names = {n for s, _, o in triples for n in (s, o)}
        store.texts("entity").add((entity_id(normal_form(n)), n) for n in names)
    return store


def _put_subject(store, subject, rows):
    text, spans, names = "", [], defaultdict(list)
    for _, relation, other in rows:
        start = len(text)
        text += f"{subject} {relation.replace('_', ' ')} {other}.\n"
        spans.append(Span(start, len(text) - 1))
        names[subject].append(Span(start, start + len(subject)))
        names[other].append(Span(len(text) - 2 - len(other), len(text) - 2))
    document = Document(uri=f"{subject}.txt", text=text, title=subject)
    whole = Span(0, len(text))
    section = Section(content_id("section", document.id), document.id, None, 0, 0, subject, whole)
    chunk = Chunk(
        id=content_id("chunk", document.id),
        document_id=document.id,
        section_id=section.id,
        ordinal=0,
        span=whole,
        text=text,
        sentences=tuple(spans),
        document_title=subject,
    )
    store.documents.put(document, [section], [chunk])
    store.texts("chunk").add([(chunk.id, text)])
    store.graph.upsert(
        mentions=[
            Mention(chunk.id, normal_form(n), n, "", tuple(p), 1.0 if n == subject else 0.1)
            for n, p in names.items()
        ],
        relations=[
            Relation(chunk.id, entity_id(normal_form(s)), r, entity_id(normal_form(o)), 1, span)
            for (s, r, o), span in zip(rows, spans, strict=True)
        ],
    )
