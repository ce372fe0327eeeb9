"""Raised figures, struck and hidden text, and numbers of lists, in formats other than Word's."""

import pytest
from tests.faults.small_files import read


@pytest.mark.parametrize(
    ("held", "text"),
    [
        (r"It costs 30{\super 1} crowns.", "It costs 30 [^1] crowns."),
        (r"It costs 30\super 1\nosupersub  crowns.", "It costs 30 [^1] crowns."),
        (r"It costs 30{\up6 1} crowns.", "It costs 30 [^1] crowns."),
        (r"It costs 30\up6 1\up0  crowns.", "It costs 30 [^1] crowns."),
        (r"It costs {\b 30}{\b\super 1}\plain  crowns.", "It costs 30 [^1] crowns."),
        (r"{\up2 It} costs {\dn1 30}.", "It costs 30."),
        (r"2{\super 10}, 40 m{\super 2}, H{\sub 2}O, H{\dn4 2}O", "2^10, 40 m², H2O, H2O"),
        (r"\'b9\'b2 30{\super\f0 1}.", "¹² 30 [^1]."),
        (
            r"30{\super\chftn{\footnote \super\chftn\nosupersub  Paid.}} x",
            "30 [^1] x\n\n[^1] Paid.",
        ),
        (r"30 {\strike 25 }{\striked1 20 }{\v 15 }{\strike0 10} x", "30 10 x"),
        (r"30 \strike 25 \strike0 20 \striked1 15 \striked0 x", "30 20 x"),
        (r"30 \deleted 25 \deleted0 20{\deleted 15} x", "30 20 x"),
        (r"30 {\deleted 25\par}x\par Next.", "30 x\n\nNext."),
        (r"30 {\deleted 25{\footnote Gone.}}x", "30 x"),
        (
            r"Name\cell a\cell\row 30{\super 1}\cell {\strike 25}20\cell\row",
            "| Name | a |\n| --- | --- |\n| 30 [^1] | 20 |",
        ),
    ],
)
def test_rich_text_has_raised_figures_and_no_struck_text(held, text):
    assert read("a.rtf", rf"{{\rtf1\ansi {held}\par}}").text == text
