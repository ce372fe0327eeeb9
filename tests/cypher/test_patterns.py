"""Regular expressions are those of Java as far as RE2 has them; the rest is refused by name."""

from __future__ import annotations

import pytest
from tests.cypher.graphs import value

from knotwork._query_memory import POOL
from knotwork.errors import QueryRefused, QuerySyntaxError


@pytest.mark.parametrize(
    ("text", "pattern", "matches"),
    [
        ("abc", "b", False),
        ("abc", "a.c", True),
        ("a\nc", "a.c", False),
        ("a\nc", "(?s)a.c", True),
        ("ÄRGER", "(?i)ärger", True),
        ("ÄRGER", "(?iu)ä.*", True),
        ("A", "(?i-s:a)", True),
        ("2020-01-31", r"\d{4}-\d\d-\d{2,}", True),
        ("é", r"\u00e9", True),
        ("张三", r"\p{IsHan}{2}", True),
        ("Zoë", r"\p{Lu}\p{L}+", True),
        ("ab1", r"\p{Alpha}+\p{Digit}", True),
        ("a_b", r"[\p{Alpha}_]+", True),
        ("a-b", r"\P{Alpha}+", False),
        ("a+b", r"\Qa+b\E", True),
        ("{}", r"\{[}]", True),
        ("]", "[]]", True),
        ("a", "[^]]", True),
        ("[", r"[\[a]", True),
        ("aa", "(?<first>a)a", True),
        ("", "", True),
        ("\ud800", "b", False),
    ],
)
def test_a_pattern_matches_the_whole_text(text: str, pattern: str, *, matches: bool) -> None:
    assert value("$text =~ $pattern", text=text, pattern=pattern) is matches


@pytest.mark.parametrize(
    ("pattern", "named"),
    [
        ("(?R)?a", "recursion"),
        ("(a)(?1)", "recursion"),
        ("(?<n>a)(?&n)", "recursion"),
        (r"(a)\1", "backreference"),
        (r"(?<n>a)\k<n>", "backreference"),
        ("(?P<n>a)(?P=n)", "backreference"),
        ("(?=a)a", "lookahead"),
        ("(?!b)a", "lookahead"),
        ("(?<=a)b", "lookbehind"),
        ("(?<!a)b", "lookbehind"),
        ("(?>a+)b", "atomic group"),
        ("a*+b", "possessive quantifier"),
        ("a{2}+b", "possessive quantifier"),
        ("(?:abc){e<=100}", "fuzzy matching"),
        ("a{b", "brace"),
        ("[a-z&&[^c]]", "intersection"),
        ("[a[b]]", "class inside a class"),
        ("(?x) a", "flag `x`"),
        (r"(?U)\w", "flag `U`"),
        (r"a\R", "line break"),
        ("a{1001}", "repeats too often"),
        ("((((a{99}){99}){99}){99})", "repeats too often"),
        (r"(?:\p{L}{500}){2}", "repeats too often"),
        ("a" * 1_001, "1,001 characters"),
    ],
)
def test_unsupported_parts_are_named(pattern: str, named: str) -> None:
    with pytest.raises(QueryRefused) as refused:
        value("'a' =~ $pattern", pattern=pattern)
    assert named in str(refused.value)


@pytest.mark.parametrize("pattern", ["((((", "*a", "a)", "[a", "a\\", r"\p{Foo}", "a\ud800"])
def test_an_invalid_pattern_is_an_error(pattern: str) -> None:
    with pytest.raises(QuerySyntaxError):
        value("'a' =~ $pattern", pattern=pattern)


def test_null_and_other_types_match_nothing() -> None:
    assert value("[null =~ 'a', 'a' =~ null, 1 =~ 'a']") == [None, None, None]


def test_many_patterns_need_the_memory_of_a_few() -> None:
    statement = "size([i IN range(1, 3000) WHERE 'a7' =~ ('a' + i)])"
    assert value(statement) == 1
    assert POOL.reserved == 0
