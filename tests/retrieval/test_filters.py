"""Filters as text and as mappings: what they mean, and how mistakes are told."""

from __future__ import annotations

from contextlib import suppress
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knotwork._retrieval.filters import FilterSpec, read_filter
from knotwork.errors import FilterError
from knotwork.records import AllOf, AnyOf, Comparison, Condition, Filter, Not


def c(field: str, sign: str, *values: str) -> Condition:
    return Condition(field, Comparison(sign), values)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("author = 'Ann'", c("author", "=", "Ann")),
        ("author=Ann Lee", c("author", "=", "Ann Lee")),
        ("tag:hr", c("tag", "=", "hr")),
        ("tag: 'a b' and x:y z", AllOf((c("tag", "=", "a b"), c("x", "=", "y z")))),
        ("og:title = a:b", c("og:title", "=", "a:b")),
        ("date>=2023-01", c("date", ">=", "2023-01")),
        ("title = 'it''s'", c("title", "=", "it's")),
        ('title = "a = b and c"', c("title", "=", "a = b and c")),
        ("path = docs/*.md", c("path", "=", "docs/*.md")),
        ("author = O'Neil", c("author", "=", "O'Neil")),
        ("作者 ＝ 王小明", c("作者", "=", "王小明")),
        ("author != Ann", Not(c("author", "=", "Ann"))),
        ("not author = Ann", Not(c("author", "=", "Ann"))),
        ("tags in (hr, 'a b', c)", c("tags", "=", "hr", "a b", "c")),
        ("tags NOT IN (hr)", Not(c("tags", "=", "hr"))),
        ("title contains budget plan", c("title", "contains", "budget plan")),
        ("author is set", c("author", "is set")),
        ("author is null", Not(c("author", "is set"))),
        ("author is not null", c("author", "is set")),
        (
            "a = 1 AND b = 2 or d = 3",
            AnyOf((AllOf((c("a", "=", "1"), c("b", "=", "2"))), c("d", "=", "3"))),
        ),
        (
            "a = 1 and (b = 2 or d = 3)",
            AllOf((c("a", "=", "1"), AnyOf((c("b", "=", "2"), c("d", "=", "3"))))),
        ),
    ],
)
def test_a_text_is_read_as_people_mean_it(text: str, meant: Filter) -> None:
    assert read_filter(text) == meant


@pytest.mark.parametrize(
    ("mapping", "meant"),
    [
        ({"author": "Ann"}, c("author", "=", "Ann")),
        ({"year": 2023, "draft": False}, AllOf((c("year", "=", "2023"), c("draft", "=", "false")))),
        ({"tags": ["hr", "it"]}, c("tags", "=", "hr", "it")),
        (
            {"date": {"$gte": date(2023, 1, 2), "lt": "2024"}},
            AllOf((c("date", ">=", "2023-01-02"), c("date", "<", "2024"))),
        ),
        ({"score": {"gt": 2.0}}, c("score", ">", "2")),
        ({"tags": {"nin": ["a"]}}, Not(c("tags", "=", "a"))),
        ({"author": {"exists": False}}, Not(c("author", "is set"))),
        ({"author": {"$not": {"contains": "x"}}}, Not(c("author", "contains", "x"))),
        ({"$or": [{"a": "1"}, {"b": "2"}]}, AnyOf((c("a", "=", "1"), c("b", "=", "2")))),
        ({"not": {"a": "1"}}, Not(c("a", "=", "1"))),
        ({"and": "x"}, c("and", "=", "x")),
    ],
    ids=str,
)
def test_a_mapping_is_read_as_databases_do(mapping: dict[str, object], meant: Filter) -> None:
    assert read_filter(mapping) == meant


@pytest.mark.parametrize("empty", ["", "  ", {}, [], (), None, ["", {}]])
def test_nothing_is_no_filter(empty: object) -> None:
    assert read_filter(empty) is None  # type: ignore[arg-type]


def test_several_must_all_hold() -> None:
    parts: FilterSpec = ["a=1", {"b": "2"}, c("d", "=", "3")]
    assert read_filter(parts) == AllOf((c("a", "=", "1"), c("b", "=", "2"), c("d", "=", "3")))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("author", "expected `=`.*found the end"),
        ("author =", "expected a value, found the end"),
        ("author = Ann date = 3", "expected `and`, `or` or the end, found `=` at character 19"),
        ("(a = 1", r"expected `\)`"),
        ("a in 3", r"expected `\(`"),
        ("a is 3", "expected `set`"),
        ("a = 1 and", "the name of a field"),
        ("a = 'x", "unexpected `'` at character 5"),
        ("((" * 60, "nested"),
        ("a = " + "x" * 20_000, "20,004 characters"),
    ],
)
def test_mistakes_are_reported_with_their_place(text: str, reason: str) -> None:
    with pytest.raises(FilterError, match=reason):
        read_filter(text)


@pytest.mark.parametrize(
    "mapping",
    [
        {"a": {"like": "x"}},
        {"a": {}},
        {"a": None},
        {"a": {"exists": "yes"}},
        {"$or": []},
        {"$and": ["a = 1"]},
        {"a": [[1]]},
        {"a": 1j},
    ],
    ids=str,
)
def test_mappings_that_mean_nothing_are_refused(mapping: dict[str, object]) -> None:
    with pytest.raises(FilterError):
        read_filter(mapping)


names = st.sampled_from(["author", "date", "a b", "in", "标签", "x'y"])
values = st.text(min_size=1, max_size=8).filter(lambda text: '"' not in text or "'" not in text)
conditions = st.one_of(
    st.builds(
        c,
        st.sampled_from(["author", "date", "标签"]),
        st.sampled_from(["=", "<", "<=", ">", ">=", "contains"]),
        values,
    ),
    st.builds(
        lambda name, many: Condition(name, Comparison.EQUAL, tuple(many)),
        st.sampled_from(["author", "date"]),
        st.lists(values, min_size=2, max_size=3),
    ),
)


def joined(inner: st.SearchStrategy[Filter]) -> st.SearchStrategy[Filter]:
    many = st.lists(inner.filter(lambda f: not isinstance(f, AllOf)), min_size=2, max_size=3)
    others = st.lists(inner.filter(lambda f: not isinstance(f, AnyOf)), min_size=2, max_size=3)
    return st.one_of(
        many.map(lambda parts: AllOf(tuple(parts))),
        others.map(lambda parts: AnyOf(tuple(parts))),
        inner.map(Not),
    )


@given(st.recursive(conditions, joined, max_leaves=6))
def test_a_filter_that_is_shown_is_read_as_itself(wanted: Filter) -> None:
    assert read_filter(str(wanted)) == wanted


@given(st.text(max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    with suppress(FilterError):
        read_filter(text)
