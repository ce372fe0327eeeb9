"""Which names of other pages are seen in a passage, whatever it was indexed with."""

from tests.retrieval.small_index import build_index

from knotwork._retrieval.chunk_entities import mentions_by_sentence
from knotwork._retrieval.weights import DEFAULT_WEIGHTS
from knotwork._stores.urls import open_store
from knotwork._text.names import normal_form
from knotwork.records import entity_id


def named_in(text, *titles):
    """Return which of the pages with these titles each sentence of a passage names."""
    pages = {title: f"{title}。" for title in titles}
    store = build_index(open_store("memory:", create=True), None, {"Source": text, **pages})
    chunk_ids = store.graph.about([entity_id("source")], fan=1)[entity_id("source")]
    chunks = store.documents.chunks([chunk_ids[0].id])
    ((_, sentences),) = mentions_by_sentence(
        chunks, store, known=DEFAULT_WEIGHTS.link.known
    ).items()
    ids = {entity_id(normal_form(title)): title for title in titles}
    return [{ids[i] for i in found if i in ids} for found in sentences]


def test_a_name_in_any_case_is_seen_where_it_stands():
    assert named_in("It was windy. Then the emajogi froze.", "Emajogi", "Tartu") == [
        set(),
        {"Emajogi"},
    ]


def test_a_chinese_name_is_seen_where_its_words_stand():
    assert named_in("天气很好。他研究生命起源。", "生命", "研究生", "起源") == [
        set(),
        {"生命", "起源"},
    ]


def test_a_traditional_text_names_a_simplified_page():
    assert named_in("後來他們研究電影。", "电影") == [{"电影"}]
