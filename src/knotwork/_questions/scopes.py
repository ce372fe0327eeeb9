"""Read the scope of a question: the whole, a document, a topic or a number.

A question of English or Chinese has a scope if it matches a form of its language as a whole, so
that a question for a fact is rarely taken for one about a text. Others are searched for.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from knotwork._questions.languages import Language, ScopeWords, Words
from knotwork._text.chinese import simplify


class ScopeKind(StrEnum):
    """What is summarised or counted."""

    WHOLE = "whole"
    """All documents."""
    PART = "part"
    """A document or a section."""
    TOPIC = "topic"
    """What the documents say about ``subject``."""
    THING = "thing"
    """What they say about the entity ``subject``: a language model gets the graph around it, not
    community reports."""
    RANKING = "ranking"
    """The entities of a type, by how often they are mentioned; ``subject`` is the word for them."""
    LISTING = "listing"
    """The titles of documents or sections, and their number; ``subject`` is the word for them."""
    MENTIONS = "mentions"
    """How often, and where, ``subject`` is mentioned."""


@dataclass(frozen=True, slots=True)
class QuestionScope:
    """What a question asks for. See `ScopeKind` for ``subject``.

    ``named`` is a phrase that may name a document or section, which is then summarised, or searched
    for the topic. A scope that is not ``is_sure`` holds only if there is such a document. ``limit``
    is the number of entities asked for, 0 if none is stated. ``by_importance`` asks for important
    entities rather than for those mentioned often. ``names_text`` is True for a document or section
    that a word for texts names, as in "the page on storms".
    """

    kind: ScopeKind
    subject: str = ""
    named: str = ""
    is_sure: bool = True
    limit: int = 0
    by_importance: bool = False
    names_text: bool = False

    @property
    def needs_communities(self) -> bool:
        """Whether the answer is composed from communities."""
        return self.kind is ScopeKind.WHOLE or self.by_importance


_QUOTED = re.compile("^[《“「『]([^》”」』]+)[》”」』]")
_MENTIONED_OFTEN = re.compile(r"mention|nam|cit|refer|discuss|common|frequent")
_MOST_NAME_WORDS = 12
_NO_TEXT = frozenset(["to", "you", "i", "we", "can", "could", "do", "would", "should"])


def strip_text_nouns(phrase: str, language: Language) -> str:
    """Return a phrase without words for texts: "travel" for "the travel chapter"."""
    bare = language.scopes.determiner.sub(phrase)
    text = language.scopes.text.match(simplify(bare))
    return (bare[: text.end("rest")] if text else bare).strip()


def read_scope(text: str, language: Language) -> QuestionScope | None:
    """Return the scope of a question with single spaces; None if it matches no form."""
    words = language.scopes
    return (
        _read_count(text, words)
        or _read_listing(text, words)
        or _read_summary(text, words)
        or _read_topic(text, words)
        or _read_subject(text, words)
    )


def _find(text: str, forms: Sequence[Words]) -> dict[str, str] | None:
    """Return the words of a text for each group of the first form that it has."""
    simple = simplify(text)
    for form in forms:
        if found := form.search(simple):
            spans = ((name, found.span(name)) for name in found.re.groupindex)
            return {name: text[start:end] if start >= 0 else "" for name, (start, end) in spans}
    return None


def _read_count(text: str, words: ScopeWords) -> QuestionScope | None:
    if ranked := _find(text, words.rankings):
        most = ranked.get("most", "").casefold()
        return QuestionScope(
            ScopeKind.RANKING,
            ranked["noun"].casefold(),
            limit=int(ranked.get("limit") or 0),
            by_importance=bool(most) and not _MENTIONED_OFTEN.search(most),
        )
    counted = _find(text, words.mentions)
    return QuestionScope(ScopeKind.MENTIONS, _bare(counted["subject"])) if counted else None


def _read_listing(text: str, words: ScopeWords) -> QuestionScope | None:
    listed = _find(text, words.listings)
    if listed is None:
        return None
    where, noun = listed.get("where", "").strip(), listed["noun"] or listed.get("other", "")
    where = "" if _means_all(where, words) else where
    return QuestionScope(ScopeKind.LISTING, noun.casefold(), where, is_sure=False)


def _read_summary(text: str, words: ScopeWords) -> QuestionScope | None:
    """Return the scope of "summarise …" and "an overview of …"."""
    if words.bare.match(simplify(text)):
        return QuestionScope(ScopeKind.WHOLE)
    found = _find(text, (words.summary,))
    if found is None or _asks_for_fact(found["target"], found, words):
        return None
    # "Summarize what the documents say about storms" is about storms.
    return _read_topic(found["target"], words) or _of_target(
        found["target"], words, otherwise=ScopeKind.TOPIC
    )


def _read_topic(text: str, words: ScopeWords) -> QuestionScope | None:
    """Return the scope of "what do the documents say about …"."""
    found = _find(text, words.said)
    if found is None:
        return None
    where = found.get("where") or found.get("place", "")
    topic = QuestionScope(ScopeKind.TOPIC, found["subject"], where)
    if _means_all(where, words):
        return replace(topic, named="")
    if "place" not in found:
        return topic
    if len(where.split()) > _MOST_NAME_WORDS or where.split()[0].casefold() in _NO_TEXT:
        return None
    # "the maintenance chapter" means a part of the corpus; for "BBC article" one must exist.
    is_ours = words.text.match(where) is not None and words.determiner.match(where) is not None
    return replace(topic, is_sure=is_ours and where == where.lower())


def _read_subject(text: str, words: ScopeWords) -> QuestionScope | None:
    """Return the scope of "describe …", "what is … about" and the like."""
    told = _find(text, (words.tell,))
    if told and not _asks_for_fact(told["target"], told, words):
        target = told["target"]
        if _means_all(target, words) or words.titled.search(simplify(target)):
            return _of_target(target, words, otherwise=ScopeKind.PART)
    # "Tell me about Ada" is about her, even if a document has her name as its title.
    told = _find(text, (words.tell_all,))
    if told and not _asks_for_fact(told["subject"], told, words):
        return QuestionScope(ScopeKind.THING, told["subject"])
    found = _find(text, words.about)
    if found is None:
        return None
    target = found.get("target") or found.get("topic", "")
    return _of_target(target, words, otherwise=ScopeKind.PART)


def _asks_for_fact(target: str, found: Mapping[str, str], words: ScopeWords) -> bool:
    """Return True for "归纳法是谁提出的", which begins with a word for summaries."""
    return not found.get("once") and words.fact.search(simplify(target)) is not None


def _of_target(target: str, words: ScopeWords, *, otherwise: ScopeKind) -> QuestionScope | None:
    """Return the scope of a phrase: all documents, or else of the kind ``otherwise``.

    None if the phrase is too long to be a name.
    """
    target = target.removesuffix("的")
    if _means_all(target, words):
        return QuestionScope(ScopeKind.WHOLE)
    if otherwise is ScopeKind.PART and len(target.split()) > _MOST_NAME_WORDS:
        return None
    name = _bare(target)
    is_text = words.titled.search(simplify(target)) is not None
    is_sure = otherwise is ScopeKind.TOPIC
    return QuestionScope(otherwise, name, name, is_sure=is_sure, names_text=is_text)


def _means_all(phrase: str, words: ScopeWords) -> bool:
    return not phrase or words.whole.fullmatch(simplify(phrase)) is not None


def _bare(phrase: str) -> str:
    """Return a phrase without surrounding quotes."""
    quoted = _QUOTED.match(phrase)
    return quoted[1] if quoted else phrase.strip(" \"'“”‘’「」『』")
