"""Which retrievers to measure, as a person lists them."""

from __future__ import annotations

import re

from knotwork.errors import UnknownName
from knotwork.retrieval.grammar import is_expression
from knotwork.retrieval.registry import retriever_names

_OUTSIDE_PARENTHESES = re.compile(r",(?![^(]*\))")


def read_retrievers(listed: str) -> list[str]:
    """Return the names and specifications that commas part, each once.

    Raises UnknownName for one that is neither, and for none at all.
    """
    names = [name.strip() for name in _OUTSIDE_PARENTHESES.split(listed)]
    names = list(dict.fromkeys(name for name in names if name)) or [""]
    for name in names:
        if name not in retriever_names() and not is_expression(name):
            raise UnknownName("retriever", name, retriever_names())
    return names
