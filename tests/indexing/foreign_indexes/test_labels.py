"""Relations get their names from descriptions, and keep them on the way out and in."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knotwork._extensions.graphs.foreign_indexes.labels import (
    describe_relation,
    name_relation,
    plain_type,
    split_relation,
    unnamed_relation,
    written_name,
)

names = st.sampled_from(
    ["Ada Stone", "Night Squad", "BO FINCH", "夜班小队", "艾达", "U.S.", "the Sea"]
)
relations = st.sampled_from(
    ["leads", "is a member of", "works for", "related to", "领导", "相关", "WORKS_FOR", "is in"]
)
descriptions = st.sampled_from(
    [
        "",
        "She took command.",
        "Ada Stone leads the Night Squad.",
        "二人相识。",
        "a: b. c",
        "Ada: x.",
    ]
)


@pytest.mark.parametrize(
    ("description", "relation"),
    [
        ("Ada Stone leads the Night Squad in the dark.", "leads"),
        ("ADA STONE is a member of NIGHT SQUAD", "is a member of"),
        ("Ada Stone and Night Squad work together.", ""),
        ("Ada Stone, who rose early, leads the Night Squad.", ""),
        ("Ada Stone was seen with Bo Finch near the Night Squad.", ""),
        ("Night Squad is led by Ada Stone.", ""),
        ("Ada Stone's rise began in the Night Squad", ""),
        ("Ada Stones leads the Night Squad.", ""),
        ("Ada Stone", ""),
        ("", ""),
    ],
)
def test_the_words_between_two_names_are_the_relation(description, relation):
    assert name_relation("ADA STONE", "NIGHT SQUAD", description) == relation


def test_chinese_names_stand_without_spaces():
    assert name_relation("艾达", "夜班小队", "艾达领导夜班小队。") == "领导"


@given(names, relations, names, descriptions)
def test_a_description_with_its_relation_is_read_back(source, relation, target, description):
    if source == target:
        return
    text = describe_relation(source, relation, target, description)
    found, rest = split_relation(source, target, text)
    assert (found or unnamed_relation(source + target + text), rest) == (relation, description)


@given(st.text(max_size=12), st.text(max_size=12), st.text(max_size=40))
def test_any_text_is_read_without_fault(source, target, description):
    found, rest = split_relation(source, target, description)
    assert rest == description or description.endswith(rest)
    assert found == found.strip()


def test_names_and_types_are_written_as_here():
    assert written_name("DULCE BASE", "The Dulce Base is a base.") == "Dulce Base"
    assert written_name("DULCE BASE", "It is a base.") == "DULCE BASE"
    assert written_name("McKay", "MCKAY is a man.") == "McKay"
    assert [plain_type(t) for t in ("geo", "natural_object", "UNKNOWN", " person ")] == [
        "PLACE",
        "NATURAL OBJECT",
        "",
        "PERSON",
    ]
