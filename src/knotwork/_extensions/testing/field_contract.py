"""Contract suite for stores that filter by document fields (`FieldStore`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest

from knotwork._extensions.testing.store_contract import (
    sample_document,
    sample_mention,
    sample_relation,
)
from knotwork._stores.base import LedgerEntry, Store, require_fields
from knotwork._stores.id_sets import IdSet
from knotwork.errors import FilterError, UnknownName
from knotwork.records import (
    AllOf,
    AnyOf,
    Comparison,
    Condition,
    Document,
    Filter,
    Not,
    Page,
    entity_id,
)

_DAY_NS = 86_400 * 10**9


def put_document(
    store: Store,
    uri: str,
    metadata: Mapping[str, str] | None = None,
    *,
    title: str = "",
    language: str = "en",
    pages: Sequence[str] = (),
    chunks: int = 1,
    modified_day: int = 0,
) -> list[str]:
    """Put a document of chunks of ten characters, a page each; return the ids of the chunks.

    ``modified_day`` is when its file was changed, in days since 1970. It is Markdown, or PDF where
    the uri says so.
    """
    texts = ["one of ten"] * max(chunks, len(pages))
    document, sections, parts = sample_document(uri, texts, title=title)
    document = replace(
        document,
        media_type="application/pdf" if uri.endswith(".pdf") else "text/markdown",
        language=language,
        metadata=metadata or {},
        pages=tuple(Page(page, part.span.start) for page, part in zip(pages, parts, strict=False)),
    )
    store.documents.put(document, sections, parts)
    if modified_day:
        changed, size = modified_day * _DAY_NS, len(document.text)
        store.ledger.put([LedgerEntry(uri, document.id, "", "", "", size, changed, len(parts))])
    return [part.id for part in parts]


def where(field: str, comparison: str, *values: str) -> Condition:
    """Return a condition, as ``where("author", "=", "Ann")``."""
    return Condition(field, Comparison(comparison), values)


class FieldStoreContract:
    """Tests of `FieldStore`. Subclass it and define the fixture ``store``."""

    def test_fields_are_those_of_metadata_and_of_documents(self, store: Store) -> None:
        assert require_fields(store).fields() == []
        put_document(store, "a/b.md", {"Author": "Ann", "tags": "hr, pay"}, pages=("i", "1"))
        put_document(store, "c.md", {"tags": "hr"}, modified_day=19_000)
        found = {field.name: field for field in require_fields(store).fields()}
        built_in = ["file_date", "format", "known_as", "language", "page", "path", "uri"]
        assert list(found) == sorted([*built_in, "author", "tags"])
        assert (found["tags"].documents, found["tags"].examples[0]) == (2, "hr")
        assert (found["author"].documents, found["author"].examples) == (1, ("Ann",))
        assert found["file_date"].examples == ("2022-01-08",)
        assert found["page"].examples == ("1", "i")

    @pytest.mark.parametrize(
        ("condition", "expected"),
        [
            (where("author", "=", "ann LEE"), "ab"),
            (where("author", "=", "bo", "cy"), "bc"),
            (where("authors", "=", "Ａnn Lee"), "ab"),
            (where("author", "=", "ann*"), "ab"),
            (where("author", "contains", "nn l"), "ab"),
            (where("author", "is set"), "abc"),
            (where("tag", "=", "pay"), "bc"),
            (where("tags", "=", "hr, pay"), "b"),
            (where("year", ">=", "2022"), "ab"),
            (where("year", "<", "2022.5"), "bc"),
            (where("size", ">", "9"), "ab"),
            (where("date", "=", "2023"), "a"),
            (where("date", "=", "2022-03"), "b"),
            (where("date", ">=", "2022-03-05"), "ab"),
            (where("date", ">", "2022"), "a"),
            (where("date", "<=", "2022"), "bc"),
            (where("date", "<", "March 2022"), "c"),
            (where("date", ">=", "2022年3月"), "ab"),
            (where("date", "=", "tomorrow"), ""),
            (where("title", "=", "TRAVEL Policy"), "b"),
            (where("title", "<", "m"), "a"),
            (where("language", "=", "ZH"), "c"),
            (where("format", "=", "pdf"), "b"),
            (where("format", "=", "text/markdown"), "ac"),
            (where("path", "=", "hr"), "ab"),
            (where("path", "=", "hr/*.md"), "a"),
            (where("path", "=", "b.pdf"), "b"),
            (where("path", "=", "r/a.md"), ""),
            (where("path", "=", "*.md"), "ac"),
            (where("uri", "=", "docs/hr/a.md"), "a"),
            (where("uri", "=", "a.md"), ""),
            (where("file_date", ">=", "2022-01-08"), "c"),
        ],
        ids=str,
    )
    def test_conditions_compare_by_type(
        self, store: Store, condition: Condition, expected: str
    ) -> None:
        chunks = {
            "a": put_document(
                store,
                "docs/hr/a.md",
                {"author": "Ann Lee", "year": "2023", "size": "10", "date": "2023-05-01"},
                title="Leave",
                modified_day=18_000,
            ),
            "b": put_document(
                store,
                "docs/hr/b.pdf",
                {
                    "authors": "Bo; Ann Lee",
                    "tags": "hr, pay",
                    "year": "2022",
                    "size": "100",
                    "published": "5 March 2022",
                },
                title="Travel policy",
            ),
            "c": put_document(
                store,
                "notes/c.md",
                {"creator": "Cy", "keywords": "pay", "year": "2021", "size": "9", "date": "2021"},
                title="支出",
                language="zh",
                modified_day=19_000,
            ),
        }
        selection = require_fields(store).select(condition)
        assert set(selection.chunks) == {i for name in expected for i in chunks[name]}
        documents = store.documents.chunks([i for name in expected for i in chunks[name]])
        assert set(selection.documents) == {chunk.document_id for chunk in documents.values()}

    def test_versions_have_their_own_order(self, store: Store) -> None:
        versions = ("1.8", "1.9", "1.10", "1.10.2", "2.0-rc1", "2.0")
        chunks = {v: put_document(store, v, {"version": v, "price": v[:4]}) for v in versions}

        def found(field: str, comparison: str, value: str) -> set[str]:
            kept = set(require_fields(store).select(where(field, comparison, value)).chunks)
            return {version for version in versions if kept & set(chunks[version])}

        assert found("version", ">", "1.9") == set(versions[2:])
        assert found("version", ">=", "v1.10") == set(versions[2:])
        assert found("version", "<", "2.0") == set(versions[:5])
        assert found("version", "=", "2") == {"2.0"}
        assert found("price", ">", "1.85") == {"1.9", "2.0"}

    def test_an_order_that_no_value_can_have_is_an_error(self, store: Store) -> None:
        put_document(store, "a", {"date": "2024-05-03", "size": "12"}, modified_day=18_000)
        for field, value in (("date", "soon"), ("date", "9"), ("size", "big"), ("file_date", "x")):
            with pytest.raises(FilterError, match=f"`{field}` has values such as"):
                require_fields(store).select(where(field, ">=", value))

    def test_conditions_combine(self, store: Store) -> None:
        (a,) = put_document(store, "a", {"author": "Ann", "tags": "x"})
        (b,) = put_document(store, "b", {"author": "Bo", "tags": "x"})
        (c,) = put_document(store, "c", {})

        def chosen(wanted: Filter) -> set[str]:
            return set(require_fields(store).select(wanted).chunks)

        ann, tagged = where("author", "=", "ann"), where("tags", "=", "x")
        assert chosen(Not(ann)) == {b, c}
        assert chosen(AllOf((tagged, Not(ann)))) == {b}
        assert chosen(AnyOf((ann, Not(tagged)))) == {a, c}
        assert chosen(Not(where("author", "is set"))) == {c}

    def test_a_page_has_the_chunks_that_touch_it(self, store: Store) -> None:
        chunks = put_document(store, "a", {"author": "Ann"}, pages=("i", "1", "2"))
        others = put_document(store, "b", {"author": "Ann"}, chunks=2)
        first = require_fields(store).select(where("page", "=", "1"))
        assert list(first.chunks) == [chunks[1]]
        assert len(first.documents) == 1
        assert set(require_fields(store).select(where("page", ">=", "1")).chunks) == set(chunks[1:])
        by_ann = AllOf((where("author", "=", "ann"), Not(where("page", "=", "1"))))
        assert set(require_fields(store).select(by_ann).chunks) == {chunks[0], chunks[2], *others}

    def test_values_are_listed_by_document(self, store: Store) -> None:
        put_document(store, "a.md", {"author": "Ann", "title": "Other"}, pages=("i", "1"))
        put_document(store, "b.md", {"tags": "hr, pay"}, title="Pay")
        a, b = (Document(uri, "").id for uri in ("a.md", "b.md"))
        fields = require_fields(store)
        assert fields.values("author") == {a: ("Ann",)}
        assert {key: sorted(found) for key, found in fields.values("tag").items()} == {
            b: ["hr", "hr, pay", "pay"]
        }
        assert fields.values("title") == {a: ("Other",), b: ("Pay",)}
        assert sorted(fields.values("page")[a]) == ["1", "i"]
        assert fields.values("page", IdSet.of([b])) == {}
        assert fields.values("uri", IdSet.of([b])) == {b: ("b.md",)}

    def test_unknown_fields_are_told_with_the_known_ones(self, store: Store) -> None:
        put_document(store, "a", {"author": "Ann"})
        with pytest.raises(UnknownName, match=r"autor.*author"):
            require_fields(store).select(
                AllOf((where("author", "=", "x"), where("autor", "=", "x")))
            )
        with pytest.raises(UnknownName):
            require_fields(store).select(where("page", "=", "1"))
        assert not len(require_fields(store).select(where("title", "=", "x")).chunks)

    def test_a_replaced_or_removed_document_leaves_no_field(self, store: Store) -> None:
        put_document(store, "a", {"author": "Ann"}, pages=("1",))
        (kept,) = put_document(store, "b", {"author": "Bo", "tags": "x"})
        put_document(store, "a", {"author": "Cy"})
        assert not len(require_fields(store).select(where("author", "=", "ann")).chunks)
        store.remove_documents([Document("a", "").id])
        assert {field.name for field in require_fields(store).fields()} >= {"author", "tags"}
        assert "page" not in {field.name for field in require_fields(store).fields()}
        assert list(require_fields(store).select(Not(where("author", "=", "x"))).chunks) == [kept]

    def test_mentioned_are_the_entities_of_chunks(self, store: Store) -> None:
        (a,), (b,) = put_document(store, "a", {"n": "1"}), put_document(store, "b", {"n": "2"})
        pairs = [(a, "Ada"), (a, "Bob"), (b, "Bob"), (b, "Cy")]
        store.graph.upsert(mentions=[sample_mention(chunk, name) for chunk, name in pairs])
        found = require_fields(store).mentioned(
            require_fields(store).select(where("n", "=", "2")).chunks
        )
        assert set(found) == {entity_id("bob"), entity_id("cy")}

    def test_totals_are_those_of_an_index_of_the_selection(self, store: Store) -> None:
        uris = ("a", "b", "c")
        chunks = {uri: put_document(store, uri, {uri: "x"}, pages=(uri, "1")) for uri in uris}
        named = {"a": ("ADA", "Bob"), "b": ("Ada", "Cy"), "c": ("Ada", "Bob")}
        for uri, (one, other) in named.items():
            for chunk in chunks[uri]:
                store.graph.upsert(
                    mentions=[sample_mention(chunk, name) for name in (one, other)],
                    relations=[sample_relation(chunk, one.lower(), uri, other.lower())],
                )
        fields = require_fields(store)
        selection = fields.select(Not(where("a", "=", "x")))
        totals, shown = fields.totals(selection), fields.fields(selection.documents)
        store.remove_documents([Document("a", "").id])
        assert totals.schema == store.graph.schema()
        assert list(totals.schema.relations) == list(store.graph.schema().relations)
        assert totals.leaves == store.documents.chunk_count()
        held = store.graph.entities(totals.entities).items()
        assert totals.entities == {key: (e.name, e.type, e.chunk_count) for key, e in held}
        assert shown == fields.fields()

    def test_searches_among_a_selection_equal_a_search_that_is_cut(self, store: Store) -> None:
        count = 2_500
        chunks = put_document(store, "a", {"n": "1"}, chunks=count)
        others = put_document(store, "b", {"n": "2"}, chunks=40)
        ids = [*chunks, *others]
        numbers = np.random.default_rng(7)
        vectors = numbers.normal(size=(len(ids), 4)).astype(np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        lengths = numbers.integers(1, 9, size=len(ids))
        store.vectors("chunk").put((i, i, v[None]) for i, v in zip(ids, vectors, strict=True))
        store.texts("chunk").add(
            (i, "fox " * int(n) + "dog") for i, n in zip(ids, lengths, strict=True)
        )
        for wanted in (where("n", "=", "1"), where("n", "=", "2")):
            allowed = require_fields(store).select(wanted).chunks
            for _ in range(2):  # the second search may use a cache
                for k in (1, 7, 60):
                    found = store.texts("chunk").search("a fox", k=k, where=allowed)
                    every = store.texts("chunk").search("a fox", k=len(ids))
                    expected = [item for item in every if item.id in allowed][:k]
                    assert [item.id for item in found] == [item.id for item in expected]
                    query = vectors[0]
                    found = store.vectors("chunk").search(query, k=k, where=allowed)
                    every = store.vectors("chunk").search(query, k=len(ids))
                    assert found == [item for item in every if item.id in allowed][:k]
