"""No cell that is written for a spreadsheet is a formula, and every text comes back."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knotwork._text.visible import neutralize_cell, restore_cell

texts = st.text(st.sampled_from("='+-@\t\r\n \u00a0\u200b\ufeff\x00＝－1.e;a温")) | st.text()


def is_formula(cell: str) -> bool:
    """Judge a cell as a careful spreadsheet does: past everything that shows nothing."""
    shown = "".join(c for c in cell if unicodedata.category(c) not in {"Cc", "Cf", "Zs"})
    is_sign = unicodedata.normalize("NFKC", shown[:1]) in {"=", "+", "-", "@"}
    try:
        float(cell)
    except ValueError:
        return is_sign or cell[:1] in {"\t", "\r", "\n"}
    return False


@given(texts)
def test_no_text_is_a_formula_and_every_text_comes_back(text):
    cell = neutralize_cell(text)
    assert not is_formula(cell)
    assert restore_cell(cell) == text
    assert cell in {text, f"'{text}"}


@given(st.floats(allow_nan=False, allow_infinity=False) | st.integers())
def test_numbers_stay_numbers(number):
    assert neutralize_cell(str(number)) == str(number)


@pytest.mark.parametrize("text", ["-3.5", "+1", "-.5e-7", "", "'quoted'", "a=b", "3-4", "温青岚"])
def test_harmless_text_is_kept(text):
    assert neutralize_cell(text) == text
