"""Moments keep the precision with which they were stated, and are compared as periods."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knotwork._extensions.agents.moments import (
    contains,
    is_before,
    keep_precision,
    moment_after,
    period_of,
    read_moment,
)
from knotwork._text.dates import MONTHS

YEARS = st.integers(1000, 2989)
DAYS = st.dates(date(1000, 1, 1), date(2989, 12, 31))
MOMENTS = st.one_of(
    YEARS.map(str),
    YEARS.map(lambda year: f"{year // 10}0s"),
    DAYS.map(lambda day: f"{day:%Y-%m}".zfill(7)),
    DAYS.map(date.isoformat),
    DAYS.map(lambda day: f"{day.isoformat()}T09:30"),
)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("May 2021", "2021-05"),
        ("since Sept. 2021", "2021-09"),
        ("2021年5月", "2021-05"),
        ("2021年5月份", "2021-05"),
        ("2021年", "2021"),
        ("2021-05", "2021-05"),
        ("May 1, 2020", "2020-05-01"),
        ("2024-05-01T09:30", "2024-05-01T09:30"),
        ("3/4/2023", "2023-04-03"),
        ("the 1990s", "1990s"),
        ("20世纪90年代", "1990s"),
        ("2019-2021", "2019"),
        ("2022, in May 2022", "2022-05"),
        ("2021-13", ""),
        ("40,000 crowns", ""),
        ("12345", ""),
        ("", ""),
    ],
)
def test_a_moment_is_read_with_its_precision(text, moment):
    assert read_moment(text) == moment


@given(MOMENTS)
def test_a_moment_that_is_written_is_read_back(moment):
    assert read_moment(moment) == moment
    assert keep_precision(moment, f"since {moment}") == moment


@given(DAYS)
def test_no_way_to_write_a_month_or_a_year_names_a_day(day):
    month = f"{day.year:04d}-{day.month:02d}"
    for text in (f"{MONTHS[day.month - 1]} {day.year}", f"{day.year}年{day.month}月", month):
        assert read_moment(text) == month
        assert keep_precision(f"{month}-01", text) == month
    for text in (f"{day.year}", f"in {day.year}", f"{day.year}年"):
        assert read_moment(text) == f"{day.year}"
        assert keep_precision(day.isoformat(), text) == f"{day.year}"


@given(MOMENTS, MOMENTS)
def test_the_order_is_total_and_agrees_with_containment(one, other):
    assert is_before(one, other) + is_before(other, one) == (period_of(one) != period_of(other))
    if contains(one, other):
        assert read_period(one)[0] <= read_period(other)[0] < read_period(one)[1]


@given(MOMENTS)
def test_the_next_moment_begins_where_one_ends(moment):
    assert period_of(moment_after(moment)).start == period_of(moment).end
    assert len(moment_after(moment)) == len(moment)


@given(st.text(max_size=30))
def test_any_text_is_a_moment_to_compare(text):
    period = period_of(text)
    assert period.start <= period.end
    assert moment_after(text) >= period.start
    assert read_moment(text) in {"", *read_moment(text).split()}


@pytest.mark.parametrize(
    ("moment", "text", "kept"),
    [
        ("2023-05-01", "Since last May, Ann runs it.", "2023-05"),
        ("2022-01-01", "Since last year, Ann runs it.", "2022"),
        ("2024-02-01", "Since yesterday, Ann runs it.", "2024-02-01"),
        ("2024-02-01", "Since the first of this month, Ann runs it.", "2024-02-01"),
        ("2024-01-01", "从今年一月起由她负责。", "2024-01"),
        ("2021-05-14", "Ann runs it since 2021.", "2021"),
        ("2021-05-14", "Ann runs it since May 14, 2021, and Bo since 2021.", "2021-05-14"),
        ("", "Ann runs it.", ""),
    ],
)
def test_a_reply_is_no_more_precise_than_what_was_said(moment, text, kept):
    assert keep_precision(moment, text) == kept


def read_period(moment):
    period = period_of(moment)
    return period.start, period.end
