"""Expected strings, found in a printed answer as whole words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knotwork._extensions.evaluation.questions import (
    normalize_as_printed,
    states,
    states_all,
)


@pytest.mark.parametrize(
    ("text", "wanted", "stated"),
    [
        ("The default is one second (1s).", "1s", True),
        ("It may have 90 entries.", "9", False),
        ("It selects 1/32nd of it.", "1/32", False),
        ("It selects 1/32 of it.", "1/32", True),
        ("It selects 132 of it.", "1/32", False),
        ("Set MAX_CONNECTIONS first.", "connections", True),
        ("About 3% of it.", "3%", True),
        ("About 3 % of it.", "3%", False),
        ("In April\n of 2007 [1] it closed.", "april of 2007", True),
        ("The value is 2 [3] GB.", "2 gb", True),
        ("官方提供为期9 个月的更新。", "9个月", True),
        ("是由韓國Nexon開發的遊戲。", "nexon", True),
        ("ＳＩＧＩＮＴ 信号", "SIGINT", True),
        ("Die Größenordnung stimmt.", "Größe", False),
        ("Die Größe stimmt.", "größe", True),
        ("Files live in ~/.config/ there.", ".config", True),
        ("anything", "", False),
        ("anything", "[1]", False),
    ],
)
def test_a_string_counts_as_whole_words(text, wanted, stated):
    assert states(text, [wanted]) is stated


def test_any_alternative_states_a_part_and_every_part_is_needed():
    text = "Settings go to ~/.config and caches to ~/.cache."
    assert states(text, ["XDG_CONFIG_HOME", ".config"])
    assert states_all(text, [[".config"], ["XDG_CACHE_HOME", ".cache"]])
    assert not states_all(text, [[".config"], [".local"]])
    assert states_all(text, [])


PLAIN = st.text(st.characters(codec="ascii", exclude_characters="["), max_size=40)


@given(PLAIN, PLAIN, PLAIN)
def test_a_string_between_line_breaks_is_found(before, wanted, after):
    assert states(f"{before}\n{wanted}\n{after}", [wanted]) is bool(normalize_as_printed(wanted))


@given(st.from_regex(r"[a-z0-9]{1,6}", fullmatch=True), st.sampled_from("az09"))
def test_a_string_inside_a_longer_word_is_not_found(wanted, letter):
    assert not states(f"({letter}{wanted})", [wanted])
    assert not states(f"({wanted}{letter})", [wanted])
