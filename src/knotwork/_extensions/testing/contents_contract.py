"""Contract suite for `Contents`, and a store with something in every part, for copies."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np

from knotwork._extensions.testing.enrichment_contract import (
    sample_community,
    sample_correction,
    sample_report,
)
from knotwork._extensions.testing.store_contract import (
    add_document,
    sample_document,
    sample_mention,
    sample_relation,
    snapshot,
)
from knotwork._extensions.upkeep.contents import require_contents
from knotwork._extensions.upkeep.copies import CONTENTS, DERIVED_CONTENTS
from knotwork._stores.base import (
    LedgerEntry,
    Store,
    require_communities,
    require_corrections,
    require_homonyms,
    require_property_graphs,
    require_questions,
    require_readings,
    require_resolutions,
)
from knotwork._stores.capabilities import Contents
from knotwork._stores.urls import open_store
from knotwork.records import (
    PERSON_SOURCE,
    ChunkReading,
    Description,
    EntitySummary,
    Homonym,
    PropertyNode,
    ReadingStatus,
    Relation,
    Relationship,
    SameAs,
    Span,
    Verdict,
    entity_id,
)

_NAMES = ("Ada", "Bob", "Cy", "Dee", "Eve")


def _decision(one: str, other: str, verdict: Verdict = Verdict.SAME, **options: str) -> SameAs:
    first, second = sorted((entity_id(one), entity_id(other)))
    return SameAs(first, second, verdict, options.get("source", "rules"), "why — 因为 \ud800", 0.7)


def fill_store(store: Store, *, documents: int = 12) -> None:
    """Write something to every part of a store, also what only a history of changes leaves."""
    for correction in (
        sample_correction("rename", "eve", name="Eva"),
        sample_correction("hide", "fay"),
        sample_correction("remove_relation", "dee", "hub", relation="of"),
    ):
        require_corrections(store).put(correction, kept="kept")
    for number in range(documents):
        _add_rich_document(store, number)
    gone = add_document(store, "gone.md", ["Zoe", "Yan", "Ada"])
    lost_chunks = store.documents.chunk_ids_of([gone])[gone]
    lost = lost_chunks[0]
    chunk_ids = store.documents.chunk_ids_of(store.documents.document_ids())
    chunks = list(chain.from_iterable(chunk_ids.values()))
    kept = [i for i in store.graph.mentions(chunks) if i not in lost_chunks]
    require_homonyms(store).replace(
        [
            Homonym(
                entity_id("hub"), (tuple(sorted(kept[:3])), tuple(sorted(kept[3:5]))), "two \x00"
            ),
            Homonym(entity_id("zoe"), ((lost,), (kept[0],)), "gone for now"),
        ]
    )
    require_resolutions(store).put(
        [
            _decision("ada", "bob"),
            _decision("ada", "cy", Verdict.DIFFERENT, source="model"),
            _decision("zoe", "ada", source=PERSON_SOURCE),
            _decision("dee", "eve", Verdict.DIFFERENT, source=PERSON_SOURCE),
        ]
    )
    top = sample_community("top", of="ada bob cy zoe", chunks=(*kept[:4], lost))
    low = sample_community("low", of="ada bob", chunks=(kept[0],), level=1, parent="top")
    other = sample_community("other", of="dee eve")
    require_communities(store).replace([top, low, other])
    reports = [sample_report(low, kept[0]), sample_report(other, kept[1], key="model")]
    require_communities(store).put_reports(reports)
    store.texts("report").add((report.community_id, report.text) for report in reports)
    store.vectors("report").put([(low.id, "key of a report", _row(3))])
    store.remove_documents([gone])  # leaves marks, a stale community and hidden decisions
    require_readings(store).put_summaries([EntitySummary(entity_id("ada"), "摘要", "m", "k")])
    require_property_graphs(store).put(
        "people",
        [
            PropertyNode("b", ("Person", "Old"), {"age": 37, "share": 0.1, "tags": ["x", None, 2]}),
            PropertyNode("a", (), {"deep": {"é": [True, 1.5]}}),
        ],
        [Relationship("r", "KNOWS", "a", "b", {"since": "1999"}), Relationship("q", "Q", "b", "b")],
    )
    require_property_graphs(store).put("empty", [], [])
    failed = LedgerEntry("broken.pdf", "", "/r", "", "s", 9, 8, error_reason="x", error="why")
    store.ledger.put([failed])
    store.set_meta({"embedder": "hashing", "roots": '["/r"]', "blank": ""})


def _add_rich_document(store: Store, number: int) -> None:
    """Add a document with contributions, readings, questions, texts and vectors."""
    names = [_NAMES[number % 5], _NAMES[(number + 2) % 5]]
    uri = f"文件 {number}.md"
    document, sections, chunks = sample_document(
        uri, [f"About {name}, 关于 {name}." for name in names], with_parent=True, with_blocks=True
    )
    leaves = [chunk for chunk in chunks if not chunk.is_parent]
    ids = [chunk.id for chunk in leaves]
    with store.transaction():
        store.documents.put(document, sections, chunks)
        mentions = [sample_mention(i, n, about=0.1 * (number % 7)) for i, n in zip(ids, names)]  # noqa: B905
        mentions += [sample_mention(i, "Hub", type_="PLACE", times=number % 3) for i in ids]
        mentions.append(sample_mention(ids[0], "Fay", about=0.25))
        stated = sample_relation(ids[0], names[0].lower(), "of", "hub", weight=number + 1)
        store.graph.upsert(
            mentions=mentions,
            relations=[
                replace(stated, span=Span(1, 4), description="a relation, 关系"),
                Relation(ids[1], entity_id("hub"), "co-occurs with", entity_id(names[1].lower())),
            ],
        )
        store.texts("chunk").add((chunk.id, chunk.searched_text) for chunk in leaves)
        rows = np.random.default_rng(number).random((3, 4), dtype=np.float32)
        store.vectors("chunk").put((i, f"key {i}", rows[:1]) for i in ids)
        store.vectors("sentence").put((i, f"key {i}", rows[: 1 + number % 3]) for i in ids)
        entities = store.graph.entities([mention.entity_id for mention in mentions])
        store.texts("entity").add((key, entity.name) for key, entity in entities.items())
        store.vectors("entity").put((key, "key", _row(number % 4)) for key in entities)
        status = (ReadingStatus.OK, ReadingStatus.QUARANTINED)[number % 2]
        require_readings(store).put(
            [ChunkReading(ids[0], "model", status, "reason", "raw \ud800", ("one", "two"))],
            [Description(ids[0], names[0].lower(), f"A name — {number}")],
        )
        require_questions(store).put({ids[1]: ("Who?", "谁？")})
        store.texts("question").add([(ids[1], "Who?\n谁？")])
        store.vectors("question").put([(ids[1], "key", rows[:2])])
        entry = LedgerEntry(uri, document.id, "/r", document.revision, "s", 7, 10**18 + number)
        store.ledger.put([replace(entry, edge_keys=b"\x00\xff", digest=f"{number}")])


def _row(place: int) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    return np.eye(4, dtype=np.float32)[place : place + 1]


def _all_pages(contents: Contents, part: str, *, limit: int) -> list[Any]:
    """Return all rows of a part, read in pages."""
    found: list[Any] = []
    after = ""
    while (page := contents.page(part, after, limit=limit)).rows:
        assert len(page.rows) <= limit
        found += page.rows
        after = page.last
    return found


def _values(contents: Contents, part: str, rows: Sequence[Any]) -> list[tuple[str, object]]:
    return [(kind, repr(value)) for kind, value in contents.values(part, rows)]


class ContentsContract:
    """Tests of `Contents`. Subclass it and define the fixture ``store``."""

    def test_an_empty_store_has_no_rows(self, store: Store) -> None:
        contents = require_contents(store)
        for part in (*CONTENTS, *DERIVED_CONTENTS):
            assert contents.page(part, "", limit=9).rows == []
            assert contents.count(part) == 0

    def test_pages_have_every_row_once_in_order(self, store: Store) -> None:
        fill_store(store)
        contents = require_contents(store)
        for part in (*CONTENTS, *DERIVED_CONTENTS):
            values = _values(contents, part, contents.page(part, "", limit=999).rows)
            pages = _all_pages(contents, part, limit=2)
            assert _values(contents, part, pages) == values
            assert len(pages) == contents.count(part)
            assert len(set(values)) == len(values)
            assert values or part.startswith("description ")

    def test_rows_can_be_added_to_a_new_index(self, store: Store) -> None:
        fill_store(store)
        contents = require_contents(store)
        with closing(open_store("memory:")) as copy:
            copied = require_contents(copy)
            for part in CONTENTS:
                with copy.transaction():
                    copied.add(part, contents.page(part, "", limit=999).rows)
            for part in (*CONTENTS, *DERIVED_CONTENTS):
                rows, own = (c.page(part, "", limit=999).rows for c in (contents, copied))
                assert _values(copied, part, own) == _values(contents, part, rows)
            assert snapshot(copy) == snapshot(store)

    def test_what_is_gone_for_now_is_listed(self, store: Store) -> None:
        fill_store(store)
        contents = require_contents(store)
        assert contents.count("decisions") == 4
        assert len(require_resolutions(store).decisions()) == 3
        assert contents.count("homonyms") == 2
        assert list(require_homonyms(store).read()) == [entity_id("hub")]
        assert contents.count("touched") == len(require_resolutions(store).touched()) > 0

    def test_an_imported_graph_is_listed_in_its_order(self, store: Store) -> None:
        fill_store(store)
        contents = require_contents(store)
        (_, (nodes, edges)) = contents.page("graphs", "empty", limit=9).rows[0]
        assert [row[0] for row in nodes] == [b"b", b"a"]
        assert [row[:4] for row in edges] == [(b"r", b"KNOWS", 1, 0), (b"q", b"Q", 0, 0)]
