"""Terms of documents and queries in English, Chinese and mixed text."""

from __future__ import annotations

import sys
import unicodedata
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from hypothesis import given
from hypothesis import strategies as st
from snowballstemmer.english_stemmer import EnglishStemmer

from knotwork._text.terms import (
    STOP_WORDS,
    _terms_of_token,
    content_terms,
    held_terms,
    query_terms,
    terms,
)

pytestmark = pytest.mark.slow


_STARTS = ["cl", "tr", "sk", "pr", "gl", "dw", "br"]
_MIDDLES = ["apt", "owl", "imm", "ers", "und", "eck"]
_ENDINGS = ["er", "ing", "edly", "ation", "iveness", "ies"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Running runners run.", ["run", "runner", "run"]),
        ("the company's policies", ["the", "compani", "polici"]),
        ("the company’s policy", ["the", "compani", "polici"]),
        ("Don't, isn’t", ["dont", "isnt"]),
        ("Café CAFÉ Cafe\u0301 cafe", ["cafe"] * 4),
        ("İstanbul Łódź Straße", ["istanbul", "lodz", "strass"]),
        ("ＡＢＣ １２", ["abc", "12"]),
        ("$1,234.56 of 2,000,000 in 2019.", ["1234.56", "of", "2000000", "in", "2019"]),
        ("12.5.2020", ["12", "5", "2020"]),
        ("the U.S. and J.K. Rowling", ["the", "u", "s", "us", "and", "j", "k", "jk", "rowl"]),
        ("GPT-4 snake_case", ["gpt", "4", "snake", "case"]),
        ("Йод", ["йод"]),
        ("", []),
        ("… — !?", []),
    ],
)
def test_western_text(text: str, expected: list[str]) -> None:
    assert terms(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("首都", ["首都"]),
        ("北", ["北"]),
        ("北京市", ["北京", "京市", "北京市"]),
        ("中華民國", ["中华", "华民", "民国", "中华民国"]),
        ("东京タワー", ["东京", "京タ", "タワ", "ワー"]),
        ("한국어", ["한국", "국어"]),
        ("𠀀𠀁", ["𠀀𠀁"]),
        ("㐀㐁", ["㐀㐁"]),
        ("用Python写", ["用", "python", "写"]),
    ],
)
def test_cjk_text(text: str, expected: list[str]) -> None:
    assert terms(text) == expected


@pytest.mark.parametrize(
    ("document", "query"),
    [
        ("中华人民共和国的首都是北京。", "首都"),
        ("中华人民共和国的首都是北京。", "共和国"),
        ("中華民國的總統府位於臺北市。", "總統府"),
        ("中華民國的總統府位於臺北市。", "臺北"),
        ("中華民國的總統府位於臺北市。", "总统府"),
        ("中华人民共和国的首都是北京。", "中華人民共和國"),
        ("He studied at two universities.", "university"),
        ("Les élèves", "eleves"),
    ],
)
def test_a_query_finds_its_document(document: str, query: str) -> None:
    assert set(content_terms(query)) <= set(terms(document))


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What is the capital of France?", ["capit", "franc"]),
        ("Who doesn't know which one it was", ["know"]),
        ("法国的首都是什么？", ["法国", "国的", "的首", "首都"]),
        ("首都是誰", ["首都"]),
    ],
)
def test_stop_words_go(question: str, expected: list[str]) -> None:
    kept = content_terms(question)
    assert [term for term in kept if term in expected] == expected
    assert not STOP_WORDS.intersection(kept)
    assert len(kept) - len(expected) <= 1  # a bigram across a border may stay


def test_a_query_keeps_its_stop_words_when_it_has_nothing_else() -> None:
    assert query_terms("Who is the who of the Whos?") == ["whos"]
    assert query_terms("the who, the who") == ["the", "who"]
    assert query_terms("?") == []


def test_a_very_long_word_is_kept_whole() -> None:
    word = "running" * 20
    assert terms(f"runs {word} É{word}") == ["run", word, f"e{word}"]


def test_threads_share_the_stemmer() -> None:
    words = [f"{a}{b}{c}" for a in _STARTS for b in _MIDDLES for c in _ENDINGS]
    expected = [EnglishStemmer().stemWord(word) for word in words]
    _terms_of_token.cache_clear()
    together = Barrier(4)

    def stem(part: int) -> list[str]:
        together.wait()
        return terms(" ".join(words[part::4]))

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(stem, range(4)))
    finally:
        sys.setswitchinterval(interval)
    assert found == [expected[part::4] for part in range(4)]


def test_stop_words_are_in_the_form_of_terms() -> None:
    western = [word for word in STOP_WORDS if word.isascii()]
    assert [terms(word) for word in western] == [[word] for word in western]


@given(st.text())
def test_terms_hold_no_separator_and_do_not_depend_on_composition(text: str) -> None:
    found = terms(text)
    assert all(
        term and all(c.isalnum() or c == "." or ord(c) > 127 for c in term) for term in found
    )
    assert not any(character.isspace() for term in found for character in term)
    assert terms(text) == found


@given(st.text(alphabet=st.characters(whitelist_categories=["Lu", "Ll"], max_codepoint=0x24F)))
def test_latin_text_is_the_same_decomposed(text: str) -> None:
    assert terms(unicodedata.normalize("NFD", text)) == terms(text)


_PIECES = [
    "北京市",
    "中華民國",
    "北",
    "东京タワー",
    "U.S.",
    "running",
    "3.5",
    "Łódź",
    "，",
    " ",
    "x" * 70,
]


@given(st.lists(st.sampled_from(_PIECES), max_size=8), st.sets(st.sampled_from(_PIECES)))
def test_held_terms_are_the_wanted_ones_among_all(parts: list[str], asked: set[str]) -> None:
    text = "".join(parts)
    wanted = {"京", "北京市", "市中", *(term for part in asked for term in terms(part))}
    assert held_terms(text, wanted) == wanted.intersection(terms(text))


@given(st.lists(st.sampled_from(["Alpha", "东京塔", "3.5", "don't", "é"]), max_size=6))
def test_lines_add_up(parts: list[str]) -> None:
    assert terms("\n".join(parts)) == [term for part in parts for term in terms(part)]
