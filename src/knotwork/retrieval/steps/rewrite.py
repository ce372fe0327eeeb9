"""Rewriting: the question as the index would say it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from string import ascii_lowercase

from knotwork.errors import ModelError, UnknownName
from knotwork.inference.base import Embedder
from knotwork.inference.chat import ChatModel
from knotwork.records import Evidence, Query
from knotwork.retrieval.base import Retriever
from knotwork.retrieval.steps.asking import WAYS, ask_rewriting, require_model
from knotwork.stores.base import Store
from knotwork.text.terms import STOP_WORDS, content_terms

SHORTEST_WORD = 5
LONGEST_WORD = 20
FEWEST_PASSAGES = 2
"""Passages that must hold the word that a misspelt one is taken for."""

_POLITE = re.compile(
    r"^\s*(?:(?:hi|hello|hey)\b[,! ]*)?(?:please[, ]+)?"
    r"(?:(?:can|could|would|will) you (?:please )?(?:tell|explain to|show|give|help)(?: me)?"
    r"|(?:i(?:'d| would)? (?:like|want|need) to (?:know|find out|understand))"
    r"|(?:do you (?:happen to )?know)|(?:tell me)|(?:i(?:'m| am) wondering))"
    r"\s*(?:about\s+|if\s+)?[,:]?\s*|^\s*(?:你好[，,。！! ]*)?"
    r"(?:请问|請問|麻烦问一下|我想知道|我想问|请告诉我|能不能告诉我|你知道)[，,：:]?\s*",
    re.IGNORECASE,
)
_THANKS = re.compile(r"[\s,.]*(?:please|thanks?(?: you)?|谢谢|謝謝)\s*[.!。！]*\s*$", re.IGNORECASE)
_WORD = re.compile(r"[A-Za-z]+")


class Rewrite:
    """The evidence for the question in better words.

    By ``"rules"`` phrases of politeness go, and a word that stands nowhere in the index becomes the
    most frequent one of the index that is one letter apart (added, lost, changed or two swapped).
    By ``"model"`` a language model writes the question again.
    """

    name = "rewrite"

    def __init__(
        self,
        *,
        store: Store,
        base: Retriever,
        embedder: Embedder | None = None,
        model: ChatModel | None = None,
        by: str = "rules",
    ) -> None:
        if by not in WAYS:
            raise UnknownName("way to rewrite", by, WAYS)
        del embedder
        self._store = store
        self._base = base
        self._model = require_model(model, self.name) if by == "model" else None
        self.requires = base.requires

    def retrieve(self, query: Query) -> Evidence:
        """Return the evidence for the question as it was rewritten, under the question as asked."""
        notes: tuple[str, ...] = ()
        text = query.text
        if self._model is not None:
            try:
                text = ask_rewriting(query.text, self._model)
            except ModelError as error:
                notes = (f"The question was not rewritten: {error.message}",)
        else:
            text = self._correct(without_politeness(query.text))
        evidence = self._base.retrieve(Query(text, query.k))
        trace = (f"Asked as: {text}",) if text != query.text else ()
        return replace(
            evidence,
            query=query,
            trace=(*trace, *evidence.trace),
            notes=(*evidence.notes, *notes),
        )

    def _correct(self, text: str) -> str:
        """Return a text in which words unknown to the index are spelt as it spells them."""
        index = self._store.texts("chunk")
        words = {
            word
            for word in _WORD.findall(text)
            if SHORTEST_WORD <= len(word) <= LONGEST_WORD
            and word.lower() not in STOP_WORDS
            and content_terms(word)
        }
        known = index.document_frequencies({term for word in words for term in content_terms(word)})
        spelt: dict[str, str] = {}
        for word in sorted(words):
            if any(term in known for term in content_terms(word)):
                continue
            terms = {
                term: near
                for near in one_letter_apart(word.lower())
                for term in content_terms(near)
            }
            found = index.document_frequencies(terms)
            usual = {term: count for term, count in found.items() if count >= FEWEST_PASSAGES}
            if usual:
                best = terms[min(usual, key=lambda term: (-usual[term], term))]
                spelt[word] = best.capitalize() if word[0].isupper() else best
        return _WORD.sub(lambda match: spelt.get(match[0], match[0]), text)


def without_politeness(text: str) -> str:
    """Return a question without what is only said to be polite; never nothing."""
    bare = _THANKS.sub("", _POLITE.sub("", text, count=1))
    return bare if content_terms(bare) else text


def one_letter_apart(word: str) -> Iterator[str]:
    """Yield the words that are one change of a letter away; the first letter stays."""
    for place in range(1, len(word) + 1):
        head, tail = word[:place], word[place:]
        if tail:
            yield head + tail[1:]
        if len(tail) > 1:
            yield head + tail[1] + tail[0] + tail[2:]
        for letter in ascii_lowercase:
            if tail:
                yield head + letter + tail[1:]
            yield head + letter + tail
