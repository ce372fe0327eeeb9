"""The rule extractor: one extraction per chunk, from its document alone, for any input."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.transform.documents import cut, extract
from tests.work import count_calls

from knotwork._transform.extractor import Extractor
from knotwork._transform.rules import RuleExtractor
from knotwork.records import Document

pytestmark = pytest.mark.slow


PARTS = [
    "Anna Smith founded Acme Inc. in 1999. She lives in Vienna.",
    "中国联通在北京大学发布人工智能平台。",
    "# TITLE\n\n* the `load_index` function\n* the load index",
    "",
    "   \n\t",
    "\x00\u202eabc \u0301\u0301 🙂 ((([[[ \"\"\" ''' …",
    "WHY ALL OF THIS IS SHOUTED AND NOBODY LISTENS",
    "Mr. and Mrs. of the and of and the of",
    "《》“”（）·····",
]
HOSTILE = st.text(
    alphabet=st.sampled_from("AbZ. ,'\"()&-–·《》“”（是中国聯通\n\t\x00\u0301é5%$_`#*🙂"),
    max_size=80,
)


def test_the_extractor_keeps_its_protocol() -> None:
    extractor: Extractor = RuleExtractor()
    assert extractor.name.startswith("rules-")


def test_parents_are_left_out_and_order_is_kept() -> None:
    document, chunks = cut("T", *PARTS[:3])
    parent = replace(chunks[0], id="f" * 16, is_parent=True)
    extractions = RuleExtractor().extract(document, [*chunks, parent])
    assert [x.chunk_id for x in extractions] == [chunk.id for chunk in chunks]


def test_a_chunk_without_sentences_is_read_as_one() -> None:
    document, chunks = cut("", PARTS[0])
    (extraction,) = RuleExtractor().extract(document, [replace(chunks[0], sentences=())])
    assert "anna smith" in {mention.normal_form for mention in extraction.mentions}


def test_no_chunks_no_extractions() -> None:
    assert RuleExtractor().extract(Document("empty", ""), []) == []


def test_other_documents_change_nothing() -> None:
    extractor = RuleExtractor()
    before = extract("T", *PARTS, extractor=extractor)
    extract("Other", "Anna Smith is Bob Smith. Vienna sausage.", extractor=extractor)
    assert extract("T", *PARTS, extractor=extractor) == before
    assert extract("T", *PARTS) == before


@settings(max_examples=60, deadline=None)
@given(HOSTILE, st.lists(HOSTILE | st.sampled_from(PARTS), min_size=1, max_size=4))
def test_hostile_text_is_read_and_keys_are_unique(title: str, parts: list[str]) -> None:
    document, chunks = cut(title, *parts)
    for chunk, extraction in zip(chunks, RuleExtractor().extract(document, chunks), strict=True):
        forms = [mention.normal_form for mention in extraction.mentions]
        assert len(forms) == len(set(forms))
        assert all(forms)
        known = {mention.entity_id for mention in extraction.mentions}
        assert all({r.source, r.target} <= known for r in extraction.relations)
        spans = [span for mention in extraction.mentions for span in mention.spans]
        assert all(chunk.span.start <= s.start < s.end <= chunk.span.end for s in spans)


@pytest.mark.parametrize(
    "unit", ["a.", "A-", "中国", "“中", "1,", "Anna's ", "**a ", "a_", "(", "http://a", "A & "]
)
def test_work_grows_with_the_length_and_not_with_its_square(unit: str) -> None:
    def calls(repeats: int) -> int:
        document, chunks = cut("T", unit * repeats)
        return count_calls(lambda: RuleExtractor().extract(document, chunks))

    calls(10)  # loads the word lists
    assert calls(5_000) < 30 * calls(500)
