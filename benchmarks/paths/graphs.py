"""Knowledge bases as indexes: a document for each subject, a sentence for each triple."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from knotwork._stores.base import Store
from knotwork._stores.urls import open_store
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

Triple = tuple[str, str, str]
BATCH = 2_000


@dataclass(frozen=True, slots=True)
class GraphQuestion:
    """A question to a knowledge base; ``path`` names its kind, ``hops`` is 0 where not known."""

    text: str
    answers: tuple[str, ...]
    path: str = ""
    hops: int = 0


def read_triples(path: Path) -> list[Triple]:
    lines = path.read_text("utf-8").splitlines()
    rows = [line.split("\t") for line in lines if line.count("\t") == 2]
    return [(subject, relation, other) for subject, relation, other in rows]


def read_questions(folder: Path) -> dict[str, list[GraphQuestion]]:
    """Return the questions of a folder by set: `1hop`, `2hop`, ... or the folder's name."""
    sets: dict[str, list[GraphQuestion]] = {}
    for path in sorted(folder.glob("questions*.jsonl")):
        _, _, kind = path.stem.partition("_")
        rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        sets[kind or folder.name] = [
            GraphQuestion(
                row["question"],
                tuple(row.get("answers") or row["answer"]),
                row.get("path", ""),
                int(kind[0]) if kind[:1].isdigit() else 0,
            )
            for row in rows
        ]
    return sets


def open_graph(triples: Sequence[Triple], path: Path) -> Store:
    """Open the index of some triples, made where it is not there yet."""
    ready = path.exists()
    store = open_store(str(path), create=True)
    if not ready:
        fill(store, triples)
    return store


def fill(store: Store, triples: Sequence[Triple]) -> None:
    by_subject: defaultdict[str, list[Triple]] = defaultdict(list)
    for triple in triples:
        by_subject[triple[0]].append(triple)
    groups = list(by_subject.items())
    for start in range(0, len(groups), BATCH):
        with store.transaction():
            for subject, rows in groups[start : start + BATCH]:
                put_subject(store, subject, rows)
    names = {entity_id(normal_form(name)): name for s, _, o in triples for name in (s, o)}
    store.texts("entity").add(names.items())


def put_subject(store: Store, subject: str, rows: Sequence[Triple]) -> None:
    """Add the document of one subject, with a sentence and a relation for each triple."""
    text, spans, names = "", [], defaultdict(list)
    for _, relation, other in rows:
        start = len(text)
        text += f"{subject} {relation.replace('_', ' ')} {other}.\n"
        spans.append(Span(start, len(text) - 1))
        names[subject].append(Span(start, start + len(subject)))
        names[other].append(Span(len(text) - 2 - len(other), len(text) - 2))
    document = Document(uri=f"triples/{subject}", text=text, title=subject)
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
    store.texts("chunk").add([(chunk.id, f"{chunk.context}\n{text}")])
    mentions: dict[str, Mention] = {}
    for name, places in names.items():
        form = normal_form(name)
        about = 1.0 if name == subject else 0.1
        if form and form not in mentions:
            mentions[form] = Mention(chunk.id, form, name, "", tuple(places), about)
    relations = [
        Relation(chunk.id, entity_id(normal_form(s)), relation, entity_id(normal_form(o)), 1, span)
        for (s, relation, o), span in zip(rows, spans, strict=True)
        if normal_form(s) and normal_form(o)
    ]
    store.graph.upsert(mentions=mentions.values(), relations=relations)
