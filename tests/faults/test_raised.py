"""Raised and lowered text of a line, apart from the word or number before it."""

import pytest

from knotwork._extensions.formats.raised import write_raised

from .small_files import read


@pytest.mark.parametrize(
    ("before", "raised", "after", "right"),
    [
        ("The fee is 30", "1", " crowns", "The fee is 30 [^1] crowns"),
        ("The fee is 1,250.50", "12", " crowns", "The fee is 1,250.50 [^12] crowns"),
        ("The fee is 30", "1)", " crowns", "The fee is 30 [^1] crowns"),
        ("The fee is 30", "a", " crowns", "The fee is 30 [^a] crowns"),
        ("It has 30", "1,2", " berths", "It has 30 [^1,2] berths"),
        ("It has 30", "*", " berths", "It has 30* berths"),
        ("Founded in 1911", "[4]", ".", "Founded in 1911 [^4]."),
        ("The lock is at Ulm.", "3", " It", "The lock is at Ulm.[^3] It"),
        ("The lock", "1", " is", "The lock [^1] is"),
        ("泊位费为30", "①", "克朗", "泊位费为30 [^①]克朗"),
        ("冬季泊位", "1", "的费用", "冬季泊位 [^1]的费用"),
        ("", "1", " Without tax", "[^1] Without tax"),
        ("3 x 10", "5", " litres", "3 x 10^5 litres"),
        ("10", "-3", "", "10^-3"),
        ("10", "−3", " mol", "10^−3 mol"),
        ("holds 2", "10", " pallets", "holds 2^10 pallets"),
        ("x = 5", "2", " m", "x = 5^2 m"),
        ("area of 40 m", "2", "", "area of 40 m²"),
        ("面积40平方米或30米", "2", "", "面积40平方米或30米²"),
        ("9.81 m s", "-2", "", "9.81 m s^-2"),
        ("E = mc", "2", "", "E = mc^2"),
        ("x", "2", " + y", "x^2 + y"),
        ("x", "n+1", "", "x^(n+1)"),
        ("x1", "2", "", "x1^2"),
        ("CO2", "2", "", "CO2 [^2]"),
        ("(a + b)", "2", "", "(a + b)^2"),
        ("(since 2019)", "2", "", "(since 2019) [^2]"),
        ("2", "n", " states", "2^n states"),
        ("the 1", "st", " of May", "the 1st of May"),
        ("le XX", "e", " siècle", "le XXe siècle"),
        ("le 2", "e", " quai", "le 2e quai"),
        ("20", "o", "C", "20°C"),
        ("M", "lle", " Dupont", "Mlle Dupont"),
        ("HarborFlow", "TM", " is", "HarborFlow TM is"),
        ("Ca", "2+", "", "Ca2+"),
        ("dated by ", "14", "C", "dated by 14C"),
        ("it takes 1", "1", "/", "it takes 1 1/"),
        ("for 19", "99", " € a month", "for 19.99 € a month"),
        ("for €19", "99", " a month", "for €19.99 a month"),
        ("for CHF 1,250", "50", "", "for CHF 1,250.50"),
        ("für 1.250", "50", " EUR", "für 1.250,50 EUR"),
        ("for 19", "99 €", " a month", "for 19.99 € a month"),
        ("à 19", "€99", " par mois", "à 19.99 € par mois"),
        ("The fee of €19.50", "12", " is due", "The fee of €19.50 [^12] is due"),
        ("The fee of 19.50", "12", " € is due", "The fee of 19.50 [^12] € is due"),
        ("open 8", "00", " to", "open 8:00 to"),
        ("8:00 to 17", "30", " Uhr", "8:00 to 17:30 Uhr"),
        ("at 17", "30", " h", "at 17:30 h"),
        ("at 15", "h", "30", "at 15h30"),
        ("for 15", "h", " or so", "for 15 [^h] or so"),
        ("in 2024", "(e)", " it", "in 2024 [^e] it"),
        ("It has 30", "1, 2", " berths", "It has 30 [^1,2] berths"),
        ("It has 30", "1 – 3", " berths", "It has 30 [^1–3] berths"),
        ("f", "(n)", " is", "f^(n) is"),
        ("Berths 17", "30", " are", "Berths 17 [^30] are"),
    ],
)
def test_a_raised_mark_stays_apart_from_the_word_before_it(before, raised, after, right):
    assert before + write_raised(before, raised, after=after) + after == right


@pytest.mark.parametrize(
    ("before", "lowered", "right"),
    [
        ("H", "2", "H2"),
        ("CO", "2", "CO2"),
        ("V", "max", "Vmax"),
        ("x", "i", "x_i"),
        ("x", "i+1", "x_(i+1)"),
        ("101", "2", "101_2"),
        ("1/", "2", "1/2"),
    ],
)
def test_a_lowered_figure_stays_with_the_letters_before_it(before, lowered, right):
    assert before + write_raised(before, lowered, lowered=True) == right


def test_a_mark_that_is_a_link_to_a_note_is_one_behind_a_unit_and_a_power_of_ten():
    assert write_raised("an area of 10", "2", is_note=True) == " [^2]"
    assert write_raised("a draught of 4 m", "2", is_note=True) == " [^2]"


def test_prices_and_times_of_web_pages_and_of_markdown():
    price = "<p><span>19</span><sup>99</sup><span>€</span>"
    times = "from 8<sup>00</sup> to 17<sup>30</sup> Uhr</p>"
    assert read("a.html", f"{price} {times}").text == "19.99€ from 8:00 to 17:30 Uhr"
    line = (
        "It is 19<sup>99</sup> € at 15<sup>h</sup>30 since 2024<sup>(e)</sup> and 3<sup>1, 2</sup>"
    )
    assert read("a.md", line).text == "It is 19.99 € at 15h30 since 2024 [^e] and 3 [^1,2]"
