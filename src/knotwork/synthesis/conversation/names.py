"""The names that are spoken of in a turn of a conversation, in the order of the text."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from knotwork.records import Span
from knotwork.retrieval.question import Link, read_question
from knotwork.retrieval.weights import DEFAULT_WEIGHTS
from knotwork.stores.base import Store

_WORD = r"(?:[A-Z]\.(?=\s)|[A-Z](?:[\w'’-]|\.(?=\w))*)"
_CAPITALS = re.compile(
    rf"{_WORD}(?:\s+(?:(?:of|the|de|van|von|for)\s+)*(?:{_WORD}|[0-9][\w'’-]*))*|《[^》]+》"
)
_SENTENCE_START = re.compile(r"(?:^|[.!?:;…]|\n)\W*$")
_LOOK_BACK = 20
_POSSESSIVE = re.compile(r"['’]s?$")
_MARK = re.compile(r"\[\d+\]")
_OPENING_WORDS = (
    "what who whom whose when where which why how is are was were do does did can could will would"
    " and but or in on at by for from the a an it its he she they each since this that these those"
    " there tell show list find give explain describe compare summarize then so yes no thanks"
)
_NO_NAMES = frozenset(_OPENING_WORDS.split())
_NOT_SPOKEN_OF = frozenset({"DATE", "NUMBER"})


class SpokenName(NamedTuple):
    """A name as it was said, the type of its entity ("" where none is known), and where."""

    name: str
    type: str = ""
    start: int = 0

    @property
    def is_proper(self) -> bool:
        """Whether it is written as a name is: with a capital, or in a script without any."""
        return any(c.isupper() or not c.isascii() for c in self.name)


NameReader = Callable[[str], list[SpokenName]]
"""Returns the names in a text, each once, in their order."""


def capital_names(text: str) -> list[SpokenName]:
    """Return the names in a text by their capitals, or by 《》; no first word alone."""
    bare = _MARK.sub(lambda match: " " * len(match[0]), text)
    found: dict[str, SpokenName] = {}
    for match in _CAPITALS.finditer(bare):
        start, words = match.start(), match[0].split()
        while words and words[0].lower() in _NO_NAMES:
            start += len(words[0]) + 1
            words = words[1:]
        name = _POSSESSIVE.sub("", " ".join(words))
        before = bare[max(start - _LOOK_BACK, 0) : start]
        is_word = len(words) == 1 and _SENTENCE_START.search(before)
        if name and (name[0] == "《" or not is_word):
            found.setdefault(name, SpokenName(name, "WORK" if name[0] == "《" else "", start))
    return list(found.values())


def index_names(store: Store) -> NameReader:
    """Return a reader that knows the entities of an index, and their types, beside capitals."""

    def read(text: str) -> list[SpokenName]:
        question = read_question(text, store=store, embedder=None, weights=DEFAULT_WEIGHTS)
        known = [
            SpokenName(_surface(text, link.span), link.entity.type, link.span.start)
            for link in question.links
            if link.trust == 1.0
        ]
        pages = {link.span.start for link in question.links if _has_page(link)}
        known = [name for name in known if name.is_proper or name.start in pages]
        others = capital_names(text)
        kept = [name for name in known if not any(_holds(other, name) for other in others)]
        kept += [other for other in others if not any(_meet(other, name) for name in kept)]
        found: dict[str, SpokenName] = {}
        for name in sorted(kept, key=lambda name: name.start):
            if name.type not in _NOT_SPOKEN_OF:
                found.setdefault(name.name, name)
        return list(found.values())

    return read


def _has_page(link: Link) -> bool:
    """Return whether some passage is about an entity: so it is no word of every day."""
    return bool(link.about) and link.about[0].score >= DEFAULT_WEIGHTS.link.known


def _surface(text: str, span: Span) -> str:
    return _POSSESSIVE.sub("", text[span.start : span.end])


def _holds(outer: SpokenName, inner: SpokenName) -> bool:
    """Return whether a name is a part of a longer one."""
    return len(outer.name) > len(inner.name) and _meet(outer, inner)


def _meet(one: SpokenName, other: SpokenName) -> bool:
    return one.start < other.start + len(other.name) and other.start < one.start + len(one.name)
