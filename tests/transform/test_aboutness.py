"""Aboutness of chunks: titles, headings, first subjects, salience."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.transform.documents import cut, extract, mentions

from knotwork._transform.rules import RuleExtractor, RuleSettings
from knotwork._transform.rules.aboutness import read_title
from knotwork.records import Extraction

SETTINGS = RuleSettings()
SHORT = round(SETTINGS.subject_about * SETTINGS.short_subject_about, 4)


def about(extraction: Extraction) -> dict[str, float]:
    return {form: mention.about for form, mention in mentions(extraction).items()}


def test_the_title_counts_in_full_in_the_first_chunk_and_less_later() -> None:
    first, second = extract("Machu Picchu", "It is a citadel in Peru.", "Tourists visit Cusco.")
    assert about(first)["machu picchu"] == SETTINGS.title_about
    assert about(second)["machu picchu"] == SETTINGS.later_title_about
    assert mentions(first)["machu picchu"].spans == ()
    assert mentions(first)["machu picchu"].name == "Machu Picchu"


def test_the_title_up_to_its_comma_counts_nearly_as_much() -> None:
    (extraction,) = extract("Rochester, New York", "Rochester is a city.")
    weights = about(extraction)
    assert weights["rochester new york"] == 1.0
    assert weights["rochester"] == SETTINGS.comma_title_about


def test_the_nearest_heading_beats_the_outer_ones_and_the_title() -> None:
    document, chunks = cut(
        "Handbook",
        "Ask your manager.",
        "Keep all bills.",
        headings=[("Finance Office", "1.2 Travel Abroad"), ("Finance Office", "1.2 Travel Abroad")],
    )
    first, second = (about(x) for x in RuleExtractor().extract(document, chunks))
    assert first["travel abroad"] == SETTINGS.heading_about
    assert second["travel abroad"] == SETTINGS.later_heading_about
    assert first["finance office"] == SETTINGS.heading_about * SETTINGS.outer_heading_about
    assert second["handbook"] < second["travel abroad"]


@pytest.mark.parametrize(
    ("text", "subject"),
    [
        ("Teutberga (died 11 November 875) was a queen.", "teutberga"),
        ("The leopard cat is a small wild cat.", "leopard cat"),
        ("Frederic Zelnik, a director, was born in 1885.", "frederic zelnik"),
        ("My Little Eye is a 2002 British horror film.", "my little eye"),
        ("Estonian Theatre and Music Museum is a museum.", "estonian theatre and music museum"),
        ("In 1999 Orion fell. People of Orion left.", "orion"),
        ('"Me and Bobby McGee" is a song.', "me and bobby mcgee"),
        ("``Only Daddy ''is a song.", "only daddy"),
        ("Cotula australis is a species of plant.", "cotula australis"),
        ("Gaby: A True Story is a 1987 film.", "gaby a true story"),
        ("Salad by the Roots (French) is a comedy.", "salad by the roots"),
        ("You Can No Longer Remain Silent (1955) is a film.", "you can no longer remain silent"),
        ("Graph search is a way to find things.", "graph search"),
    ],
)
def test_an_untitled_text_is_about_its_first_subject(text: str, subject: str) -> None:
    (extraction,) = extract("", text)
    assert about(extraction)[subject] in {SETTINGS.subject_about, SETTINGS.opening_about}


@pytest.mark.parametrize(
    ("text", "subject", "weight"),
    [
        ("Tartu is a city in Estonia.", "tartu", SETTINGS.subject_about),
        ("Tartu, on the Emajogi, is the second city.", "tartu", SETTINGS.subject_about),
        ("Tartu (born 1920) painted.", "tartu", SETTINGS.subject_about),
        ("Tartu celebrated on Monday, as Narva did.", "tartu", SETTINGS.opening_about),
        ("武汉是湖北省的省会。", "武汉", SETTINGS.subject_about),
    ],
)
def test_a_definition_says_more_than_an_opening(text: str, subject: str, weight: float) -> None:
    (extraction,) = extract("", text)
    assert about(extraction)[subject] == weight


def test_long_subjects_have_short_forms() -> None:
    (extraction,) = extract("", "George James Rankin (1887-1957) was a soldier.")
    weights = about(extraction)
    assert weights["george rankin"] == weights["george james"] == SHORT


def test_nicknames_and_initials_give_short_forms() -> None:
    (extraction,) = extract("", 'Robert A. "Bob" Starr (born 1971) is a wrestler.')
    assert about(extraction)["bob starr"] == SHORT
    (extraction,) = extract("", "M. Irsadi Aksun (born 1957) is a professor.")
    assert about(extraction)["irsadi aksun"] == SHORT


def test_the_rest_is_salience_and_bounded() -> None:
    (extraction,) = extract("Peru", "Anna Smith met Bob Miller. Anna Smith sang. Anna Smith left.")
    weights = about(extraction)
    assert weights["bob miller"] < weights["anna smith"] <= SETTINGS.most_salience_about


@pytest.mark.parametrize(
    "title", ["Novel-30752", "AF01.md", "untitled", "Untitled 3", "Overview", "", "???", "概述"]
)
def test_titles_that_name_nothing(title: str) -> None:
    assert read_title(title, longest_words=12) is None


@pytest.mark.parametrize(
    ("title", "form"),
    [
        ("Boeing 747", "boeing 747"),
        ("travel-policy.docx", "travel policy"),
        ("2024 Summer Olympics", "2024 summer olympics"),
        ("Alien (film)", "alien"),
        ("C++", "c++"),
    ],
)
def test_titles_that_name_something(title: str, form: str) -> None:
    read = read_title(title, longest_words=12)
    assert read is not None
    assert read.form == form
    assert not read.is_phrase


@pytest.mark.parametrize(
    ("heading", "form"),
    [("3.1 Approval of travel", "approval of travel"), ("第二章 出差审批", "出差审批")],
)
def test_headings_lose_their_numbers(heading: str, form: str) -> None:
    read = read_title(heading, longest_words=12, heading=True)
    assert read is not None
    assert read.form == form


def test_a_phrase_for_a_title_is_about_the_names_in_it() -> None:
    (extraction,) = extract(
        "Why Apple keeps paying for maps it could make", "The company spent millions."
    )
    assert about(extraction)["apple"] == SETTINGS.title_part_about


@given(
    st.lists(
        st.sampled_from(["Peru is far.", "He saw Anna Smith.", "他在北京。", "x y z"]), min_size=1
    )
)
def test_aboutness_is_a_share_and_spans_hold_the_name(parts: list[str]) -> None:
    document, chunks = cut("Peru", *parts)
    for chunk, extraction in zip(chunks, RuleExtractor().extract(document, chunks), strict=True):
        assert extraction.chunk_id == chunk.id
        for mention in extraction.mentions:
            assert 0.0 <= mention.about <= 1.0
            assert mention.name
            assert list(mention.spans) == sorted(set(mention.spans))
            assert all(chunk.span.start <= s < e <= chunk.span.end for s, e in mention.spans)
