"""A user's dictionary in three formats: terms in any case, their types and aliases."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.transform.documents import extract, mentions, relations

from knotwork._transform.extractor import make_extractor
from knotwork._transform.rules import Dictionary, RuleExtractor, RuleSettings
from knotwork._transform.rules.dictionary import DictionaryEntry, Term, TermMatcher
from knotwork._transform.rules.lexicon import tokenize
from knotwork.errors import ConfigError, UnknownName

TOML = """
[[term]]
name = "purchase order"
type = "document"
aliases = ["PO", "order form"]

[[term]]
name = "出差申请"
type = "document"
aliases = ["差旅单"]
"""
ENTRIES = (
    DictionaryEntry("purchase order", "DOCUMENT", ("PO", "order form")),
    DictionaryEntry("出差申请", "DOCUMENT", ("差旅单",)),
)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "terms.txt",
            "# ours\npurchase order\tdocument\tPO|order form\n\n出差申请\tDocument\t差旅单\n",
        ),
        ("terms.csv", "purchase order,document,PO|order form\n出差申请,document,差旅单\n"),
        (
            "terms.toml",
            TOML,
        ),
    ],
)
def test_three_formats_say_the_same(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / name
    path.write_text(text, "utf-8")
    assert Dictionary.read(path).entries == ENTRIES


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.toml", b"[[term]\n"),
        ("a.toml", b"[[term]]\nnom = 'x'\n"),
        ("a.toml", b"term = 3\n"),
        ("a.txt", b"\xff\xfe\x00"),
    ],
)
def test_a_broken_dictionary_is_a_config_error(tmp_path: Path, name: str, data: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(ConfigError, match=r"a\.t"):
        Dictionary.read(path)


def test_a_missing_dictionary_is_a_config_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.txt` cannot be read: No such file"):
        make_extractor("rules", dictionary=tmp_path / "none.txt")


def test_an_unknown_extractor_names_the_known_ones() -> None:
    with pytest.raises(UnknownName, match="rules"):
        make_extractor("rulez")


def test_terms_are_found_in_any_case_with_type_and_alias() -> None:
    extractor = RuleExtractor(dictionary=Dictionary(ENTRIES))
    (extraction,) = extract("", "Sign the Purchase  order; each PO counts.", extractor=extractor)
    found = mentions(extraction)
    assert found["purchase order"].type == "DOCUMENT"
    assert ("po", "also known as", "purchase order") in relations(extraction)
    (extraction,) = extract("", "员工先提交差旅單。", extractor=extractor)
    found = mentions(extraction)
    assert found["差旅单"].spans == found["出差申请"].spans
    assert found["出差申请"].name == "出差申请"


def test_the_name_changes_with_dictionary_and_settings() -> None:
    names = {
        RuleExtractor().name,
        RuleExtractor(dictionary=Dictionary(ENTRIES)).name,
        RuleExtractor(dictionary=Dictionary(ENTRIES[:1])).name,
        RuleExtractor(settings=RuleSettings(phrase_repeats=3)).name,
    }
    assert len(names) == 4
    assert RuleExtractor(settings=RuleSettings()).name == RuleExtractor().name


@given(
    st.lists(st.sampled_from(["ab", "cd", "ef"]), max_size=12),
    st.lists(st.lists(st.sampled_from(["ab", "cd", "ef"]), min_size=1, max_size=3), max_size=4),
)
def test_matching_words_equals_a_naive_search(words: list[str], terms: list[list[str]]) -> None:
    text = " ".join(words)
    matcher = TermMatcher(Term(" ".join(term)) for term in terms)
    found = [text[m.start : m.end].split() for m in matcher.find_words(tokenize(text))]
    expected: list[list[str]] = []
    position = 0
    while position < len(words):
        fits = [t for t in terms if words[position : position + len(t)] == t]
        if fits:
            expected.append(max(fits, key=len))
        position += len(expected[-1]) if fits else 1
    assert found == expected


def test_a_chinese_term_at_the_end_of_a_text_ends_with_it() -> None:
    matcher = TermMatcher([Term("北京大学"), Term("北京")])
    (found,) = matcher.find_characters("他去北京")
    assert (found.start, found.end, found.form) == (2, 4, "北京")
