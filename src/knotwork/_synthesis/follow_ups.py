"""Rewrite a follow-up question so that it can be understood without the earlier turns.

A model rewrites it if there is one. Otherwise rules find what it leans on: a pronoun or "the second
one" stands for a name or a phrase of the turns before, "why?" asks again, "and in 2021?" changes a
part of the last question, and a question without a subject continues its topic. Where there are
several readings, the documents decide: the one is taken of which a passage has the most words.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property, lru_cache
from itertools import chain
from typing import NamedTuple

import numpy as np

from knotwork._inference.chat import ChatModel, ChatReply, complete_checked, require_whole
from knotwork._inference.prompt_material import escape_passage, restore
from knotwork._questions.languages import CHINESE, ENGLISH, Words
from knotwork._questions.phrases import Phrase, noun_phrases, topic_of
from knotwork._questions.reading import reading_of
from knotwork._retrieval.question import read_question
from knotwork._retrieval.weights import DEFAULT_WEIGHTS
from knotwork._stores.base import Store
from knotwork._synthesis import messages
from knotwork._synthesis.grounding.statement_check import denials_of
from knotwork._synthesis.grounding.texts import EMPTY_ZH, read_text
from knotwork._synthesis.messages import make_request
from knotwork._text.languages import HAN_CHARACTER, segment, simplify
from knotwork._text.names import normal_form
from knotwork._text.terms import content_terms, terms
from knotwork.errors import ModelError, Unparsable
from knotwork.records import Answer

MOST_TURNS = 6
LONGEST_FOLLOW_UP = 400
"""A question of more characters is taken to be complete by itself."""
_FEW_WORDS = 7
_FEW_CHARACTERS = 16
_FEW_ASKED = 4
_MOST_READINGS = 6
_TOLERANCE = 0.25
"""How much less support a likelier reading may have."""


class RewrittenQuestion(NamedTuple):
    """A question that stands alone; ``note`` explains why a model did not rewrite it."""

    text: str
    note: str = ""


def rewrite_follow_up(
    question: str,
    turns: Sequence[ConversationTurn],
    names: NameReader,
    *,
    model: ChatModel | None = None,
    support: Support | None = None,
) -> RewrittenQuestion:
    """Return a question that can be understood without the earlier turns.

    A question that is no follow-up is returned unchanged, without a model call. A model rewrites
    any other, if there is one. Without it, or if it fails, rules do; of several readings the first
    with the most ``support`` is taken.
    """
    follow_up = _FollowUp(question, names)
    if not turns or not follow_up.leaning:
        return RewrittenQuestion(question)
    note = ""
    if model is not None:
        try:
            asked = " ".join(question.split())
            return RewrittenQuestion(rewrite_with_model(asked, turns, model))
        except ModelError as error:
            note = f"The follow-up was rewritten by rules: {error.message}"
    said = [turn for turn in turns if turn.question or turn.answer]
    readings = list(dict.fromkeys(_read(follow_up, said, names)))[:_MOST_READINGS]
    if len(readings) > 1 and support is not None:
        values = [support(text) for text in readings]
        least = max(values) - _TOLERANCE
        readings = [text for text, value in zip(readings, values, strict=True) if value >= least]
    return RewrittenQuestion(readings[0] if readings else question, note)


_UNDERSTOOD = "Understood as: "


def note_understood(question: str) -> str:
    """Return the note of an answer that says how its question was understood."""
    return f"{_UNDERSTOOD}{question}"


def understood_question(answer: Answer) -> str:
    """Return the question of an answer as it was understood."""
    noted = (n.removeprefix(_UNDERSTOOD) for n in answer.notes if n.startswith(_UNDERSTOOD))
    return next(noted, answer.question)


def is_follow_up(question: str, names: NameReader) -> bool:
    """Return True if a question may depend on earlier turns."""
    return bool(_FollowUp(question, names).leaning)


def read_turns(
    turns: Sequence[tuple[str, str]], names: NameReader, support: Support | None = None
) -> tuple[ConversationTurn, ...]:
    """Return the last `MOST_TURNS` turns of a conversation, given as questions with their answers.

    Follow-ups among them are rewritten by rules.
    """
    read: list[ConversationTurn] = []
    for question, answer in turns[-MOST_TURNS:]:
        text = rewrite_follow_up(question, read, names, support=support).text
        read.append(read_turn(text, answer, names))
    return tuple(read)


def resolve_pronoun(text: str, turns: Sequence[ConversationTurn], names: NameReader) -> str:
    """Return a text with its first pronoun replaced by the name it refers to, if one fits."""
    pronoun = _open_pronoun(text, names)
    found = next(_antecedents(pronoun, turns), "") if pronoun else ""
    return _put(text, pronoun, found) if pronoun and found else text


class _Leaning(StrEnum):
    """How a question leans on what was said before."""

    HAPPENED = "happened"
    BARE = "bare"
    MORE = "more"
    ORDINAL = "ordinal"
    PRONOUN = "pronoun"
    WHICH = "which"
    SUBJECTLESS = "subjectless"
    CONTEXT = "context"
    FRAGMENT = "fragment"


class _FollowUp:
    """A question of a conversation; ``rest`` is what it asks, without "and" or "what about"."""

    def __init__(self, question: str, names: NameReader) -> None:
        self.text = " ".join(question.split())
        self.is_chinese = HAN_CHARACTER.search(self.text) is not None
        self.words = (CHINESE if self.is_chinese else ENGLISH).follow_ups
        self.names = names
        simple = simplify(self.text)
        opening = self.words["opening"].match(simple)
        assert opening is not None, "the pattern also matches the empty string"
        self.opens = bool(opening[0].strip()) or simple.rstrip("?？ ").endswith("呢")
        end = self.words["closing"].search(simple)
        self.rest = self.text[opening.end() : end.start() if end else None].strip()

    @cached_property
    def leaning(self) -> _Leaning | None:
        """How it leans; None if it can be understood alone."""
        words, rest = self.words, simplify(self.rest)
        if not rest or len(self.text) > LONGEST_FOLLOW_UP:
            return None
        for leaning, form in _FORMS.items():
            if any(words[name].match(rest) for name in form):
                return leaning
        if words["ordinal"].search(rest):
            return _Leaning.ORDINAL
        return _Leaning.PRONOUN if _open_pronoun(self.text, self.names) else self._nameless(rest)

    def _nameless(self, rest: str) -> _Leaning | None:
        """How a question leans that names nothing, or that only names something."""
        words, is_short = self.words, _has_few(self.rest)
        is_full = words["full"].search(rest) is not None
        named = self.names(f" {self.rest}")  # after a space: a capital does not open a sentence
        found = None
        if not named and words["which_one"].search(rest):
            found = _Leaning.WHICH
        elif not named and self.is_chinese and is_short and self._lacks_subject(rest):
            found = _Leaning.SUBJECTLESS
        elif not named and is_full and ((self.opens and is_short) or self._is_definite()):
            found = _Leaning.CONTEXT
        elif self.opens and is_short and not is_full:
            found = _Leaning.FRAGMENT
        return found

    def _lacks_subject(self, rest: str) -> bool:
        begins_asking = self.words["full"].match(rest) is not None
        asked = self.words["asked"].match(rest) if begins_asking else None
        behind = asked["rest"] if asked else rest
        own = noun_phrases(behind)
        if self.words["led"].match(rest):
            return not (begins_asking and (own or len(behind) > _FEW_ASKED))
        return segment(rest)[0].tag.startswith("v") and not own

    def _is_definite(self) -> bool:
        """Return True if all that it names is one thing that must be known, as "the crossing"."""
        found = noun_phrases(self.rest) if not self.is_chinese else ()
        if len(found) != 1 or not (phrase := found[0]).text.lower().startswith("the "):
            return False
        behind = self.rest[phrase.end :].split()
        is_defined = bool(behind) and behind[0].lower() in _DEFINING
        return len(phrase.text.split()) == 2 and phrase.text.islower() and not is_defined


_FORMS = {
    _Leaning.HAPPENED: ("happened", "was_that"),
    _Leaning.MORE: ("more",),
    _Leaning.BARE: ("bare",),
}
_DEFINING = frozenset(["of", "that", "which", "who", "for", "in", "on", "at", "to", "from", "with"])


def _has_few(text: str) -> bool:
    if HAN_CHARACTER.search(text):
        return len(text) <= _FEW_CHARACTERS
    return len(text.split()) <= _FEW_WORDS


def _open_pronoun(question: str, names: NameReader) -> Pronoun | None:
    """Return the first pronoun of a question, unless a name precedes it in the question."""
    pronoun = find_pronoun(question)
    if pronoun is None:
        return None
    named = (name for name in names(question) if name.is_proper)
    is_object = ENGLISH.follow_ups["object"].match(question[pronoun.start :]) is not None
    return pronoun if is_object or all(n.start > pronoun.start for n in named) else None


def _read(
    follow_up: _FollowUp, turns: Sequence[ConversationTurn], names: NameReader
) -> Iterator[str]:
    """Yield the readings of a question that leans on turns, the likeliest first."""
    leaning, rest, words = follow_up.leaning, follow_up.rest, follow_up.words
    last = next((turn for turn in reversed(turns) if turn.question), None)
    if leaning in (_Leaning.PRONOUN, _Leaning.ORDINAL):
        yield from _fill_in(follow_up, turns, names, last)
    elif last is None:
        return
    elif leaning in (_Leaning.HAPPENED, _Leaning.BARE):
        forms = ("happened", "was_that", "bare")
        wh = next(m["wh"] for name in forms if (m := words[name].match(simplify(rest))))
        is_of_deed = leaning is _Leaning.HAPPENED or _asks_of_deed(wh, last)
        if is_of_deed or not follow_up.is_chinese:
            yield from _ask_again(wh, last, follow_up)
        if follow_up.is_chinese and leaning is _Leaning.BARE:
            yield from _continue_topic(follow_up, turns)
    elif leaning is _Leaning.MORE:
        yield _ask_more(last, follow_up)
    elif leaning is _Leaning.WHICH and not follow_up.is_chinese:
        yield from _ask_which(follow_up, last)
    elif leaning is _Leaning.FRAGMENT:
        yield from _change_part(rest, last, follow_up)
    else:
        yield from _continue_topic(follow_up, turns)


def _fill_in(
    follow_up: _FollowUp,
    turns: Sequence[ConversationTurn],
    names: NameReader,
    last: ConversationTurn | None,
) -> Iterator[str]:
    """Yield a question with what its pronoun, or "the second one", stands for."""
    if follow_up.leaning is _Leaning.PRONOUN:
        pronoun = _open_pronoun(follow_up.text, names)
        assert pronoun is not None, "that is how it leans"
        found = list(_antecedents(pronoun, turns))
    else:
        match = follow_up.words["ordinal"].search(simplify(follow_up.text))
        assert match is not None, "that is how it leans"
        pronoun = Pronoun("thing", *match.span(), possessive=False)
        found = _find_item(str(match.lastgroup), turns)
    for text in found:
        filled = _FollowUp(_put(follow_up.text, pronoun, text), names)
        if filled.leaning is _Leaning.FRAGMENT and last is not None:
            yield from _change_part(filled.rest, last, filled)
        else:
            yield filled.text


def _asks_of_deed(wh: str, last: ConversationTurn) -> bool:
    """Return True if a Chinese "why?" or "where?" asks of what was done, not of a thing."""
    words = CHINESE.follow_ups
    if words["why"].search(wh):
        return True
    tags = segment(last.question)
    verbs = [w.simplified for w in tags if w.tag[:1] == "v" and w.tag != "vn"]
    acts = any(words["stative"].fullmatch(verb) is None for verb in verbs)
    return acts and words["adjunct"].search(wh) is not None


def _closed(text: str, like: _FollowUp) -> str:
    """Return a text as a question."""
    text = text.strip(" ?？。.")
    if like.is_chinese:
        return f"{text}？"
    begins = like.words["full"].match(text) is not None
    return f"{text[:1].upper() if begins else text[:1]}{text[1:]}?"


def _without_end(question: str) -> str:
    words = (CHINESE if HAN_CHARACTER.search(question) else ENGLISH).follow_ups
    end = words["closing"].search(simplify(question))
    return question[: end.start()] if end else question


def _ask_again(wh: str, last: ConversationTurn, follow_up: _FollowUp) -> Iterator[str]:
    """Yield the last question with other words that ask: "when?" of what was asked about."""
    text, words = _without_end(last.question), follow_up.words
    asked = words["asked"].match(simplify(text))
    name = last.asked_name
    if follow_up.is_chinese:
        if asked is None:
            yield _closed(f"{text}，{wh}", follow_up)
            return
        before, rest = text[: asked.end("before")], text[asked.start("rest") :]
        is_why = words["why"].search(wh) is not None
        if is_why or (words["argument"].search(asked["wh"]) and name):
            by = asked["wh"][:1] if name and asked["wh"][:1] in "由被在" else ""
            stated = f"{before}{by}{name}{rest}"
            yield _closed(f"{wh}{stated}" if is_why else f"{stated}是{wh.lstrip('是')}", follow_up)
            return
        yield _closed(f"{before}{wh}{rest}", follow_up)
        return
    stem = wh[:1].upper() + wh[1:]
    if asked is None:
        yield _closed(f"{stem}: {text}", follow_up)
    elif asked["yes"]:
        yield _closed(f"{stem} {asked['yes'].lower()} {text[asked.start('of') :]}", follow_up)
    elif asked["verb"]:
        rest, verb = text[asked.start("rest") :], asked["verb"].lower()
        if not words["argument"].search(asked["wh"]) or not name:
            yield _closed(f"{stem} {verb} {rest}", follow_up)
        elif verb in ("is", "are", "was", "were"):
            yield _closed(f"{stem} {verb} {name} {rest}", follow_up)
        else:
            yield _closed(f"{stem} {verb} {rest} {name}", follow_up)
    else:
        what = "someone" if asked["who"].lower() == "who" else "something"
        was = "was" if words["past"].search(asked["does"]) else "is"
        yield _closed(
            f"{stem} {was} it that {name or what} {text[asked.start('does') :]}", follow_up
        )


def _ask_more(last: ConversationTurn, follow_up: _FollowUp) -> str:
    text = _without_end(last.question)
    asked = follow_up.words["asked"].match(simplify(text))
    if asked is None:
        return _closed(text, follow_up)
    if follow_up.is_chinese:
        return _closed(f"{text[: asked.start('wh')]}还有{text[asked.start('wh') :]}", follow_up)
    end = asked.end("wh" if asked["verb"] else "who" if asked["who"] else "yes")
    return _closed(f"{text[:end]} else{text[end:]}", follow_up)


def _ask_which(follow_up: _FollowUp, last: ConversationTurn) -> Iterator[str]:
    """Yield an English question for "which one" of the things that were said."""
    text = follow_up.text
    match = follow_up.words["which_one"].search(text)
    assert match is not None, "that is how it leans"
    items, noun = last.items, last.asked_noun
    if len(items) == 2 or not noun:
        which = f"{match['which']} of {' and '.join(items)}" if items else match[0]
        yield f"{text[: match.start()]}{which}{text[match.end() :]}"
        return
    filled = f"{match['which']} {noun}{text[match.end() :]}"
    topic = next(_topics(last), "")
    yield _closed(f"{topic}: {filled}" if topic else filled, follow_up)


def _continue_topic(follow_up: _FollowUp, turns: Sequence[ConversationTurn]) -> Iterator[str]:
    """Yield a question behind the topics of the last turns, and as it is."""
    gap = "" if follow_up.is_chinese else ": "
    last = next(turn for turn in reversed(turns) if turn.question)
    topics = [topic for topic in _topics(last) if topic not in follow_up.rest]
    for topic in topics[:3]:
        ends = topic[-1:].isascii() and gap == ""
        yield _closed(f"{topic}{' ' if ends else gap}{follow_up.rest}", follow_up)
    if topics and follow_up.leaning is not _Leaning.BARE and not follow_up.opens:
        yield follow_up.text


def _topics(turn: ConversationTurn) -> Iterator[str]:
    """Yield what a turn is about, the likeliest first."""
    is_chinese = HAN_CHARACTER.search(turn.question) is not None
    words = _words_of(turn)
    if is_chinese:
        topic = topic_of(turn.question)
        is_of_person = words["defines"].search(turn.question) and not _defines(turn)
        if turn.asked_name and (not topic or is_of_person):
            yield turn.asked_name
        if topic:
            yield topic
    if not is_chinese:
        things = [phrase.text for phrase in _things(turn.question)]
        yield from (t for t in things if any(n.name != t and n.name in t for n in turn.names))
    yield from (name.name for name in turn.names)
    if not is_chinese:
        yield from things
    if turn.asked_name:
        yield turn.asked_name


def _words_of(turn: ConversationTurn) -> Mapping[str, Words]:
    return (CHINESE if HAN_CHARACTER.search(turn.question) else ENGLISH).follow_ups


def _change_part(part: str, last: ConversationTurn, follow_up: _FollowUp) -> Iterator[str]:
    """Yield the last question with another time, place, name or thing in it."""
    text = _without_end(last.question)
    named = [name for name in follow_up.names(f" {part}") if name.name in part]
    if times := _times(part):
        old = next(iter(_times(text)), None)
        changed = f"{text[: old[0]]}{part[slice(*times[0])]}{text[old[1] :]}" if old else ""
        yield _closed(changed or _appended(text, part, follow_up), follow_up)
        return
    if not follow_up.is_chinese and (more := list(_change_detail(part, last, follow_up, named))):
        yield from more
        return
    slots = sorted(_slots(text, last), key=lambda slot: -_fit(slot, part, named, last))
    best = [slot for slot in slots if _fit(slot, part, named, last) >= _FITS]
    for slot in best[:2]:
        if (head := _head_of(slot, part, last)) is not None:
            yield _closed(f"{text[: head.start]}{head.text}{text[slot.end :]}", follow_up)
        yield _closed(f"{text[: slot.start]}{part}{text[slot.end :]}", follow_up)
    if best:
        return
    topic = next(_topics(last), "")
    gap = (" " if topic[-1:].isascii() else "") if follow_up.is_chinese else ": "
    if topic and topic not in part:
        yield _closed(f"{topic}{gap}{part}", follow_up)
    for slot in slots[:1]:
        yield _closed(f"{text[: slot.start]}{part}{text[slot.end :]}", follow_up)
    if not (topic or slots):
        yield _closed(_appended(text, part, follow_up), follow_up)


_PREPOSITIONS = frozenset(
    [
        "in",
        "on",
        "at",
        "to",
        "from",
        "for",
        "by",
        "with",
        "of",
        "after",
        "under",
        "since",
        "until",
        "through",
    ]
)


def _change_detail(
    part: str, last: ConversationTurn, follow_up: _FollowUp, named: Sequence[SpokenName]
) -> Iterator[str]:
    """Yield the last question with another detail: "in Oslo", "abroad", "the price"."""
    text, words = _without_end(last.question), follow_up.words
    preposition, _, of = part.partition(" ")
    if preposition.lower() in _PREPOSITIONS and of:
        for phrase in noun_phrases(text):
            if text[: phrase.start].lower().endswith(f" {preposition.lower()} "):
                end = _with_tail(phrase, text).end
                yield _closed(f"{text[: phrase.start]}{of}{text[end:]}", follow_up)
                break
        yield _closed(f"{text} {part}", follow_up)
    elif words["adverb"].match(part):
        yield _closed(f"{text} {part}", follow_up)
    elif words["quantity"].search(part.split(" of ", maxsplit=1)[0].rsplit(maxsplit=1)[-1]):
        topic = next(_topics(last), "")
        of = f" of {topic}" if topic and not named and " of " not in part else ""
        yield _closed(f"What is {part}{of}", follow_up)


def _appended(text: str, part: str, follow_up: _FollowUp) -> str:
    return f"{part}{text}" if follow_up.is_chinese else f"{text} {part}"


def _times(text: str) -> list[tuple[int, int]]:
    """Return the places of the times of a text."""
    found = [a for a in reading_of(text).amounts if a.is_marked_time or a.first]
    return [(amount.span.start, amount.span.end) for amount in found]


def _slots(text: str, last: ConversationTurn) -> list[Phrase]:
    """Return the parts of a question that another thing may replace."""
    slots = list(noun_phrases(text))
    if HAN_CHARACTER.search(text):
        topic = topic_of(text)
        if topic and topic not in {slot.text for slot in slots}:
            slots.append(Phrase(topic, text.index(topic)))
    slots += (
        Phrase(name.name, name.start)
        for name in last.names
        if text[name.start :].startswith(name.name) and text[name.start - 1 : name.start] != "-"
    )
    return list(dict.fromkeys(slots))


_FITS = 2.0


def _fit(slot: Phrase, part: str, named: Sequence[SpokenName], last: ConversationTurn) -> float:
    """Return how alike a part of the last question and a phrase are in kind."""
    kinds = {name.type for name in named if len(name.name) * 2 > len(part)} - {""}
    own = {n.type for n in last.names if n.name in slot.text and len(n.name) * 2 > len(slot.text)}
    value = 4.0 if kinds & own else 0.0
    if own and kinds and not kinds & own:
        value -= 1.0
    if set(content_terms(slot.text)) & set(content_terms(part)) or slot.head == part[-2:]:
        value += 3.0
    both = [(slot.text, own), (part, kinds)]
    if HAN_CHARACTER.search(last.question):  # where a word in Latin letters is a name
        classes = {_class_of(*each) if HAN_CHARACTER.search(each[0]) else "name" for each in both}
    else:
        classes = {_class_of(*each) for each in both}
    value += 2.0 if len(classes) == 1 else 0.0
    value += 1.0 if _determiner(slot.text) == _determiner(part) else 0.0
    return value - (0.5 if slot.asked else 0.0) - (slot.start - len(slot.text) / 10) / 1000


def _class_of(text: str, kinds: set[str]) -> str:
    if re.search(r"[_\d/]|\w-\w|\(\)", text):
        return "code"
    is_latin = HAN_CHARACTER.search(text) is None
    if any(c.isupper() for c in text) or "《" in text:
        return "name"
    if not is_latin and (kinds - {""}):
        return "name"
    if not is_latin:
        (tags,) = ({word.tag[:1] for word in segment(text)[-1:]},)
        return "place" if tags & {"s", "f"} else "time" if tags == {"t"} else "common"
    return "common"


def _determiner(text: str) -> str:
    first = text.split(maxsplit=1)[0].lower() if text.split() else ""
    return first if first in ("the", "a", "an") else ""


def _head_of(slot: Phrase, part: str, last: ConversationTurn) -> Phrase | None:
    """Return the phrase with its last word replaced, if that is all that differs in kind."""
    words, new = slot.text.split(), [w for w in part.split() if w.lower() not in ("the", "a", "an")]
    is_name = any(name.name == " ".join(words[-len(name.name.split()) :]) for name in last.names)
    opened = next((n for n in last.names if n.name in slot.text), None)
    if len(new) != 1 or len(words) < 2 or is_name or opened is None:
        return None
    return Phrase(" ".join([*words[:-1], *new]), slot.start)


def _with_tail(phrase: Phrase, text: str) -> Phrase:
    """Return a phrase with what "of", "to" or the like adds to it."""
    tail = _TAIL.match(text[phrase.end :])
    following = next((p for p in noun_phrases(text) if p.start > phrase.start), None)
    if tail is None or following is None or following.start != phrase.end + tail.end():
        return phrase
    return Phrase(text[phrase.start : following.end], phrase.start)


_TAIL = re.compile(r"\s+(?:of|to|for|from|in|on|at)\s+", re.IGNORECASE)


def _things(question: str) -> Iterator[Phrase]:
    """Yield the phrases of a question that "it" may stand for, the likeliest first."""
    words = ENGLISH.follow_ups

    def unlikelihood(phrase: Phrase) -> tuple[bool, bool, bool]:
        before = question[: phrase.start].split()[-1:]
        is_around = bool(before) and before[0].lower() in _AROUND
        is_plural = phrase.head.islower() and phrase.head.endswith("s")
        return phrase.asked, is_plural or not _is_specific(phrase.text), is_around

    for phrase in sorted(noun_phrases(question), key=unlikelihood):
        whole = _with_tail(phrase, question)
        if whole != phrase and words["quantity"].search(phrase.text):
            continue  # of "the price of X", X
        yield whole


_AROUND = frozenset(
    ["in", "at", "on", "from", "by", "with", "after", "before", "during", "for", "since", "until"]
)


def _stands_alone(phrase: Phrase) -> bool:
    """Return True for one thing that is nobody's: what has an owner is less often spoken of."""
    is_plural = phrase.head.islower() and phrase.head.endswith("s")
    return _is_specific(phrase.text) and not is_plural and "'s " not in phrase.text


def _is_specific(text: str) -> bool:
    """Return True for a phrase that stands for one thing: "the ferry", "buoy 7", "Heron"."""
    return bool(_determiner(text)) or _class_of(text, set()) != "common"


QUESTION_CHARACTERS = 600
ANSWER_CHARACTERS = 600
ANSWER_NAMES = 8
_CITATION_MARK = re.compile(r"\s*\[M?\d+\](?:\([^)]*\))?")
_LISTED = re.compile(r"^\s*(?:[-*•]|\d+[.)、])\s+(.+)$", re.MULTILINE)
_QUOTED_ITEM = re.compile(r"[“\"「《]\s*([^”\"」》]{1,40}?)\s*[”\"」》]")
_LONGEST_ITEM = 9
_NO_ANSWERS = tuple(
    text
    for message in (messages.no_answer, messages.not_clear, messages.no_match)
    for text in (message.en, message.zh)
)


@dataclass(frozen=True, slots=True)
class ConversationTurn:
    """A question that stands alone, its answer, and the names in each.

    ``answer_names`` are those that the question does not have, ``items`` what the turn lists, in
    order. A statement of the user is the answer to an empty question.
    """

    question: str
    answer: str = ""
    names: tuple[SpokenName, ...] = ()
    answer_names: tuple[SpokenName, ...] = ()
    items: tuple[str, ...] = ()

    @property
    def asked_noun(self) -> str:
        """The noun behind "which" or "how many"; empty if there is none."""
        phrases = noun_phrases(self.question)
        if HAN_CHARACTER.search(self.question):
            asked = CHINESE.follow_ups["asked"].match(simplify(self.question))
            start = asked.start("rest") if asked else -1
            return next((p.text for p in phrases if start <= p.start <= start + 1), "")
        return next((phrase.text for phrase in phrases if phrase.asked), "")

    @property
    def asked_name(self) -> str:
        """The name in the answer that the question asks for, "" if it asks for none."""
        words, found = _words_of(self), self.answer_names
        if not words["argument"].search(self.question) or not found or _defines(self):
            return ""
        if reading_of(self.question).asks_who:
            own = [name.name for name in self.names]
            other = [name for name in found if not any(text in name.name for text in own)]
            persons = [name for name in other if _may_be("person", name)]
            return next((name.name for name in (*persons, *other)), "")
        asked = self.asked_noun
        if words["organization"].search(asked) or words["place"].search(asked):
            return found[0].name
        is_sure = len(found) == 1 and not words["quantity"].search(self.question)
        return found[0].name if is_sure and len(self.answer) <= _SHORT_ANSWER else ""


def read_turn(question: str, answer: str, names: NameReader) -> ConversationTurn:
    """Return a turn with its names; only the first characters of long texts are read.

    Words that only say that there is no answer are left out.
    """
    question = " ".join(question.split())[:QUESTION_CHARACTERS]
    plain = _CITATION_MARK.sub("", answer[:ANSWER_CHARACTERS])
    said = "" if plain.strip().startswith(_NO_ANSWERS) else " ".join(plain.split())
    asked = tuple(names(question))
    forms = {normal_form(name.name) for name in asked}
    best = _best_sentence(question, plain) if said else ""
    told = [name for text in (best, said) if text for name in names(text)]
    found: dict[str, SpokenName] = {}
    for name in told:
        if (form := normal_form(name.name)) not in forms:
            found.setdefault(form, name)
    new = list(found.values())
    items = _find_items(question, plain if said else "", new)
    return ConversationTurn(question, said, asked, tuple(new[:ANSWER_NAMES]), items)


_CHOICE = re.compile(r"\s+or\s+|\s*还是\s*")
_BOLD = re.compile(r"\*\*(.+?)\*\*", re.DOTALL)


def _best_sentence(question: str, answer: str) -> str:
    """Return the sentence of an answer that has most words of its question, of those in bold."""
    marked = _BOLD.findall(answer) or re.split(r"(?<=[.!?])\s+|(?<=[。！？])|\n+", answer)
    asked = set(content_terms(question))
    return max(marked, key=lambda text: len(asked & set(content_terms(text))))


def _find_items(question: str, answer: str, names: Sequence[SpokenName]) -> tuple[str, ...]:
    """Return what a turn lists: the items of its answer, or what its question joins."""
    if choice := _CHOICE.search(question):
        phrases = noun_phrases(question)
        before = [p for p in phrases if p.end == choice.start()]
        behind = [p for p in phrases if p.start == choice.end()]
        if before and behind:
            return before[0].text, behind[0].text
    if len(listed := _LISTED.findall(answer)) > 1:
        return tuple(re.split(r"[:：,，.。(（]|\s[–—-]\s", item)[0].strip() for item in listed)
    for text in (answer, question):
        found = _joined(text)
        if len(found) > 1:
            return found
    if len(quoted := list(dict.fromkeys(_QUOTED_ITEM.findall(answer)))) > 1:
        return tuple(quoted)
    return tuple(name.name for name in names) if len(names) > 1 else ()


def _joined(text: str) -> tuple[str, ...]:
    """Return the names or phrases that "and" joins, in the first sentence that has some."""
    words = (CHINESE if HAN_CHARACTER.search(text) else ENGLISH).follow_ups
    for sentence in re.split(r"(?<=[.!?。！？])\s*|\n+", text):
        body = re.split(r"[:：]", sentence)[-1].strip(" .?。？!")
        parts = [part.strip() for part in words["items"].form.split(simplify(body))]
        if len(parts) < 2:
            continue
        first = noun_phrases(parts[0])
        found = [first[-1].text if first else parts[0]]
        for part in parts[1:]:
            short = part if _is_short(part) else next((p.text for p in noun_phrases(part)), "")
            found.append(short)
        found = [item for item in found if item and _is_short(item)]
        if number := words["number"].search(sentence):  # "the two servers of Samba, smbd and nmbd"
            count = next(int(name[1:]) for name, text in number.groupdict().items() if text)
            found = found[-count:]
        if len(found) > 1:
            return tuple(found)
    return ()


def _is_short(item: str) -> bool:
    if HAN_CHARACTER.search(item):
        return len(item) <= _LONGEST_ITEM
    return len(item.split()) <= _LONGEST_ITEM


def _find_item(place: str, turns: Sequence[ConversationTurn]) -> list[str]:
    """Return the item that "the second one" or "the other one" stands for."""
    said = turns[-1].question if turns else ""
    able = [turn for turn in reversed(turns) if len(turn.items) > 1]
    able.sort(key=lambda turn: not any(item in said for item in turn.items))
    for turn in able:
        items = turn.items
        if place == "other":
            left = [item for item in items if item not in said]
            if left and len(left) < len(items):
                return left[:1]
            return [items[-1]]
        at = len(items) - 1 if place == "last" else int(place[1])
        if at < len(items):
            return [items[at]]
    return []


_CAPITAL_WORD = r"(?:[A-Z]\.(?=\s)|[A-Z](?:[\w'’-]|\.(?=\w))*)"
_CAPITALS = re.compile(
    rf"{_CAPITAL_WORD}(?:\s+(?:(?:of|the|de|van|von|for)\s+)*(?:{_CAPITAL_WORD}|[0-9][\w'’-]*))*|《[^》]+》"
)
_SENTENCE_START = re.compile(r"(?:^|[.!?:;…]|\n)\W*$")
_LOOK_BACK = 20
_POSSESSIVE = re.compile(r"['’]s?$")
_NUMBER_MARK = re.compile(r"\[M?\d+\]")
_OPENING_WORDS = (
    "what who whom whose when where which why how is are was were do does did can could will would"
    " and but or in on at by for from the a an it its he she they each since this that these those"
    " there i tell show list find give explain describe compare summarize then so yes no thanks"
)
_NO_NAMES = frozenset(_OPENING_WORDS.split())
_NOT_SPOKEN_OF = frozenset({"DATE", "NUMBER", "KEYWORD"})


class SpokenName(NamedTuple):
    """A name as written, the type of its entity ("" if unknown), and its offset in the text."""

    name: str
    type: str = ""
    start: int = 0

    @property
    def is_proper(self) -> bool:
        """Whether it has a capital letter, or is in a script without capitals."""
        return any(c.isupper() or not c.isascii() for c in self.name)


NameReader = Callable[[str], list[SpokenName]]
"""Returns the names in a text in order, each once."""


def capital_names(text: str) -> list[SpokenName]:
    """Return the names in a text by capitals or 《》; no single first word of a sentence."""
    bare = _NUMBER_MARK.sub(lambda match: " " * len(match[0]), text)
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
    """Return a reader of names that finds entities of an index, with types, and capitals."""

    @lru_cache(maxsize=64)
    def read(text: str) -> list[SpokenName]:
        question = read_question(text, store=store)
        known = [
            SpokenName(_POSSESSIVE.sub("", text[start:end]), link.entity.type, start)
            for link in question.links
            for start, end in (link.span,)
            if link.trust == 1.0
        ]
        # A name that no passage is about may be an everyday word.
        known_from = DEFAULT_WEIGHTS.link.known
        about = (link for link in question.links if link.about)
        pages = {link.span.start for link in about if link.about[0].score >= known_from}
        known = [name for name in known if name.is_proper or name.start in pages]
        others = capital_names(text)
        kept = [
            name
            for name in known
            if not any(
                len(other.name) > len(name.name) and _overlap(other, name) for other in others
            )
        ]
        kept += [other for other in others if not any(_overlap(other, name) for name in kept)]
        found: dict[str, SpokenName] = {}
        for name in sorted(kept, key=lambda name: name.start):
            if name.type not in _NOT_SPOKEN_OF:
                found.setdefault(name.name, name)
        return list(found.values())

    return read


def _overlap(one: SpokenName, other: SpokenName) -> bool:
    return one.start < other.start + len(other.name) and other.start < one.start + len(one.name)


class Pronoun(NamedTuple):
    """A pronoun in a question: its offsets, whether it is possessive, and what it may refer to.

    That is a "person", a "thing", a "place", "any" of these, a time ("then"), what was said last
    ("that"), or what is "named" by a ``noun`` as in "this company".
    """

    kind: str
    start: int
    end: int
    possessive: bool
    noun: str = ""


_OWN = "_own"
"""The end of the name of a group of possessive pronouns; the names begin with their kind."""
_SHORT_ANSWER = 150
"""Characters of an answer that hardly says more than what is asked for."""
_NO_PERSONS = frozenset(
    {"PLACE", "ORGANIZATION", "DATE", "NUMBER", "WORK", "IDENTIFIER", "EVENT", "PRODUCT"}
)


def find_pronoun(question: str) -> Pronoun | None:
    """Return the first pronoun that may refer to an earlier turn, if there is one."""
    simple = simplify(question)
    for language in (CHINESE, ENGLISH):
        words = language.follow_ups
        if words["empty_it"].search(simple):
            return None
        found = words["pronoun"].form.finditer(simple)
        # "that Ann" is no pronoun with a noun: a name follows a conjunction.
        if match := next((m for m in found if not (m["noun"] or "")[:1].isupper()), None):
            group = next(n for n, text in match.groupdict().items() if text and n != "noun")
            noun = match["noun"] or ""
            start, end = match.span(group)
            if noun and language is CHINESE:  # as many characters as are a word
                end = match.start("noun") + segment(simple[match.start("noun") :])[0].end
                noun = simple[match.start("noun") : end]
            return Pronoun(group.removesuffix(_OWN), start, end, group.endswith(_OWN), noun)
    return None


def _put(text: str, pronoun: Pronoun, name: str) -> str:
    """Return a text with a name in the place of a pronoun."""
    before, after = text[: pronoun.start], text[pronoun.end :]
    if HAN_CHARACTER.search(text):
        return f"{before}{name}{after}"
    if pronoun.kind == "place":
        is_bare = re.search(r"\b(?:from|to|in|at|near|around)\s+$", before)
        there = "there " if ENGLISH.follow_ups["exists"].search(before) else ""
        return f"{before}{there}{'' if is_bare else 'in '}{name}{after}"
    if pronoun.kind == "then":
        return f"{before}in {name}{after}"
    ending = "'s" if pronoun.possessive else ""
    return f"{before}{name}{ending}{after}"


def _antecedents(pronoun: Pronoun, turns: Sequence[ConversationTurn]) -> Iterator[str]:
    """Yield what a pronoun may refer to, the likeliest first.

    The latest turns are tried first. Names of the answer precede those of its question if the
    question asked for them: for a person or a place, or with a short answer that has one name.
    """
    kind = pronoun.kind
    if kind == "person":  # those that are known to be persons precede all other names
        known = [name for turn in reversed(turns) for name in _persons(turn)]
        asked = {turn.asked_name for turn in turns if reading_of(turn.question).asks_who}
        yield from (n.name for n in known if n.type == "PERSON" or n.name in asked)
        last = turns[-1]
        if _asks_for("person", last) and not any(_may_be("person", n) for n in last.answer_names):
            yield from _topics(last)  # nobody knows who that is
        yield from (name.name for name in known)
        return
    for turn in reversed(turns):
        if kind == "then":
            for text in (turn.answer, turn.question):
                yield from (text[start:end] for start, end in _times(text)[:1])
            continue
        if kind == "named":
            yield from _named_by(pronoun.noun, turn)
            continue
        yield from _fitting(kind, turn)


def _persons(turn: ConversationTurn) -> list[SpokenName]:
    """Return the names of a turn that may be those of persons."""
    asks = _asks_for("person", turn)
    own = [name.name for name in turn.names]
    told = [name for name in turn.answer_names if not any(text in name.name for text in own)]
    both = (told, turn.names) if asks else (turn.names, told)
    return [name for name in chain(*both) if _may_be("person", name)]


def _fitting(kind: str, turn: ConversationTurn) -> Iterator[str]:
    asks = _asks_for(kind, turn)
    if kind == "that" and turn.asked_name:
        yield turn.asked_name
    both = (turn.answer_names, turn.names) if asks else (turn.names, turn.answer_names)
    fitting = [name for name in chain(*both) if _may_be(kind, name)]
    if kind == "place":
        fitting.sort(key=lambda name: name in turn.answer_names)
        fitting.sort(key=lambda name: name.type not in ("PLACE", "ORGANIZATION", ""))
        yield from (name.name for name in fitting)
        return
    is_chinese = HAN_CHARACTER.search(turn.question) is not None
    places = [name for name in fitting if name.type == "PLACE"]
    others = [name for name in fitting if name.type != "PLACE"]
    asked = [name for name in others if asks and name in turn.answer_names]
    own = [name for name in others if name in turn.names]
    is_of_kind = bool(turn.asked_noun) and not turn.asked_noun.endswith("s")
    if turn.asked_name and (kind == "any" or (is_of_kind and kind == "thing")):
        yield turn.asked_name
    yield from (name.name for name in asked)
    persons = {name.name for name in turn.names if name.type == "PERSON"}
    if is_chinese:
        topic = topic_of(turn.question)
        if topic and topic not in persons:
            yield topic
        yield from (name.name for name in own)
        phrases: Sequence[Phrase] = noun_phrases(turn.question)
    else:
        phrases = list(_things(turn.question))
        firm = [p.text for p in phrases if kind != "any" and _stands_alone(p)]
        yield from (text for text in firm if not any(person in text for person in persons))
        yield from (name.name for name in own)
    at = {name.name for name in places}
    texts = [phrase.text for phrase in phrases if phrase.text not in at]
    if kind == "any":
        texts.sort(key=lambda text: (not text.endswith("s"), turn.question.find(text)))
    yield from (text for text in texts if not any(person in text for person in persons))
    yield from (name.name for name in chain(places, others))


def _named_by(noun: str, turn: ConversationTurn) -> Iterator[str]:
    """Yield the names and phrases of a turn that a word such as "company" may stand for."""
    words = _words_of(turn)
    names = (*turn.names, *turn.answer_names)
    stems = set(content_terms(noun))
    for name in names:
        if stems & set(content_terms(name.name)) or noun in name.name:
            yield name.name
    for kind in ("person", "place", "organization"):
        if words[kind].search(noun):
            yield from (name.name for name in names if name.type == kind.upper())
    yield from (p.text for p in _things(turn.question) if stems & set(content_terms(p.head)))


def _defines(turn: ConversationTurn) -> bool:
    """Return True if a turn asks who or what a name is, so that it stays the subject."""
    if not (match := _words_of(turn)["defines"].search(turn.question)):
        return False
    before = turn.question[: match.start()]
    return not before or any(name.name == before for name in turn.names)


def _asks_for(kind: str, turn: ConversationTurn) -> bool:
    """Return True if a turn asks for what its answer names, so that a pronoun may refer to that."""
    question, words = reading_of(turn.question), _words_of(turn)
    if kind == "place":
        return question.asks_where
    if _defines(turn):
        return False
    if kind == "person" and question.asks_who:
        return True
    is_one = len(turn.answer_names) == 1 and len(turn.answer) <= _SHORT_ANSWER
    asks_what = words["argument"].search(turn.question) and not question.asks_who
    return is_one and bool(asks_what and not words["quantity"].search(turn.question))


def _may_be(kind: str, name: SpokenName) -> bool:
    if kind == "place":
        return name.type != "PERSON"
    if kind == "person":
        if name.type in ("", "PERSON"):
            words = (CHINESE if HAN_CHARACTER.search(name.name) else ENGLISH).follow_ups
            is_word = name.name.isascii() and name.name.islower() and " " not in name.name
            is_other = words["organization"].search(name.name) or words["place"].search(name.name)
            return name.type == "PERSON" or not (is_word or is_other)
        return name.type not in _NO_PERSONS
    return kind == "any" or name.type != "PERSON"


Support = Callable[[str], float]
"""Returns the share of the words of a question, weighted by their rarity, that one passage has."""

_SUPPORTING = 20


def index_support(store: Store) -> Support:
    """Return how well the passages of an index support a reading of a question."""

    def value(text: str) -> float:
        asked = list(dict.fromkeys(content_terms(text)))
        index = store.texts("chunk")
        held = index.document_frequencies(asked)
        known = [term for term in asked if term in held]
        if not known:
            return 1.0
        items = max(index.count(), 1)
        weights = np.array([np.log1p(items / held[term]) for term in known])
        ids = [item.id for item in index.search(text, k=_SUPPORTING)]
        covered = (index.occurrences(ids, known) > 0) @ weights if ids else np.zeros(1)
        return float(covered.max(initial=0.0) / weights.sum())

    return value


UNDERSTAND_OUTPUT_TOKENS = 120
SHOWN_TURNS = 3
SHOWN_CHARACTERS = 300
LONGEST_REWRITTEN = 500


def rewrite_with_model(question: str, turns: Sequence[ConversationTurn], model: ChatModel) -> str:
    """Ask a model for the question in a form that can be understood without the earlier turns.

    A reply that asks for something else is rejected (see `check_rewritten`). Raises ModelError as
    `complete_checked`.
    """
    shown = turns[-SHOWN_TURNS:]
    before = "\n".join(f"- {turn.question}\n  {turn.answer[:SHOWN_CHARACTERS]}" for turn in shown)
    request = make_request(
        "understand",
        question,
        model,
        output_tokens=UNDERSTAND_OUTPUT_TOKENS,
        turns=escape_passage(before),
    )
    said = [text for turn in shown for text in (turn.question, turn.answer) if text]
    return complete_checked(model, request, lambda reply: parse_rewritten(reply, question, said))


def parse_rewritten(reply: ChatReply, question: str, said: Sequence[str]) -> str:
    """Parse a rewritten question; ``said`` are earlier questions and answers. Raises Unparsable."""
    read = restore(require_whole(reply).text)
    lines = [line.strip() for line in read.splitlines() if line.strip()]
    text = lines[0].strip("\"“”'` ") if len(lines) == 1 else ""
    if not 0 < len(text) <= LONGEST_REWRITTEN:
        raise Unparsable("The reply is not one question.")
    check_rewritten(text, question, said)
    return text


_ADDED_CHARACTERS = 80
"""Room for a name and the words around it, beside the question and an earlier one."""
_MOST_REPEATS = 2
"""How much more often than before a term may occur."""

_ASKING = (
    "who|whom|whose|what|when|where|which|why|how|is|are|am|was|were|do|does|did|can|could|has|have"
    "|had|will|would|should|shall|may|might|must"
)
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_ASKED = tuple(
    re.compile(forms, re.IGNORECASE)
    for forms in (
        r"\bwhom?\b|谁|哪位|哪个人", r"\bwhose\b", r"\bwhat\b", r"\bwhich\b",
        r"\bwhen\b|什么时候|何时|哪一?年|哪天|几月|什么时间",
        r"\bwhere\b|哪里|哪儿|在哪|何地|何处|什么地方", r"\bwhy\b|为什么|为何|什么原因|怎么会",
        r"\bhow\b|多少|几|多[大长高久深远]",
    )
)  # fmt: skip
"""The forms of one question each, which a rewritten question keeps."""
_DECIDING = re.compile(
    r"\b(?:except|before|after|more|most|less|least|only|between|against|all|both|each|every)\b",
    re.IGNORECASE,
)
"""Stop words that change what a question asks."""
_ASKS = re.compile(
    rf"^\W*(?:{_ASKING})\b|[?？]\s*$|[谁哪几吗呢何]|什么|多少|怎|是否|是不是|有没有|能否",
    re.IGNORECASE,
)
_STATES = re.compile(r"\b(?:is|are|am|was|were|has|had|did|does|will)\b", re.IGNORECASE)


def check_rewritten(text: str, question: str, said: Sequence[str]) -> None:
    """Raise Unparsable if ``text`` does not ask what ``question`` asks after the texts ``said``.

    A model may resolve a pronoun and add what was said before. A reply that drops a name, a number,
    a negation or another word of the question, adds a word that nobody said, answers, or repeats
    itself is rejected.
    """
    longest = max(map(len, said), default=0)
    if len(text) > len(question) + longest + _ADDED_CHARACTERS:
        raise Unparsable("The rewritten question is much longer than the question.")
    before, after = Counter(terms(question)), Counter(terms(text))
    for term, count in after.items():
        if count > before[term] + _MOST_REPEATS and len(term) > 1:
            raise Unparsable(f"The rewritten question repeats `{term}` {count} times.")
    asked, asks, spoken = (
        simplify(part) for part in (question, text, "\n".join((question, *said)))
    )
    for form in _ASKED:
        if (found := form.search(asked)) and not form.search(asks):
            raise Unparsable(f"The rewritten question does not ask `{found[0]}`.")
    own = asked.rstrip(" ?？") if HAN_CHARACTER.search(asks) else asked
    if not _ASKS.search(asks) and (
        _ASKS.search(own) or _found(_STATES, asks) - _found(_STATES, asked)
    ):
        raise Unparsable("The reply is not a question.")
    lost = [term for term in _own_terms(question) if term not in after]
    lost += [c for word in _own_han(question) for c in word if c not in EMPTY_ZH and c not in asks]
    if lost := [*lost, *sorted(_found(_DECIDING, asked) - _found(_DECIDING, asks))]:
        raise Unparsable(f"The rewritten question has lost `{lost[0]}`.")
    if bool(denials_of(read_text(asked))) != bool(denials_of(read_text(asks))):
        raise Unparsable("The rewritten question adds or drops a negation.")
    known = set(terms(spoken))
    new = [term for term in _own_terms(text) if term not in known]
    if new := [*new, *(word for word in _own_han(text) if word not in spoken)]:
        raise Unparsable(f"The rewritten question adds `{new[0]}`, which nobody said.")


def _found(form: re.Pattern[str], text: str) -> set[str]:
    return {match[0].casefold() for match in form.finditer(text)}


def _own_terms(text: str) -> list[str]:
    """Return the content terms of a text except Han ones, and the names that are stop words."""
    found = [term for term in content_terms(text) if not HAN_CHARACTER.search(term)]
    words = list(_WORD.finditer(text))[1:]
    stopped = (match[0] for match in words if match[0][0].isupper() and match[0] != "I")
    return found + [term for word in stopped for term in terms(word) if term.isascii()]


def _own_han(text: str) -> list[str]:
    """Return the Han words of a text that have a content, simplified."""
    words = segment(text) if HAN_CHARACTER.search(text) else ()
    plain = (word.simplified for word in words if HAN_CHARACTER.search(word.text))
    return [word for word in plain if not all(c in EMPTY_ZH for c in word)]
