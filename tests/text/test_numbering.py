"""Numbers before headings, and titles that begin with a number of their own."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knotwork._text.plain_text import split_number


@pytest.mark.parametrize(
    ("title", "number", "rest"),
    [
        ("11.4. NFS File Server", "11.4", "NFS File Server"),
        ("11.4 NFS File Server", "11.4", "NFS File Server"),
        ("3. Storms", "3", "Storms"),
        ("Chapter 14. Security", "14", "Security"),
        ("chapter 3", "3", "chapter 3"),
        ("Appendix K. Limits", "K", "Limits"),
        ("B.4. Tasks of the kernel", "B.4", "Tasks of the kernel"),
        ("第 14 章 安全", "14", "安全"),
        ("第二章 交通", "二", "交通"),
        ("附录 A. 衍生发行版", "A", "衍生发行版"),
        ("附錄三、地圖", "三", "地圖"),
        ("§ 7 Scope", "7", "Scope"),
    ],
)
def test_a_number_is_split_from_its_title(title, number, rest):
    assert split_number(title) == (number, rest)


@pytest.mark.parametrize(
    "title",
    [
        "X.509 certificates",
        "100 years of rain",
        "2023",
        "A salt layer",
        "3D printing",
        "Partly",
        "附录",
        "附录ABC",
        "",
    ],
)
def test_a_title_may_begin_with_what_is_no_number_of_it(title):
    assert split_number(title) == ("", title)


@given(st.text(max_size=80))
def test_no_title_is_lost(title):
    number, rest = split_number(title)
    assert rest in title
    assert bool(rest) == bool(title)
    assert number or rest == title
