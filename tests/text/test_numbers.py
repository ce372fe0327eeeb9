"""Numbers are found in digits and in words, in English and Chinese."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knotwork._text.numbers import find_numbers


def values(text):
    return [sorted(number.values) for number in find_numbers(text)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("It weighs 1,234.50 kg.", [["1234.5"]]),
        ("5 million people", [["5", "5000000"]]),
        ("$3.5bn in 1990s and 42nd", [["3.5", "3500000000"], ["1990"], ["42"]]),
        ("24–10, 99%, 10GB", [["24"], ["10"], ["99"], ["10"]]),
        ("twenty-one, a hundred and five", [["21"], ["105"]]),
        ("two thousand three hundred", [["2300"]]),
        ("X200 and v1.2.3 and log2_size and 10.0.0.1 are names", []),
        ("a cat", []),
        ("在1939年", [["1939"]]),
        ("一九九〇年三百二十五人", [["1990"], ["325"]]),
        ("3.5亿元，十二个，两千零五", [["3.5", "350000000"], ["12"], ["2005"]]),
        ("百分之三点五", [["3.5"]]),
        ("２０２３年，5.15億年", [["2023"], ["5.15", "515000000"]]),
        ("五万六千", [["56000"]]),
    ],
)
def test_numbers_in_digits_and_words(text, found):
    assert values(text) == [[Decimal(value) for value in one] for one in found]


def write_chinese(value):
    """Write a number below 100,000 in Chinese, place by place."""
    digits, places = "零一二三四五六七八九", ("", "十", "百", "千", "万")
    written = ""
    for place in range(len(str(value)) - 1, -1, -1):
        digit = value // 10**place % 10
        if digit:
            written += digits[digit] + places[place]
        elif written and not written.endswith("零") and value % 10**place:
            written += "零"
    return written


@given(st.integers(1, 99_999))
def test_numbers_written_in_chinese_are_read(value):
    assert values(f"共{write_chinese(value)}元") == [[value]]


@given(st.integers(0, 10**12))
def test_digits_with_separators_are_read(value):
    assert values(f"there are {value:,} of them") == [[value]]


@given(st.text(alphabet="0123456789.,一二十百万亿零点 kmaone twothousand%½²", max_size=40))
def test_any_text_is_read_and_places_are_right(text):
    for number in find_numbers(text):
        assert 0 <= number.start < number.end <= len(text)
        assert number.values
