"""Read from the words of a question alone what it asks to be summarised or counted.

Forms are anchored at both ends of the question, so that one for a fact is hardly ever taken for one
about the whole. Where a form holds only if it names a document ("What is Emma about?"), the scope
is not sure, and is dropped without such a document.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from knotwork.text.characters import HAN

if TYPE_CHECKING:
    from knotwork.synthesis.overviews.scopes import Scope

_LONGEST = 240
_HAN_TEXT = re.compile(f"[{HAN}]")


def read_scope(question: str) -> Scope | None:
    """Return what a question asks to be summarised or counted; None for any other question."""
    text = " ".join(question.split())
    if not text or len(text) > _LONGEST:
        return None
    # Every question is read, and the forms of a language take a while to compile.
    if _HAN_TEXT.search(text):  # the title in "总结一下《Almanac》" may be longer than the rest
        from knotwork.synthesis.overviews.chinese import read_chinese

        if scope := read_chinese(text):
            return scope
    from knotwork.synthesis.overviews.english import read_english

    return read_english(text)


def needs_communities(question: str) -> bool:
    """Return whether the answer to a question is made from communities."""
    scope = read_scope(question)
    return scope is not None and scope.needs_communities


def strip_text_nouns(phrase: str) -> str:
    """Return a phrase without the words for texts: "the travel chapter" is "travel"."""
    if _is_chinese(phrase):
        from knotwork.synthesis.overviews.chinese import strip_chinese

        return strip_chinese(phrase)
    from knotwork.synthesis.overviews.english import strip_english

    return strip_english(phrase)


def _is_chinese(text: str) -> bool:
    return len(_HAN_TEXT.findall(text)) * 3 >= len(text) > 0
