"""Contract suite for `Contents`, and a store with something in every part, for copies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import chain
from typing import TypeVar

import numpy as np

from knotwork._extensions.testing.enrichment_contract import sample_community, sample_report
from knotwork._extensions.testing.store_contract import (
    add_document,
    sample_document,
    sample_mention,
    sample_relation,
)
from knotwork._stores.base import (
    LedgerEntry,
    Store,
    require_communities,
    require_contents,
    require_homonyms,
    require_property_graphs,
    require_questions,
    require_readings,
    require_resolutions,
)
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
    content_id,
    entity_id,
)

Item = TypeVar("Item")

_NAMES = ("Ada", "Bob", "Cy", "Dee", "Eve")


def _decision(one: str, other: str, verdict: Verdict = Verdict.SAME, **options: str) -> SameAs:
    first, second = sorted((entity_id(one), entity_id(other)))
    return SameAs(first, second, verdict, options.get("source", "rules"), "why — 因为 \ud800", 0.7)


def fill_store(store: Store, *, documents: int = 12) -> None:
    """Write something to every part of a store, also what only a history of changes leaves."""
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
            replace(_decision("dee", "eve"), undone=True),
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


def _all_pages(
    read: Callable[..., Sequence[Item]], key: Callable[[Item], object], first: object = ""
) -> list[Item]:
    """Return all items, read in pages of two."""
    found: list[Item] = []
    after = first
    while page := read(after, limit=2):
        assert len(page) <= 2
        found += page
        after = key(page[-1])
    return found


class ContentsContract:
    """Tests of `Contents`. Subclass it and define the fixture ``store``."""

    def test_an_empty_store_has_no_pages(self, store: Store) -> None:
        contents = require_contents(store)
        assert contents.document_ids("", limit=9) == contents.entity_ids("", limit=9) == []
        assert contents.text_items("chunk", "", limit=9) == []
        assert contents.vector_items("chunk", "", limit=9) == []
        assert contents.community_ids("", limit=9) == contents.touched("", limit=9) == []
        assert contents.summaries("", limit=9) == []
        assert contents.homonyms("", limit=9) == []
        assert contents.decisions(("", ""), limit=9) == []
        assert contents.graph_nodes("people", 0, limit=9) == []
        assert contents.graph_relationships("people", 0, limit=9) == []

    def test_pages_have_every_id_once_in_order(self, store: Store) -> None:
        fill_store(store)
        contents = require_contents(store)
        assert _all_pages(contents.document_ids, str) == store.documents.document_ids()
        nodes = [n.id for n in store.graph.find(limit=999) if "normal_form" in n.properties]
        assert _all_pages(contents.entity_ids, str) == nodes
        levels = require_communities(store).levels()
        assert _all_pages(contents.community_ids, str) == sorted(i for ids in levels for i in ids)
        assert _all_pages(contents.touched, str) == require_resolutions(store).touched() != []

    def test_text_items_have_their_number_of_terms(self, store: Store) -> None:
        store.texts("chunk").add([(content_id(1), "one two two"), (content_id(2), "")])
        store.texts("chunk").add([(content_id(1), "one two two three")])
        expected = sorted([(content_id(1), 4), (content_id(2), 0)])
        assert require_contents(store).text_items("chunk", "", limit=9) == expected
        assert require_contents(store).text_items("chunk", expected[0][0], limit=9) == expected[1:]

    def test_vector_items_have_keys_and_stored_rows(self, store: Store) -> None:
        fill_store(store)
        for name in ("chunk", "sentence", "entity", "question", "report"):

            def read(after: str, *, limit: int, name: str = name) -> Sequence[object]:
                return require_contents(store).vector_items(name, after, limit=limit)

            found = _all_pages(read, lambda item: item.id)  # type: ignore[attr-defined]
            ids = [item.id for item in found]  # type: ignore[attr-defined]
            assert ids == sorted(set(ids))
            assert len(ids) == store.vectors(name).count() > 0
            held = store.vectors(name).get(ids)
            assert all(np.array_equal(item.matrix, held[item.id]) for item in found)  # type: ignore[attr-defined]
            some = {item.key for item in found}  # type: ignore[attr-defined]
            assert store.vectors(name).by_key(some).keys() == some

    def test_summaries_are_listed(self, store: Store) -> None:
        fill_store(store)
        (summary,) = require_contents(store).summaries("", limit=9)
        assert require_readings(store).summaries([summary.entity_id]) == {
            summary.entity_id: summary
        }

    def test_decisions_about_what_is_gone_are_listed(self, store: Store) -> None:
        fill_store(store)
        found = _all_pages(require_contents(store).decisions, lambda d: d.pair, ("", ""))
        assert [d.pair for d in found] == sorted(d.pair for d in found)
        assert len(found) == 4
        hidden = {d.pair for d in found} - {d.pair for d in require_resolutions(store).decisions()}
        assert hidden == {_decision("zoe", "ada").pair}

    def test_homonyms_are_listed_as_they_were_stored(self, store: Store) -> None:
        fill_store(store)
        found = {h.entity_id: h for h in require_contents(store).homonyms("", limit=9)}
        assert list(found) == sorted(map(entity_id, ("hub", "zoe")))
        assert len(found[entity_id("zoe")].senses) == 2
        visible = require_homonyms(store).read()
        assert list(visible) == [entity_id("hub")]
        assert visible[entity_id("hub")] == found[entity_id("hub")]
        assert require_contents(store).homonyms(next(iter(found)), limit=9) == [*found.values()][1:]

    def test_an_imported_graph_is_listed_in_its_order(self, store: Store) -> None:
        fill_store(store)
        contents = require_contents(store)
        assert [n.id for n in contents.graph_nodes("people", 0, limit=9)] == ["b", "a"]
        assert [n.id for n in contents.graph_nodes("people", 1, limit=9)] == ["a"]
        (node,) = contents.graph_nodes("people", 0, limit=1)
        assert node.labels == ("Person", "Old")
        assert node.properties == {"age": 37, "share": 0.1, "tags": ["x", None, 2]}
        edges = contents.graph_relationships("people", 0, limit=9)
        assert edges == [
            Relationship("r", "KNOWS", "a", "b", {"since": "1999"}),
            Relationship("q", "Q", "b", "b"),
        ]
        assert contents.graph_relationships("people", 1, limit=9) == edges[1:]

    def test_communities_are_put_beside_others_with_their_marks(self, store: Store) -> None:
        contents, communities = require_contents(store), require_communities(store)
        first, second = sample_community("1", of="ada bob"), sample_community("2", of="cy")
        contents.put_communities([first, second], stale=[second.id])
        communities.put_reports([sample_report(first), sample_report(second)])
        assert communities.communities([first.id, second.id]) == {
            first.id: first,
            second.id: second,
        }
        assert communities.stale() == [second.id]
        changed = replace(second, chunk_ids=(content_id(1),))
        contents.put_communities([changed])
        assert communities.communities([second.id]) == {second.id: changed}
        assert communities.stale() == []
        assert len(communities.reports([first.id, second.id])) == 2
        contents.put_communities([first], stale=[first.id, second.id])
        assert communities.stale() == [first.id]
