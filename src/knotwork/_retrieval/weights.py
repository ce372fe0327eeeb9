"""All constants of retrieval in one place; the same values serve all data."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TextWeights:
    """Weights of the evidence in a chunk's own text, which adds up to its base score.

    The base is ``(cosine + best_sentence x best sentence's cosine) / (1 + best_sentence)
    + coverage x covered question terms + bm25 x BM25 / best BM25``. BM25 grows with each matching
    question term while a cosine does not, so its weight grows with the question:
    ``bm25 x max(1, terms / long_question) ** bm25_growth``, at most ``bm25_most``.
    """

    best_sentence: float = 1.0
    coverage: float = 0.25
    bm25: float = 0.2
    bm25_growth: float = 1.5
    bm25_most: float = 0.8
    long_question: float = 9.0
    """Content terms above which a question describes its answer rather than names it."""
    foreign: float = 0.95
    familiar: float = 1.25
    """BM25 counts by the share of the question's information in the index plus the share that the
    best text candidate covers: not at all up to ``foreign``, in full from ``familiar`` on."""
    trust_candidates: int = 20
    """Number of text candidates among which the best coverage is determined."""
    bm25_alone: float = 0.6
    """Weight of BM25 if the question cannot be embedded; coverage has the rest. It grows with the
    question in the same way, up to 1."""
    dense_candidates: int = 100
    text_candidates: int = 200
    text_pool: int = 50
    """Number of text candidates that enter the pool by themselves."""


@dataclass(frozen=True, slots=True)
class LinkWeights:
    """Weights of entities named in the question."""

    named: float = 0.7
    """Score of a chunk that is entirely about a rare entity named in the question."""
    lower_case: float = 0.3
    """Trust in a name without a capital if the question has capitals elsewhere."""
    spread: float = 0.5
    """A chunk has at least n ** -spread of the link's weight if n chunks are about the entity."""
    title: float = 0.95
    """Aboutness from which a chunk counts as the entity's own page."""
    known: float = 0.8
    """Aboutness from which an entity counts as described in the index."""
    elsewhere: float = 0.5
    """Share of its base score that a chunk loses if it names none of the entities with their own
    page in the question: that page explains the words better (explaining away)."""
    half_length: float = 14.0
    """Content terms of a question at which links, and bridges among them, count half. A long
    question describes each passage it asks for, and the names in it mislead."""
    length_power: float = 10.0
    """Steepness of that decline: 1 / (1 + (terms / half_length) ** length_power)."""
    candidates: int = 20
    fan: int = 200


@dataclass(frozen=True, slots=True)
class BridgeWeights:
    """Weights of bridges, which lead from a sentence over an entity to the chunks that explain
    it.
    """

    strength: float = 2.2
    sources: int = 5
    entities: int = 60
    sentences: int = 3
    targets: int = 50
    scored_targets: int = 150
    rarity: float = 1.0 / 3.0
    """Exponent of the entity's inverse document frequency."""
    aboutness: float = 0.4
    """Exponent of the target's aboutness."""
    spread: float = 0.25
    """As in LinkWeights."""
    rest: float = 1.0
    """Weight of the target's cosine with the question without its names."""
    unstated: float = 0.8
    """Worth of an entity in a source that a model has read without extracting a relation with it; 1
    counts all entities equally."""
    same_document: float = 0.25
    """Worth of a bridge within one document: that two of its chunks share an entity says little."""
    links: float = 1.0
    """Worth of a link that an author put into a sentence, beside that of a rare entity."""
    links_at_length: float = 0.5
    """The least weight of such links in a long question: unlike a name in it, a link says where
    more stands."""
    links_onward: float = 0.7
    """Share of that worth for the passage after the one that a link names, in its section."""
    support: float = 0.2
    """Share of its best outgoing path that a source gains."""


@dataclass(frozen=True, slots=True)
class Weights:
    """All constants of retrieval."""

    text: TextWeights = TextWeights()
    link: LinkWeights = LinkWeights()
    bridge: BridgeWeights = BridgeWeights()


DEFAULT_WEIGHTS = Weights()
