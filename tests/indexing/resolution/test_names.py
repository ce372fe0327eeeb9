"""The parts of names, and how alike two are spelt."""

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knotwork._indexing.resolution.name_shapes import (
    are_spellings,
    edit_distance,
    given_agree,
    is_plural,
    read_name,
    read_person,
)


@pytest.mark.parametrize(
    ("name", "core", "legal"),
    [
        ("Apple Inc.", "apple", "inc"),
        ("Siemens AG", "siemens", "ag"),
        ("Beijing Jinyu Group Co., Ltd.", "beijing jinyu group", "co ltd"),
        ("Rishabh Pant & Co", "rishabh pant and co", ""),
        ("中国电信股份有限公司", "中国电信", "股份有限公司"),
        ("外国公司", "外国公司", ""),
        ("深圳市", "深圳", "市"),
        ("Inc.", "inc", ""),
    ],
)
def test_legal_forms_stand_beside_a_name(name, core, legal):
    shape = read_name(name)
    assert (shape.core, shape.legal) == (core, legal)


def test_titles_degrees_and_generations_stand_beside_a_name():
    shape = read_name("Dr. Martin L. King Jr., PhD")
    assert shape.words == ("martin", "l", "king")
    assert shape.titled
    assert shape.generation == "jr"
    assert read_name("Queen of Mauritius").words == ("queen", "of", "mauritius")
    assert read_name("李明教授").core == "李明"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Comet Engine 2", "Comet Engine 3"),
        ("Apollo XI", "Apollo XII"),
        ("First World War", "Second World War"),
        ("North Dakota", "South Dakota"),
        ("iPhone 15", "iPhone"),
        ("Vitamin B", "Vitamin C"),
        ("第一中学", "第二中学"),
        ("辽宁东路", "辽宁西路"),
    ],
)
def test_marks_distinguish_names(one, other):
    assert read_name(one).marks != read_name(other).marks


def test_ways_to_write_a_number_are_one_mark():
    assert read_name("Louis XIV").marks == read_name("Louis 14").marks == {"14"}
    assert read_name("2nd Fleet").marks == read_name("Second Fleet").marks


@pytest.mark.parametrize(
    ("one", "other", "agree"),
    [
        ("John Smith", "J. Smith", True),
        ("John R. Smith", "John Ronald Smith", True),
        ("J.R.R. Tolkien", "John Ronald Reuel Tolkien", True),
        ("George W. Bush", "George H. W. Bush", True),
        ("George W. Bush", "George H. Bush", False),
        ("John Smith", "James Smith", False),
        ("Smith, John", "John Smith", True),
    ],
)
def test_given_names_agree_where_one_can_be_short_for_the_other(one, other, agree):
    first, second = (read_person(read_name(name), "PERSON") for name in (one, other))
    assert first.surname == second.surname
    assert given_agree(first, second) is given_agree(second, first) is agree


@pytest.mark.parametrize(
    "name", ["Plato", "House of Cards", "Smith and Wesson", "中国电信", "R2 D2"]
)
def test_partial_names_of_persons_are_ignored(name):
    assert read_person(read_name(name), "PERSON") is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("World Health Organization", "World Health Organisation"),
        ("Tchaikovsky", "Tchaikovski"),
        ("Ramez Idriss", "Ramey Idriss"),
        ("video games", "video game"),
        ("Copenhaguen City Hall", "City Hall Copenhagen"),
        ("史蒂夫乔布斯", "史蒂夫乔伯斯"),
    ],
)
def test_spellings_of_one_name(one, other):
    assert are_spellings(read_name(one), read_name(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Stars", "Start"),
        ("Korea", "Korean"),
        ("Apache Spark", "Apache Spark SQL"),
        ("Synchronous Engine", "Asynchronous Engine"),
        ("杭州分公司", "温州分公司"),
        ("数据中心", "数据中心产业"),
    ],
)
def test_other_names(one, other):
    assert not are_spellings(read_name(one), read_name(other))


def test_plurals():
    assert is_plural("story", "stories")
    assert is_plural("boxes", "box")
    assert not is_plural("as", "a")


@cache
def slow_distance(one, other):
    if not one or not other:
        return len(one) + len(other)
    ways = [
        slow_distance(one[1:], other) + 1,
        slow_distance(one, other[1:]) + 1,
        slow_distance(one[1:], other[1:]) + (one[0] != other[0]),
    ]
    if one[:2] == other[1::-1] and len(one) > 1 and len(other) > 1:
        ways.append(slow_distance(one[2:], other[2:]) + 1)
    return min(ways)


@given(st.text("abc", max_size=7), st.text("abc", max_size=7), st.integers(0, 4))
def test_the_edit_distance_matches_its_definition(one, other, most):
    assert edit_distance(one, other, most=most) == min(slow_distance(one, other), most + 1)


@given(st.text(max_size=30))
def test_any_text_has_parts(name):
    shape = read_name(name)
    assert read_name(name) == shape
    assert all(shape.words)
    read_person(shape, "")
