"""Numbers, dates and comparisons of a question are honoured, or the query is refused aloud."""

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.retrieval.queries.films import FILMS, film_store, values

from knotwork._extensions.queries.cypher_templates import CypherTemplatesRetriever, Template
from knotwork._extensions.queries.query_plans import require_numbers
from knotwork._extensions.queries.query_retrievers import (
    DynamicCypherRetriever,
    TextToCypherRetriever,
)
from knotwork._extensions.testing.chat_models import ScriptedChatModel
from knotwork._questions.reading import reading_of
from knotwork._synthesis.extractive_answers import compose_answer
from knotwork.errors import QueryRefused
from knotwork.records import Query

pytestmark = pytest.mark.slow


DECADE = [(">=", "2000-01-01", "2000-12-31"), ("<=", "2010-01-01", "2010-12-31")]
CHINESE = {"Film": ("电影",), "DIRECTED_BY": ("导演",)}


@pytest.fixture(scope="module")
def store():
    return film_store()


def read(text):
    return [(c.operator.value, c.first or c.number, c.last) for c in reading_of(text).comparisons]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("films between 2000 and 2010", DECADE),
        ("from 2010 to 2000", DECADE),
        ("2000-2010", DECADE),
        ("2000年到2010年之间的电影", DECADE),
        ("since March 2021", [(">=", "2021-03-01", "2021-03-31")]),
        ("in the 1990s", [("=", "1990-01-01", "1999-12-31")]),
        ("20世纪90年代", [("=", "1990-01-01", "1999-12-31")]),
        ("2023年3月的订单", [("=", "2023-03-01", "2023-03-31")]),
        ("no later than 5 May 2020", [("<=", "2020-05-05", "2020-05-05")]),
        ("films from 2010", [("=", "2010-01-01", "2010-12-31")]),
        ("from 2010 onwards", [(">=", "2010-01-01", "2010-12-31")]),
        ("2010年前", [("<", "2010-01-01", "2010-12-31")]),
        ("orders over $1,000", [(">", 1000.0, "")]),
        ("3 to 5 million", [(">=", 3e6, ""), ("<=", 5e6, "")]),
        ("价格在100到200之间", [(">=", 100.0, ""), ("<=", 200.0, "")]),
        ("不超过500元", [("<=", 500.0, "")]),
        ("not in 2023", [("<>", "2023-01-01", "2023-12-31")]),
        ("not after 2023", [("<>", "2023-01-01", "2023-12-31")]),
        ("on Feb 30, 2023", [("=", None, "")]),
        ("top 5 films of group A-100 in v1.2.3", []),
    ],
)
def test_comparisons_are_read(text, expected):
    assert read(text) == expected


@given(st.dates(dt.date(1000, 1, 1), dt.date(2100, 12, 31)))
def test_a_day_is_read_in_every_form(day):
    iso = day.isoformat()
    forms = (
        f"on {iso}",
        f"{day.year}年{day.month}月{day.day}日",
        f"{day.day} {day:%B} {day.year:04d}",
        f"{day:%b} {day.day}, {day.year:04d}",
    )
    for form in forms:
        assert read(form) == [("=", iso, iso)], form


@given(st.text(max_size=80))
def test_any_text_can_be_read(text):
    for comparison in reading_of(text).comparisons:
        assert text[comparison.span.start : comparison.span.end] == comparison.surface


@given(st.integers(1955, 1980), st.integers(0, 25))
def test_a_range_of_years_finds_what_lies_inside(low, length):
    high = low + length
    question = f"Which films between {low} and {high}?"
    (result,) = DynamicCypherRetriever(store=film_store()).retrieve(Query(question)).results
    expected = sorted(title for title, year, _ in FILMS.values() if low <= year <= high)
    assert values(result) == expected


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Which films were directed by Olev Raud between 1955 and 1970?", ["Copper Kettle"]),
        ("films released between March 1954 and 1961", ["Copper Kettle", "Silver Lantern"]),
        ("films released after September 14, 1961", ["Copper Kettle", "Paper Moon"]),
        ("films released after September 15, 1961", ["Paper Moon"]),
        ("Who was born before 1935?", ["Marta Ilves", "Olev Raud"]),
        ("people born in the 1930s", ["Olev Raud"]),
        ("How many films were released since 1961?", [2]),
        ("Which film was released in 1961?", ["Copper Kettle"]),
        ("films by Olev Raud except Paper Moon", ["Copper Kettle"]),
        ("1955年到1970年之间的电影", ["Copper Kettle"]),
        ("Olev Raud导演的1955年到1970年之间的电影有哪些？", ["Copper Kettle"]),
        ("1960年以后的电影有多少部？", [2]),
    ],
)
def test_ranges_are_conditions(store, question, expected):
    retriever = DynamicCypherRetriever(
        store=store, options=DynamicCypherRetriever.Options(words=CHINESE)
    )
    (result,) = retriever.retrieve(Query(question)).results
    assert values(result) == expected, result.statement


REFUSED = [
    ("Which films with more than 3 actors?", "more than 3"),
    ("Which films cost over 100 dollars?", "over 100"),
    ("film 7 of Olev Raud", "7"),
    ("Which films were not released in 1961?", "not"),
    ("Which films in 1962 and 1979?", "1979"),
    ("Which films were released on February 30, 1961?", "February 30, 1961"),
    ("没有Olev Raud的电影", "没有"),
]


@pytest.mark.parametrize(("question", "unmet"), REFUSED)
def test_questions_that_no_plan_covers_are_refused_with_a_reason(store, question, unmet):
    evidence = DynamicCypherRetriever(
        store=store, options=DynamicCypherRetriever.Options(words=CHINESE)
    ).retrieve(Query(question))
    assert evidence.results == ()
    (reason,) = (note for note in evidence.notes if f"“{unmet}”" in note)
    assert reason in compose_answer(evidence, store=store).notes


def test_a_number_in_a_name_is_no_comparison(store):
    evidence = DynamicCypherRetriever(store=store).retrieve(Query("films by Olev Raud"))
    assert evidence.results
    require_numbers("Who directed 2001: A Space Odyssey?", ["2001: A Space Odyssey"])
    with pytest.raises(QueryRefused, match="2001"):
        require_numbers("Who directed film 2001?", ["Paper Moon"])


def test_a_model_learns_which_number_it_left_out(store):
    replies = [
        "MATCH (f:Film) RETURN f.title",
        "MATCH (f:Film) WHERE f.year >= 1955 AND f.year <= 1970 RETURN f.title",
    ]
    model = ScriptedChatModel(replies)
    retriever = TextToCypherRetriever(store=store, model=model)
    evidence = retriever.retrieve(Query("Which films between 1955 and 1970?"))
    assert values(evidence.results[0]) == ["Copper Kettle"]
    assert "“1955”" in model.requests[1].messages[-1].content


def test_a_template_without_a_slot_for_a_year_is_refused(store):
    template = Template(
        "films", "all films", "MATCH (f:Film) RETURN f.title", {}, ("Which films?",)
    )
    retriever = CypherTemplatesRetriever(
        store=store, options=CypherTemplatesRetriever.Options(templates=[template])
    )
    assert retriever.retrieve(Query("Which films are there?")).results
    evidence = retriever.retrieve(Query("Which films are there before 1960?"))
    assert evidence.results == ()
    assert any("“1960”" in note for note in evidence.notes)
