"""Texts that are dates, as ranges of days, and texts that are not."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knotwork._text.dates import read_day_range

DAY = (date(2023, 5, 3), date(2023, 5, 4))
MONTH = (date(2023, 5, 1), date(2023, 6, 1))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2023-05-03", DAY),
        (" 2023/5/3 ", DAY),
        ("2023.05.03", DAY),
        ("20230503", DAY),
        ("2023-05-03T10:11:12+02:00", DAY),
        ("2023-05-03 10:11:12", DAY),
        ("3 May 2023", DAY),
        ("3rd of may, 2023", DAY),
        ("May 3, 2023", DAY),
        ("Wed, 03 May 2023 10:11:12 +0200", DAY),
        ("2023年5月3日", DAY),
        ("2023 年 05 月 03 号", DAY),
        ("2023-05", MONTH),
        ("May 2023", MONTH),
        ("2023年5月", MONTH),
        ("Sept. 2023", (date(2023, 9, 1), date(2023, 10, 1))),
        ("2023-12", (date(2023, 12, 1), date(2024, 1, 1))),
        ("2023", (date(2023, 1, 1), date(2024, 1, 1))),
        ("13/05/2023", (date(2023, 5, 13), date(2023, 5, 14))),
        ("05-13-2023", (date(2023, 5, 13), date(2023, 5, 14))),
    ],
)
def test_dates_are_the_days_that_they_name(text: str, expected: tuple[date, date]) -> None:
    found = read_day_range(text)
    assert found is not None
    assert (date.fromordinal(found.start), date.fromordinal(found.end)) == expected


@pytest.mark.parametrize(
    "text",
    [
        "", "May", "12", "05/06/2023", "2023-13", "2023-02-30", "20231301", "99999", "2023-05-03x",
        "in 2023", "version 2023", "3 Mai 2023", "0000-01-01", "Mon, 99 May 2023 10:00:00 +0000",
        "2023" * 40, "9999", "9999-12-31",
    ],
)  # fmt: skip
def test_uncertain_dates_are_ignored(text: str) -> None:
    assert read_day_range(text) is None


@given(st.dates(date(1000, 1, 1), date(2999, 12, 30)))
def test_every_day_is_read_in_every_form(day: date) -> None:
    forms = (day.isoformat(), f"{day:%Y%m%d}", f"{day:%d %B %Y}", f"{day:%B %d, %Y}")
    following = day + timedelta(days=1)
    for form in (*forms, f"{day.year}年{day.month}月{day.day}日"):
        assert read_day_range(form.rjust(4)) == (day.toordinal(), following.toordinal())


@given(st.text(max_size=70))
def test_any_text_is_a_range_or_nothing(text: str) -> None:
    found = read_day_range(text)
    assert found is None or found.start < found.end
