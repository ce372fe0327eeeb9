"""The rule extractor: one extraction per chunk, from its document alone, for any input."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.transform.documents import cut
from tests.work import count_calls

from knotwork._extensions.testing.extractor_contract import check_extractions
from knotwork._transform.extractor import Extractor
from knotwork._transform.rules import Dictionary, RuleExtractor
from knotwork._transform.rules.dictionary import DictionaryEntry
from knotwork.testing import ExtractorContract

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


class TestRules(ExtractorContract):
    @pytest.fixture
    def extractor(self) -> Extractor:
        return RuleExtractor()


class TestDictionary(ExtractorContract):
    @pytest.fixture
    def extractor(self) -> Extractor:
        entries = (
            DictionaryEntry("first program", "WORK", ("the program",)),
            DictionaryEntry("北京大学", "ORG", ("北大",)),
        )
        return RuleExtractor(dictionary=Dictionary(entries))


def test_the_extractor_keeps_its_protocol() -> None:
    extractor: Extractor = RuleExtractor()
    assert extractor.name.startswith("rules-")


def test_a_chunk_without_sentences_is_read_as_one() -> None:
    document, chunks = cut("", PARTS[0])
    (extraction,) = RuleExtractor().extract(document, [replace(chunks[0], sentences=())])
    assert "anna smith" in {mention.normal_form for mention in extraction.mentions}


@given(HOSTILE, st.lists(HOSTILE | st.sampled_from(PARTS), min_size=1, max_size=4))
def test_hostile_text_is_read_and_keys_are_unique(title: str, parts: list[str]) -> None:
    document, chunks = cut(title, *parts)
    check_extractions(chunks, RuleExtractor().extract(document, chunks))


@pytest.mark.parametrize(
    "unit", ["a.", "A-", "中国", "“中", "1,", "Anna's ", "**a ", "a_", "(", "http://a", "A & "]
)
def test_work_grows_with_the_length_and_not_with_its_square(unit: str) -> None:
    def calls(repeats: int) -> int:
        document, chunks = cut("T", unit * repeats)
        return count_calls(lambda: RuleExtractor().extract(document, chunks))

    calls(10)  # loads the word lists
    assert calls(5_000) < 30 * calls(500)
