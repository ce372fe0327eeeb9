"""Every constant of retrieval, in one place, one setting for all data."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TextWeights:
    """How the evidence of a chunk's own text adds up to its base score.

    The base is ``(cosine + best_sentence x best sentence's cosine) / (1 + best_sentence)
    + coverage x covered question terms + bm25 x BM25 / best BM25``. BM25 gathers evidence with each
    question term it matches while a cosine does not, so its weight grows with the question:
    ``bm25 x max(1, terms / long_question) ** bm25_growth``, at most ``bm25_most``.
    """

    best_sentence: float = 1.0
    coverage: float = 0.25
    bm25: float = 0.2
    bm25_growth: float = 1.5
    bm25_most: float = 0.8
    long_question: float = 9.0
    """Content terms above which a question describes what it wants rather than names it."""
    foreign: float = 0.95
    familiar: float = 1.25
    """BM25 counts by how much of the question's information the index holds, and the best text
    candidate covers: nothing if these sum up to ``foreign``, in full from ``familiar`` on."""
    trust_candidates: int = 20
    """Text candidates among which the one that covers most is sought."""
    bm25_alone: float = 0.6
    """Weight of BM25 when the question cannot be embedded; coverage then weighs the rest. It grows
    with the question in the same way, up to 1."""
    dense_candidates: int = 100
    text_candidates: int = 200
    text_pool: int = 50
    """Of the text candidates, how many enter the pool by themselves."""


@dataclass(frozen=True, slots=True)
class LinkWeights:
    """How entities named in the question count."""

    named: float = 0.7
    """Score of a chunk that is wholly about a rare entity named in the question."""
    lower_case: float = 0.3
    """Trust in a name that the question writes without a capital, when it writes others with."""
    spread: float = 0.5
    """A chunk shares the link with the n chunks about the entity at least as much: n ** -spread."""
    title: float = 0.95
    """Aboutness from which a chunk counts as the entity's own page."""
    known: float = 0.8
    """Aboutness from which an entity counts as described somewhere."""
    elsewhere: float = 0.5
    """Share of its base score that a chunk loses for naming none of the question's own pages'
    entities: their page explains those words better (explaining away)."""
    half_length: float = 14.0
    """Content terms of a question for which links of all kinds, bridges among them, count half.
    A long question describes each passage it wants, and what it names along the way misleads."""
    length_power: float = 10.0
    """How sharply they fall: 1 / (1 + (terms / half_length) ** length_power)."""
    candidates: int = 20
    fan: int = 200


@dataclass(frozen=True, slots=True)
class BridgeWeights:
    """How sentences lead over entities to the chunks that explain them."""

    strength: float = 2.2
    sources: int = 5
    entities: int = 60
    sentences: int = 3
    targets: int = 50
    scored_targets: int = 150
    rarity: float = 1.0 / 3.0
    """Exponent of an entity's inverse document frequency."""
    aboutness: float = 0.4
    """Exponent of how much the target is about the entity."""
    spread: float = 0.25
    """As in LinkWeights."""
    rest: float = 1.0
    """Weight of the target's cosine with what the question asks beside the names it gives."""
    unstated: float = 0.8
    """Worth of an entity in a source that a model has read without stating a fact of it there: what
    it connects leads on, what stands beside it less so. 1 counts all alike."""
    same_document: float = 0.25
    """Worth of a bridge between two chunks of one document, which goes on speaking of the same
    things: that its chunks share an entity says little."""
    support: float = 0.2
    """How much a source gains from the best path that leaves it."""


@dataclass(frozen=True, slots=True)
class Weights:
    """All constants of retrieval."""

    text: TextWeights = TextWeights()
    link: LinkWeights = LinkWeights()
    bridge: BridgeWeights = BridgeWeights()


DEFAULT_WEIGHTS = Weights()
