"""A time has one meaning, whether it says which documents are searched or what rows must hold."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knotwork._questions.languages import find_stated_filter
from knotwork._questions.reading import reading_of
from knotwork._text.dates import MONTHS, parse_date, read_date, read_day_range

TODAY = date(2024, 3, 15)


def days_of_filter(question):
    """The first and the last day to which a question restricts the documents."""
    stated = find_stated_filter(question, today=TODAY)
    assert stated is not None
    days = read_day_range(str(stated.filter).split("'")[1])
    return days.first, days.last


def days_of_rows(question):
    """The first and the last day that a question compares with."""
    (comparison,) = reading_of(question).comparisons
    return comparison.first, comparison.last


@pytest.mark.parametrize(
    ("written", "first", "last"),
    [
        ("2023-05-03", "2023-05-03", "2023-05-03"),
        ("3 May 2023", "2023-05-03", "2023-05-03"),
        ("3rd of May 2023", "2023-05-03", "2023-05-03"),
        ("May 3, 2023", "2023-05-03", "2023-05-03"),
        ("Sept. 3rd, 2023", "2023-09-03", "2023-09-03"),
        ("May 2023", "2023-05-01", "2023-05-31"),
        ("2024-02", "2024-02-01", "2024-02-29"),
        ("the 1990s", "1990-01-01", "1999-12-31"),
        ("2023", "2023-01-01", "2023-12-31"),
    ],
)
def test_english_times_mean_the_same_days_to_filters_and_queries(written, first, last):
    assert days_of_filter(f"Which reports from {written} mention salt?") == (first, last)
    assert days_of_rows(f"orders in {written}") == (first, last)


@pytest.mark.parametrize(
    ("written", "first", "last"),
    [
        ("2023年5月3日", "2023-05-03", "2023-05-03"),
        ("2023年5月3号", "2023-05-03", "2023-05-03"),
        ("2023年5月", "2023-05-01", "2023-05-31"),
        ("2024年2月份", "2024-02-01", "2024-02-29"),
        ("1990年代", "1990-01-01", "1999-12-31"),
        ("20世纪90年代", "1990-01-01", "1999-12-31"),
        ("2023年", "2023-01-01", "2023-12-31"),
    ],
)
def test_chinese_times_mean_the_same_days_to_filters_and_queries(written, first, last):
    assert days_of_filter(f"{written}的报告提到了什么？") == (first, last)
    assert days_of_rows(f"{written}的订单") == (first, last)


@given(st.dates(date(1000, 1, 1), date(2100, 12, 31)), st.integers(0, 3))
def test_a_day_in_any_form_is_the_same_day_everywhere(day, form):
    name = MONTHS[day.month - 1].title()
    written = (
        day.isoformat(),
        f"{day.day} {name} {day.year}",
        f"{name} {day.day}, {day.year}",
        f"{day.year}年{day.month}月{day.day}日",
    )[form]
    assert read_date(f"It ended on {written} at last.") == day.isoformat()
    assert parse_date(written, day_first=False) == day.isoformat()
    assert days_of_rows(f"orders on {written}") == (day.isoformat(),) * 2


@pytest.mark.parametrize("written", ["30 February 2023", "2023-02-30", "2023年2月30日"])
def test_a_day_that_does_not_exist_is_no_date_anywhere(written):
    assert read_day_range(written) is None
    assert read_date(written) == ""
    assert parse_date(written, day_first=True) == ""
    assert days_of_rows(f"orders on {written}") == ("", "")
    assert find_stated_filter(f"reports from {written}", today=TODAY) is None


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("3/4/2023", "2023-04-03"),
        ("2023/4/3 9:05", "2023-04-03 09:05"),
        ("3-Apr-2023", "2023-04-03"),
        ("2023-04-03T10:11:12Z", "2023-04-03 10:11:12"),
        ("20230403", ""),
        ("2023", ""),
        ("April 2023", ""),
    ],
)
def test_cells_are_days_with_their_time_or_no_dates(cell, expected):
    assert parse_date(cell, day_first=True) == expected
