"""Estimate word-piece tokens without a model, for the sizes of chunks and budgets.

A lower-case Latin word counts one token per ten letters (rounded up), a capitalised one (usually a
name) one per six, capitals one per three, digits one per four, and letters of other scripts one per
two. A Chinese or Japanese character and a punctuation mark count one each.

Calibrated against the tokenizer of all-MiniLM-L6-v2 (an uncased BERT vocabulary) on passages of
Wikipedia, news and novels: the mean error per passage is 3 to 7 % in English and below 1 % in
Chinese; the error of the total is below 5 % and 1 %.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Sequence

_WIDE = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0002ffff"
_LOWER = "a-zß-öø-ÿ"
_UPPER = "A-ZÀ-ÖØ-Þ"
_TOKEN = re.compile(
    rf"[{_LOWER}]{{1,10}}|[{_WIDE}]|[{_UPPER}](?:[{_UPPER}]{{1,2}}|[{_LOWER}]{{0,5}})"
    r"|[0-9]{1,4}|[^\W\d_\x00-\x7f]{1,2}|[^\s\u0300-\u036f]"
)


def count_tokens(text: str) -> int:
    """Return the approximate number of word pieces of ``text``."""
    return len(_TOKEN.findall(text))


def token_starts(text: str) -> Sequence[int]:
    """Return the offset of each token that `count_tokens` counts, in ascending order.

    The offsets are in a compact array, since a large document has millions of them.
    """
    return array("q", (match.start() for match in _TOKEN.finditer(text)))
