"""Dates, times and durations."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cypher.graphs import NOTHING, rows, value

from knotwork._extensions.cypher.language.times import (
    Duration,
    Moment,
    calendar_date,
    days_since_epoch,
    read_date,
    read_duration,
    week_of,
    weekday,
)
from knotwork.errors import QuerySyntaxError

_EPOCH = date(1970, 1, 1)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("date('2015-07-21')", "2015-07-21"),
        ("date('2015W302')", "2015-07-21"),
        ("date('2015202')", "2015-07-21"),
        ("date({year: 1817, week: 1})", "1816-12-30"),
        ("date('2020-02-29') + duration('P1Y')", "2021-02-28"),
        ("date('2020-01-31') + duration({months: 1})", "2020-02-29"),
        ("date('2020-01-01') - duration('P1D')", "2019-12-31"),
        ("localtime('21:40:32.142')", "21:40:32.142"),
        ("time('2140-0200')", "21:40-02:00"),
        ("datetime('2015-07-21T21:40:32.142+0100')", "2015-07-21T21:40:32.142+01:00"),
        ("datetime('2019-07-01T12:00[Europe/Stockholm]')",
         "2019-07-01T12:00+02:00[Europe/Stockholm]"),
        ("datetime({epochSeconds: 416779, nanosecond: 123})", "1970-01-05T19:46:19.000000123Z"),
        ("duration('P5M1.5D')", "P5M1DT12H"),
        ("duration({seconds: 1, milliseconds: -1})", "PT0.999S"),
        ("duration({days: 1}) * 2.5", "P2DT12H"),
        ("duration.between(date('1984-10-11'), date('2015-06-24'))", "P30Y8M13D"),
        ("duration.inDays(date('2020-01-01'), date('2020-03-01'))", "P60D"),
        ("date.truncate('month', date('2017-11-11'), {day: 3})", "2017-11-03"),
        ("datetime.truncate('hour', datetime('2017-11-11T12:31:14Z'))", "2017-11-11T12:00Z"),
        ("date('2015-07-21').dayOfWeek", 2),
        ("datetime('1970-01-01T00:00:01Z').epochMillis", 1000),
        ("duration('P1Y5M').monthsOfYear", 5),
        ("date('2015-07-21') < date('2015-07-22')", True),
        ("date('2015-07-21') < localtime('10:00')", None),
        ("date('2015-07-21') = date({year: 2015, month: 7, day: 21})", True),
        ("duration('P1D') = duration('PT24H')", False),
        ("toString(date('2015-07-21')) + '!'", "2015-07-21!"),
        ("date(null)", None),
    ],
)  # fmt: skip
def test_values(expression: str, expected: object) -> None:
    assert value(expression) == expected


@pytest.mark.parametrize(
    "expression",
    [
        "date('2015-02-29')",
        "date('nonsense')",
        "date({month: 1})",
        "localtime('25:00')",
        "time({hour: 24})",
        "datetime('2015-07-21T10:00[Mars/Base]')",
        "datetime('2015-07-21T10:00[../../etc/passwd]')",
        "duration('P')",
        "duration({centuries: 1})",
        "date.truncate('blink', date('2015-01-01'))",
        "date('2015-01-01') + date('2015-01-01')",
        "date('2015-01-01') + 1",
        "date({year: 9999999999})",
        "date('2020-01-01') + duration({days: 9000000000000000000})",
        "duration({days: 1}) * (1.0 / 0.0)",
    ],
)
def test_invalid_times_are_reported(expression: str) -> None:
    with pytest.raises(QuerySyntaxError):
        value(expression)


def test_times_are_sorted_and_grouped() -> None:
    found = rows(
        NOTHING,
        "UNWIND ['2020-03-01', '2019-01-01', '2020-03-01'] AS t"
        " WITH date(t) AS d RETURN d, count(*) ORDER BY d",
    )
    assert found == [("2019-01-01", 1), ("2020-03-01", 2)]


def test_now_is_one_moment_in_a_statement() -> None:
    assert value("datetime() = datetime() AND date() <= date(datetime())")


@given(st.dates())
def test_the_calendar_matches_python(day: date) -> None:
    days = (day - _EPOCH).days
    assert calendar_date(days) == (day.year, day.month, day.day)
    assert days_since_epoch(*calendar_date(days)) == days
    assert weekday(days) == day.isoweekday()
    assert week_of(days) == day.isocalendar()[:2]


@given(st.integers(-(10**9), 10**9))
def test_a_date_is_read_as_it_is_written(days: int) -> None:
    assert days_since_epoch(*calendar_date(days)) == days
    if calendar_date(days).year in range(10_000):
        assert read_date(str(Moment(days=days))) == days


@given(st.integers(-500, 500), st.integers(-(10**6), 10**6), st.integers(-(10**18), 10**18))
def test_a_duration_is_read_as_it_is_written(months: int, days: int, nanos: int) -> None:
    duration = Duration(months, days, nanos)
    assert read_duration(str(duration)) == duration


@given(st.dates(date(1, 1, 1), date(7000, 1, 1)), st.integers(0, 10**6))
def test_days_are_added_as_in_python(day: date, days: int) -> None:
    shown = value("toString(date($d) + duration({days: $n}))", d=day.isoformat(), n=days)
    assert shown == (day + timedelta(days=days)).isoformat()
