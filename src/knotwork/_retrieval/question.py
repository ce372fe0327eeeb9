"""Analyse a question: corrected spelling, weighted terms, named entities, vectors."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from knotwork._inference.chat import ChatRequest
from knotwork._inference.embedder import Embedder
from knotwork._inference.own_prompts import prompts_of
from knotwork._inference.prompt_files import fill_prompt
from knotwork._questions.reading import reading_of
from knotwork._retrieval.chunk_entities import chunks_about, read_merged_entities_of
from knotwork._retrieval.weights import DEFAULT_WEIGHTS, Weights
from knotwork._stores.base import FloatMatrix, Scored, Store
from knotwork._stores.corrections import in_effect, read_corrections
from knotwork._stores.resolutions import RULES_META
from knotwork._text.languages import is_read
from knotwork._text.names import name_candidates
from knotwork._text.terms import content_terms, terms
from knotwork.errors import ModelError
from knotwork.records import ALIAS_RELATION, EdgeType, Entity, Span

if TYPE_CHECKING:
    from spellchecker import SpellChecker


MIN_NAME_CHARACTERS = 4
"""Shorter names in an alphabet are too often common words; Chinese names may have two
characters."""


@dataclass(frozen=True, slots=True)
class EntityLink:
    """An entity named in the question. ``trust`` is below 1 for a name without a capital."""

    entity: Entity
    span: Span
    trust: float
    rarity: float
    about: tuple[Scored, ...]
    terms: NDArray[np.intp]

    @property
    def weight(self) -> float:
        return self.trust * self.rarity


@dataclass(frozen=True, slots=True)
class Question:
    """A question as retrievers see it.

    ``text`` has corrected spelling; ``corrections`` maps misspelt words to their replacements.
    ``terms`` are the distinct content terms, ``weights`` their shares of the information (they sum
    to 1), and ``known`` is the sum of the weights of terms in the index. ``links`` are the longest
    entity names in the question, ``named`` the ids of all entities it names. ``vector`` is its
    embedding and ``rest`` that of the question without the names of ``links``; both are None, and
    ``embedder`` (the name of their model) is empty, if it cannot be embedded.
    """

    text: str
    terms: tuple[str, ...]
    weights: NDArray[np.float64]
    known: float = 1.0
    vector: FloatMatrix | None = None
    rest: FloatMatrix | None = None
    embedder: str = ""
    links: tuple[EntityLink, ...] = ()
    named: frozenset[str] = field(default_factory=frozenset)
    chunk_count: int = 0
    corrections: Mapping[str, str] = field(default_factory=dict)

    def rarity(self, chunk_count: int) -> float:
        """Return the relative inverse document frequency of an entity, from 0 to 1."""
        return rarity(chunk_count, self.chunk_count)


def rarity(document_frequency: int, items: int) -> float:
    """Return log(1 + N / df) / log(1 + N): 1 for a single occurrence, near 0 if it is
    everywhere.
    """
    if items <= 0:
        return 1.0
    return math.log1p(items / max(document_frequency, 1)) / math.log1p(items)


def can_embed(embedder: Embedder | None, text: str) -> bool:
    """Return True if the embedder supports the language of the text."""
    return embedder is not None and is_read(text, getattr(embedder, "languages", None) or ())


def read_question(
    text: str,
    *,
    store: Store,
    embedder: Embedder | None = None,
    weights: Weights = DEFAULT_WEIGHTS,
    link: bool = True,
) -> Question:
    """Analyse a question against an index; with ``link``, find the entities it names.

    The embedder is asked outside `Store.reading`.
    """
    with store.reading():
        text, renamed = name_as_documents(text, store)
        text, corrections = correct_spelling(text, store)
        corrections = renamed | corrections
        terms = reading_of(text).terms
        chunk_count = store.documents.chunk_count()
        index = store.texts("chunk")
        frequencies = index.document_frequencies(terms)
        items = max(index.count(), 1)
        shares = np.array([math.log1p(items / frequencies.get(term, 1)) for term in terms])
        shares = shares / total if (total := shares.sum()) else shares
        held = np.array([term in frequencies for term in terms], dtype=np.bool_)
        links, named = (
            _find_links(text, terms, store, weights, chunk_count) if link else ((), frozenset())
        )
    vector = rest = None
    if can_embed(embedder, text):
        assert embedder is not None
        rest_of = text  # without the names of entities that are described in the index
        for named_by in sorted(links, key=lambda each: -each.span.start):
            about, span = named_by.about, named_by.span
            if named_by.trust == 1.0 and about and about[0].score >= weights.link.known:
                rest_of = rest_of[: span.start] + rest_of[span.end :]
        texts = list(dict.fromkeys([text, " ".join(rest_of.split()) or rest_of]))
        both = require_vectors(embedder.embed(texts), embedder)
        vector, rest = both[0], both[-1]
    return Question(
        text=text,
        terms=terms,
        weights=shares,
        known=float(shares[held].sum()),
        vector=vector,
        rest=rest,
        embedder=embedder.name if embedder is not None and vector is not None else "",
        links=links,
        named=named,
        chunk_count=chunk_count,
        corrections=corrections,
    )


def require_vectors(rows: FloatMatrix, embedder: Embedder) -> FloatMatrix:
    """Return the rows of questions. Raises ModelError if the embedder has no vector for one."""
    if not (np.isfinite(rows).all() and rows.any(axis=1).all()):
        raise ModelError(f"`{embedder.name}` has no vector for the question.")
    return rows


def _find_known(text: str, store: Store) -> tuple[dict[str, Span], dict[str, Entity]]:
    """Return the places of what may be names in a text, and the entities among them, by form."""
    spans = {
        form: span
        for form, span in name_candidates(text)
        if len(form) >= MIN_NAME_CHARACTERS or not form.isascii()
    }
    return spans, store.graph.lookup(list(spans))


def _longest(known: Mapping[str, Span]) -> list[str]:
    """Return the names that are not inside another one."""
    return [
        form
        for form, span in known.items()
        if not any(other != span and other.contains(span) for other in known.values())
    ]


def _find_links(
    text: str, terms: Sequence[str], store: Store, weights: Weights, chunk_count: int
) -> tuple[tuple[EntityLink, ...], frozenset[str]]:
    spans, found = _find_known(text, store)
    longest = _longest({form: spans[form] for form in found})
    about = chunks_about(store, [found[form].id for form in longest], fan=weights.link.fan)
    places = {term: index for index, term in enumerate(terms)}
    has_case = trusts_case(text)
    links = []
    for form in longest:
        entity, span = found[form], spans[form]
        surface = text[span.start : span.end]
        inside = [places[term] for term in dict.fromkeys(content_terms(surface)) if term in places]
        certain = not has_case or looks_like_a_name(surface, first=span.start == 0)
        links.append(
            EntityLink(
                entity=entity,
                span=span,
                trust=1.0 if certain else weights.link.lower_case,
                rarity=rarity(entity.chunk_count, chunk_count),
                about=tuple(about.get(entity.id, ())),
                terms=np.array(inside, dtype=np.intp),
            )
        )
    return tuple(links), frozenset(entity.id for entity in found.values())


def ask_by_aliases(text: str, store: Store, *, most: int) -> Iterator[tuple[str, str]]:
    """Yield the text with an alias in place of the name of an entity, and a note.

    There are at most ``most``, the most frequent aliases first.
    """
    spans, found = _find_known(text, store)
    has_case = trusts_case(text)
    sure = {
        found[form].id: spans[form]
        for form in _longest({form: spans[form] for form in found})
        if not has_case or looks_like_a_name(text[slice(*spans[form])], first=not spans[form].start)
    }
    if not sure:
        return
    merged = read_merged_entities_of(store, list(sure))
    named = {(e, key): None for key in sure for e in merged.members(key)}
    if RULES_META not in store.meta():  # names were not compared yet
        edges = store.graph.neighbours(list(sure), types=[EdgeType.RELATES])
        for key, edge in ((key, e) for key, held in edges.items() for e in held):
            if edge.relation == ALIAS_RELATION:
                named[edge.target if edge.source == key else edge.source, key] = None
    aliases = store.graph.entities({e for e, _ in named if e not in sure})
    held = (pair for pair in named if pair[0] in aliases)
    ranked = sorted(held, key=lambda pair: (-aliases[pair[0]].chunk_count, pair))
    for entity, key in ranked[:most]:
        alias, span = aliases[entity].name, sure[key]
        note = (
            f"Searched for \u201c{alias}\u201d, another name of \u201c{text[slice(*span)]}\u201d."
        )
        yield f"{text[: span.start]}{alias}{text[span.end :]}", note


def trusts_case(text: str) -> bool:
    """Return True if capitals show what is a name: some words have them, and not all."""
    return not text.isupper() and any(c.isupper() for word in text.split()[1:] for c in word)


def looks_like_a_name(surface: str, *, first: bool) -> bool:
    """Return True for words with capitals or digits, or of a script without capitals."""
    words = surface.split()
    if first and len(words) == 1 and surface.isascii():
        return False  # every question starts with a capital
    return any(not c.isascii() or c.isupper() or c.isdigit() for word in words for c in word[:1])


FEWEST_LETTERS = 5
"""Shorter words are too often one letter away from another word."""
FEWEST_CHUNKS = 2
"""Minimum number of chunks that contain the replacement of a misspelt word."""
SPELLING_LANGUAGES = frozenset({"en", "de", "fr", "es", "it", "pt", "nl"})
"""Languages that both `detect_language` and the dictionaries of pyspellchecker support."""
_WORD = re.compile(r"(?<![^\W_])(?<!['’])[^\W\d_]+(?![^\W_])(?!['’]\w)")


def name_as_documents(text: str, store: Store) -> tuple[str, dict[str, str]]:
    """Return the text with the names that documents give renamed entities, as {written: name}."""
    found: dict[str, str] = {}
    for correction in in_effect(read_corrections(store)).values():
        name = correction.name
        if correction.kind != "rename" or not correction.was or name.lower() not in text.lower():
            continue
        start, end = (
            r"(?<!\w)" if name[0].isascii() else "",
            r"(?!\w)" if name[-1].isascii() else "",
        )
        written = re.compile(f"{start}{re.escape(name)}{end}", re.IGNORECASE)
        text, count = written.subn(correction.was.replace("\\", r"\\"), text)
        found |= {name: correction.was} if count else {}
    return text, found


def correct_spelling(text: str, store: Store, *, names: bool = False) -> tuple[str, dict[str, str]]:
    """Return the text with corrected spelling, and the corrections as {written: replacement}.

    A word that neither the index nor the dictionary of its language contains is replaced by the
    most frequent word of the index at an edit distance of one (a letter deleted, inserted,
    replaced, or two adjacent letters swapped: Damerau, CACM 1964), if there is one. Words with
    capitals are only corrected if ``names`` is True: an unknown name is more often new than
    misspelt.
    """
    index = store.texts("chunk")
    # Without ``names``, words in lower case, the first letter of the question aside.
    words = {
        found[0]: None
        for found in _WORD.finditer(text)
        if len(found[0]) >= FEWEST_LETTERS and (names or found[0][found.start() == 0 :].islower())
    }
    term_of = {word: found[0] for word in words if len(found := terms(word)) == 1}
    # One reading is for the weights of the terms as well, which stores keep by generation.
    held = index.document_frequencies({*term_of.values(), *reading_of(text).terms})
    unknown = [word for word, term in term_of.items() if term not in held]
    language = reading_of(text).language
    if not unknown or language not in SPELLING_LANGUAGES:
        return text, {}
    dictionary = _dictionary(language)
    corrections = {
        word: meant
        for word in unknown
        if word.lower() not in dictionary and (meant := _meant(word, dictionary, store))
    }
    return _WORD.sub(lambda found: corrections.get(found[0], found[0]), text), corrections


def _meant(word: str, dictionary: SpellChecker, store: Store) -> str:
    """Return the most frequent word of the index at an edit distance of one, or ""."""
    slips = dictionary.edit_distance_1(word.lower())
    found = {slip: own[0] for slip in slips if len(own := terms(slip)) == 1}
    # An inflected form must be in the dictionary, because a stem matches many non-words.
    real = {slip: term for slip, term in found.items() if slip == term or slip in dictionary}
    held = store.texts("chunk").document_frequencies(set(real.values()))
    best = max(
        real, key=lambda slip: (held.get(real[slip], 0), slip in dictionary, slip), default=""
    )
    if not best or held.get(real[best], 0) < FEWEST_CHUNKS:
        return ""
    return best.capitalize() if word[0].isupper() else best


@cache
def _dictionary(language: str) -> SpellChecker:
    from spellchecker import SpellChecker

    return SpellChecker(language=language, distance=1)


def request_about(
    question: str,
    room: str,
    task: str,
    model: object,
    /,
    *,
    stage: str,
    output_tokens: int,
    **blanks: str,
) -> ChatRequest:
    """Return the request of a task; ``room`` is the package with its prompt (`fill_prompt`)."""
    language = reading_of(question).language
    messages = fill_prompt(room, task, language, blanks, prompts_of(model))
    return ChatRequest(messages, max_output_tokens=output_tokens, stage=stage)
