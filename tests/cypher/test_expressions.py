"""Values of expressions."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cypher.graphs import NOTHING, rows, value

from knotwork._extensions.cypher.language.property_graph import Value
from knotwork.errors import QueryRefused, QuerySyntaxError


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("1 + 2 * 3 - 4 / 2 % 3", 5),
        ("2 ^ 3 ^ 2", 64.0),
        ("-3 ^ 2", 9.0),
        ("7 / 2", 3),
        ("-7 / 2", -3),
        ("-7 % 3", -1),
        ("7 / 2.0", 3.5),
        ("0x1F + 0o17", 46),
        ("-9223372036854775808", -(2**63)),
        ("1e3", 1000.0),
        ("'a' + 1 + 0.5", "a10.5"),
        ("[1] + 2 + [3]", [1, 2, 3]),
        ("1 < 2 < 3", True),
        ("1 < 3 < 2", False),
        ("1 = 1.0", True),
        ("true = 1", False),
        ("null = null", None),
        ("[1, null] = [1, 2]", None),
        ("[1, null] = [2, null]", False),
        ("{a: 1} = {a: 1.0}", True),
        ("'a' < 1", None),
        ("[1, 2] < [1, 3]", True),
        ("null OR true", True),
        ("null AND false", False),
        ("null XOR true", None),
        ("NOT null", None),
        ("true XOR true XOR true", True),
        ("null IS NULL AND 1 IS NOT NULL", True),
        ("3 IN [1, null, 3]", True),
        ("2 IN [1, null, 3]", None),
        ("1 IN []", False),
        ("'abc' STARTS WITH 'ab' AND 'abc' ENDS WITH 'bc' AND 'abc' CONTAINS 'b'", True),
        ("'abc' STARTS WITH 1", None),
        ("'Abc' =~ '(?i)a.c'", True),
        ("'abcd' =~ 'a.c'", False),
        ("'2020-01-31 a' =~ '\\\\d{4}-\\\\d{2}-\\\\d{1,2} [a-z]{1,60}'", True),
        ("[1, 2, 3][-1]", 3),
        ("[1, 2, 3][5]", None),
        ("[1, 2, 3, 4][1..-1]", [2, 3]),
        ("[1, 2, 3][..2]", [1, 2]),
        ("{a: {b: 7}}.a.b", 7),
        ("{a: 7}['a']", 7),
        ("CASE 2 WHEN 1 THEN 'x' WHEN 2 THEN 'y' END", "y"),
        ("CASE WHEN null THEN 1 ELSE 2 END", 2),
        ("[x IN range(1, 5) WHERE x % 2 = 1 | x * x]", [1, 9, 25]),
        ("reduce(t = 0, x IN [1, 2, 3] | t + x)", 6),
        ("all(x IN [1, null] WHERE x > 0)", None),
        ("any(x IN [null, 1] WHERE x > 0)", True),
        ("none(x IN [] WHERE x)", True),
        ("single(x IN [1, 2] WHERE x = 2)", True),
        ("coalesce(null, 2, 1)", 2),
        ("size('温青岚') + size([1])", 4),
        ("head([1, 2]) + last([1, 2])", 3),
        ("tail([1, 2, 3])", [2, 3]),
        ("reverse('abc') + toUpper('x') + trim(' y ')", "cbaXy"),
        ("split('a,b', ',')", ["a", "b"]),
        ("replace('aba', 'a', 'cc')", "ccbcc"),
        ("substring('hello', 1, 3) + left('abc', 1) + right('abc', 1)", "ellac"),
        ("toInteger('42') + toInteger('3.9') + toInteger(2.7)", 47),
        ("toInteger('x')", None),
        ("toFloat('1.5')", 1.5),
        ("toBoolean('TRUE')", True),
        ("toString(1.0) + toString(1e20) + toString(true)", "1.01.0E20true"),
        ("round(2.5) + round(-2.5) + round(1.25, 1)", 2.3),
        ("abs(-2) + sign(-3) + floor(1.5) + ceil(1.2)", 4.0),
        ("keys({b: 1, a: 2})", ["b", "a"]),
        ("range(5, 1, -2)", [5, 3, 1]),
        ("range(1, 0)", []),
        ("'a\\u00e9\\n'", "aé\n"),
        ("$p.a[0]", 5),
        ("`odd name`.x", 1),
        ("isEmpty('') AND isEmpty([])", True),
        ("nullIf(1, 1)", None),
    ],
)
def test_values(expression: str, expected: Value) -> None:
    statement = f"WITH {{x: 1}} AS `odd name` RETURN {expression} AS value"
    (found,) = rows(NOTHING, statement, p={"a": [5]})
    assert found == expected
    assert type(found) is type(expected)


def test_texts_that_are_not_numbers() -> None:
    assert math.isnan(value("0.0 / 0.0"))
    assert value("1 / 0.0") == math.inf
    assert value("0.0 / 0.0 = 0.0 / 0.0") is False
    assert value("0.0 / 0.0 < 1") is False


@pytest.mark.parametrize(
    "expression",
    [
        "1 + true",
        "1 / 0",
        "9223372036854775807 + 1",
        "9223372036854775808",
        "1abc",
        "'\\uZZZZ'",
        "[1]['a']",
        "{a: 1}[0]",
        "1.x",
        "size(1)",
        "NOT 1",
        "1 AND true",
        "1 IN 2",
        "count(*) + [x IN [1] | count(*)]",
        "substring('a')",
        "absent",
        "$absent",
        "'a' =~ '('",
        "percentileCont(1, 2)",
        "toInteger([])",
        "range(1, 2, 0)",
        "date('2020-13-01')",
    ],
)
def test_missing_values_are_shown_as_missing(expression: str) -> None:
    with pytest.raises(QuerySyntaxError):
        value(expression)


@pytest.mark.parametrize(
    "expression",
    ["apoc.text.join(['a'], ',')", "nowhere(1)", "1 IS :: INTEGER", "'a' =~ '(a{101}){100}'"],
)
def test_unsupported_requests_are_refused(expression: str) -> None:
    with pytest.raises(QueryRefused):
        value(expression)


_SCALARS = (
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(-5, 5) | st.text("ab", max_size=3)
)
_VALUES = st.recursive(_SCALARS, lambda inner: st.lists(inner, max_size=3), max_leaves=5)


@given(st.lists(_VALUES, max_size=6))
def test_order_is_total_and_distinct_agrees_with_it(values: list[Value]) -> None:
    ordered = rows(NOTHING, "UNWIND $v AS x RETURN x ORDER BY x", v=values)
    back = rows(NOTHING, "UNWIND $v AS x RETURN x ORDER BY x DESC", v=values)
    assert sorted(map(repr, ordered)) == sorted(map(repr, values))
    assert rows(NOTHING, "UNWIND $v AS x RETURN x ORDER BY x", v=ordered) == ordered
    distinct = rows(NOTHING, "UNWIND $v AS x RETURN DISTINCT x", v=values)
    counts = rows(NOTHING, "UNWIND $v AS x RETURN x, count(*)", v=values)
    assert [row[0] for row in counts] == distinct
    assert sum(row[1] for row in counts) == len(values)
    assert len(back) == len(ordered)


@given(st.lists(st.integers(-1000, 1000), min_size=1, max_size=8))
def test_aggregates_agree_with_python(numbers: list[int]) -> None:
    (row,) = rows(
        NOTHING,
        "UNWIND $v AS x RETURN count(x), sum(x), min(x), max(x), avg(x), collect(x),"
        " count(DISTINCT x), percentileDisc(x, 0.5), percentileCont(x, 1.0), stDevP(x)",
        v=numbers,
    )
    mean = sum(numbers) / len(numbers)
    middle = sorted(numbers)[max(math.ceil(len(numbers) / 2) - 1, 0)]
    spread = math.sqrt(sum((n - mean) ** 2 for n in numbers) / len(numbers))
    assert row[:4] == (len(numbers), sum(numbers), min(numbers), max(numbers))
    assert row[4] == pytest.approx(mean)
    assert row[5:9] == (numbers, len(set(numbers)), middle, max(numbers))
    assert row[9] == pytest.approx(spread, abs=1e-9)
