"""Normal forms: one key for one name, and every name inside a question."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knotwork._text.languages import simplify
from knotwork._text.names import name_candidates, normal_form

WORDS = st.text(alphabet="abcdeABCDEéÉøß09", min_size=1, max_size=6)
NAMES = st.text(
    alphabet=st.sampled_from("abcAB019 .,'’-()&_+#éßİ·《》“”中國国瓊京ｆＦ５ãक्ठ\u0301\u3000\n"),
    max_size=24,
)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("The Beatles' (album)", "beatles"),
        ("J.R.R. Tolkien", "J. R. R. TOLKIEN"),
        ("Çistay", "CISTAY"),
        ("Łódź", "Lodz"),
        ("e\u0301cole", "École"),
        ("Rochester, New York", "rochester new york"),
        ("St. Maurice's Abbey", "St Maurice’s abbey"),
        ("Barnes & Noble", "Barnes and Noble"),
        ("Jean-Paul Sartre", "Jean Paul Sartre"),
        ("1,000 Acres", "1000 acres"),
        ("《紅樓夢》", "红楼梦"),
        ("威廉·瓊斯", "威廉 • 琼斯"),
        ("５Ｇ 网络", "5G网络"),
        ("Theodred II (Bishop of Elmham)", "Theodred II"),
        ("“中国联通”", "中国联通"),
        ("中国联通（香港）", "中国联通"),
    ],
)
def test_spellings_of_one_name_agree(first: str, second: str) -> None:
    assert normal_form(first) == normal_form(second)


@pytest.mark.parametrize(
    ("first", "second"),
    [("C", "C++"), ("C#", "C"), ("The Who", "The"), ("Boeing 747", "Boeing 737"), ("3.5", "35")],
)
def test_different_names_stay_apart(first: str, second: str) -> None:
    assert normal_form(first) != normal_form(second)


def test_a_name_of_signs_falls_back_to_itself() -> None:
    assert normal_form(" !!! ") == "!!!"
    assert normal_form("(film)") == "film"
    assert normal_form(" \n") == ""


@given(NAMES)
def test_normal_form_is_idempotent_and_never_loses_a_name(name: str) -> None:
    form = normal_form(name)
    assert normal_form(form) == form
    assert bool(form) == bool(name.strip())


@given(NAMES)
def test_case_and_width_make_no_difference(name: str) -> None:
    assert normal_form(name.translate({ord("ß"): "s", ord("İ"): "i"}).upper()) == normal_form(
        name.translate({ord("ß"): "s", ord("İ"): "i"})
    )
    ascii_name = "".join(c for c in name if c.isascii())
    wide = ascii_name.translate({c: c + 0xFEE0 for c in range(0x21, 0x7F)})
    assert normal_form(unicodedata.normalize("NFKC", wide)) == normal_form(ascii_name)


@given(st.lists(WORDS, min_size=1, max_size=12), st.data())
def test_every_name_inside_a_question_is_a_candidate(words: list[str], data: st.DataObject) -> None:
    question = " ".join(words)
    first = data.draw(st.integers(0, len(words) - 1))
    length = data.draw(st.integers(2, 8))
    name = " ".join(words[first : first + length])
    candidates = {form for form, _ in name_candidates(question)}
    form = normal_form(name)
    assert form in candidates or " " not in form


def test_spans_of_candidates_lead_back_to_the_words() -> None:
    question = "When did Lothair II's mother visit “The Hague” with WHO?"
    spans = {form: question[slice(*span)] for form, span in name_candidates(question)}
    assert spans["lothair ii"] == "Lothair II's"
    assert spans["hague"] == "Hague"
    assert spans["who"] == "WHO"
    assert "when" not in spans
    assert "did" not in spans


def test_candidates_of_chinese_are_substrings() -> None:
    question = "中國聯通的5G网络在哪裡？"
    forms = [form for form, _ in name_candidates(question)]
    assert len(forms) == len(set(forms))
    assert {"中国联通", "5g网络", "联通", "哪里"} <= set(forms)
    assert "中" not in forms


def test_chinese_candidates_begin_and_end_at_borders() -> None:
    text = "用Python研究生命起源"
    borders = {0, 1, 7, 9, 11, 13}  # 用|Python|研究|生命|起源
    forms = {form for form, _ in name_candidates(text, borders=borders)}
    assert {"研究", "生命", "研究生命", "生命起源", "python", "python研究"} <= forms
    assert not {"究生", "研究生", "命起源"} & forms


@given(st.text(alphabet=st.characters(min_codepoint=0x4E00, max_codepoint=0x9FFF), max_size=30))
def test_simplifying_keeps_offsets_and_is_idempotent(text: str) -> None:
    simple = simplify(text)
    assert len(simple) == len(text)
    assert simplify(simple) == simple


def test_simplifying_knows_common_characters() -> None:
    assert simplify("漢語詞典與圖書館裡的書") == "汉语词典与图书馆里的书"
