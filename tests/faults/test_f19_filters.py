"""Filters compare versions as versions, read days, and refuse what is not comparable."""

from datetime import date, timedelta

import pytest

from knotwork.errors import FilterError

from .small_files import index_of


def note(**fields):
    lines = "".join(f"{name}: {value}\n" for name, value in fields.items())
    return f"---\n{lines}---\nThe crane is ready.\n"


def found(kb, filters):
    hits = kb.search("crane", filters=filters, k=20).hits
    return {hit.chunk.document_title for hit in hits}


@pytest.mark.parametrize(
    ("field", "values", "condition", "expected"),
    [
        ("version", "1.8 1.9 1.10", "> 1.9", "1.10"),
        ("version", "1.8 1.9 1.10", "<= 1.9", "1.8 1.9"),
        ("version", "1.0 1.1 1.10", "= 1.1", "1.1"),
        ("min_version", "9 10.1 11", ">= 10", "10.1 11"),
        ("app", "v1.9 v1.10 v2.0-rc1 v2.0", ">= 1.10", "v1.10 v2.0-rc1 v2.0"),
        ("app", "v2.0-rc1 v2.0-rc2 v2.0", "< 2.0", "v2.0-rc1 v2.0-rc2"),
        ("kernel", "6.9 6.10 6.10.3", "> 6.9", "6.10 6.10.3"),
        ("版本", "1.9 1.10", "> 1.9", "1.10"),
        ("price", "1.9 1.10 2.50", "> 1.2", "1.9 2.50"),
        ("date", "2024-05-03 2023-01-01", "> 2023", "2024-05-03"),
    ],
)
def test_versions_and_numbers(tmp_path, field, values, condition, expected):
    files = {f"n{v}.md": note(title=v, **{field: v}) for v in values.split()}
    with index_of(tmp_path, files) as kb:
        assert found(kb, f"{field} {condition}") == set(expected.split())


def test_days_relative_to_today(tmp_path):
    days = {name: date.today() + timedelta(days=n) for n, name in enumerate("bcd", start=-1)}  # noqa: DTZ011
    files = {f"{name}.md": note(title=name, date=day) for name, day in days.items()}
    with index_of(tmp_path, files) as kb:
        assert found(kb, "date >= tomorrow") == {"d"}
        assert found(kb, {"date": {"lt": "Today"}}) == {"b"}
        assert found(kb, "date = yesterday") == {"b"}
        for wrong in ("date >= soon", "date < 2024-Q9", {"date": {"gt": "next week"}}):
            with pytest.raises(FilterError) as raised:
                found(kb, wrong)
            assert "is not a date" in raised.value.message
            assert "`tomorrow`" in raised.value.fix
