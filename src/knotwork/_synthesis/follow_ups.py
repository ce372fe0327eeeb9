"""Rewrite a follow-up question so that it can be understood without the earlier turns.

A model rewrites it if there is one. Otherwise rules do it in one of four ways: what a pronoun or
"the second one" points at is filled in, a question without a subject follows its topic, "why?"
asks the last question with other words, and "and in 2021?" changes a part of it. Where there are
several readings, the documents decide: the one is taken of which a passage has the most words.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property, lru_cache
from itertools import chain, dropwhile
from typing import NamedTuple

import numpy as np

from knotwork._inference.chat import ChatModel, ChatReply, complete_checked, require_whole
from knotwork._inference.prompt_material import escape_passage, restore
from knotwork._questions.languages import CHINESE, ENGLISH, HAN_NUMBER, Words
from knotwork._questions.phrases import Phrase, noun_phrases, topic_of
from knotwork._questions.reading import reading_of
from knotwork._retrieval.question import read_question
from knotwork._retrieval.weights import DEFAULT_WEIGHTS
from knotwork._stores.base import Store
from knotwork._synthesis import messages
from knotwork._synthesis.grounding.statement_check import denials_of
from knotwork._synthesis.grounding.texts import EMPTY_ZH, read_text
from knotwork._synthesis.messages import make_request
from knotwork._text.languages import HAN_AND_KANA, HAN_CHARACTER, segment, simplify, word_set
from knotwork._text.names import normal_form
from knotwork._text.terms import content_terms, terms
from knotwork.errors import ModelError, Unparsable
from knotwork.records import Answer

MOST_TURNS = 6
LONGEST_FOLLOW_UP = 400
"""A question of more characters is taken to be complete by itself."""
_FEW_WORDS, _FEW_CHARACTERS, _FEW_ASKED = 7, 16, 4
_MOST_READINGS = 6
_MOST_TOPICS = 3
_CHANGE, _STEP = 0.35, 0.05
"""How much more support any reading needs than the likeliest, and than the one before it."""


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
    readings = list(dict.fromkeys(_read(follow_up, said)))[:_MOST_READINGS]
    if len(readings) > 1 and support is not None:
        values = [
            value - _STEP * place - (_CHANGE if place else 0.0)
            for place, value in enumerate(support(readings))
        ]
        readings = [readings[values.index(max(values))]]
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
    return _FollowUp(question, names).leaning is not None


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


class _Leaning(Enum):
    """What a question needs from what was said before."""

    ASKED = "the last question, which it asks with other words"
    PART = "the last question, of which it changes a part"
    POINTED = "what it points at"
    TOPIC = "its subject"


class _FollowUp:
    """A question of a conversation; ``rest`` is what it asks, without "and" or "what about"."""

    def __init__(self, question: str, names: NameReader) -> None:
        self.text = " ".join(question.split())
        self.is_chinese = HAN_CHARACTER.search(self.text) is not None
        self.words = _words_of(self.text)
        self.names = names
        simple = simplify(self.text)
        opening = self.words["opening"].match(simple)
        assert opening is not None, "the pattern also matches the empty string"
        self.opens = bool(opening[0].strip()) or simple.rstrip("?？ ").endswith("呢")
        self.rest = _without_end(self.text)[opening.end() :].strip()
        self.simple = simplify(self.rest)

    @cached_property
    def form(self) -> str:
        """The form of words that ask again: "happened", "was_that", "more", "bare"; else ""."""
        forms = ("happened", "was_that", "more", "bare")
        return next((form for form in forms if self.words[form].match(self.simple)), "")

    @cached_property
    def named(self) -> list[SpokenName]:
        """The names in the rest; it is read behind a space, as its capital opens no sentence."""
        return [name for name in self.names(f" {self.rest}") if name.name in self.rest]

    @cached_property
    def pointer(self) -> Pronoun | None:
        """The words that point at something said: a pronoun, "the second one", "which one"."""
        simple = simplify(self.text)
        if item := self.words["ordinal"].search(simple):
            return Pronoun("item", *item.span(), noun=str(item.lastgroup))
        if (pronoun := _open_pronoun(self.text, self.names)) or self.is_chinese or self.named:
            return pronoun
        which = self.words["which_one"].search(simple)
        return Pronoun("which", *which.span(), noun=which["which"]) if which else None

    @cached_property
    def leaning(self) -> _Leaning | None:
        """What it needs; None if it can be understood alone."""
        if not self.rest or len(self.text) > LONGEST_FOLLOW_UP:
            return None
        if self.form:
            return _Leaning.ASKED
        if self.pointer:
            return _Leaning.POINTED
        is_full = self.words["full"].search(self.simple) is not None
        continues = self.opens and _has_few(self.rest)
        if not self.named and ((is_full and continues) or self._lacks_subject()):
            return _Leaning.TOPIC
        return _Leaning.PART if continues and not is_full else None

    def _lacks_subject(self) -> bool:
        """Return True if it names no subject, or one that must be known, as "the crossing"."""
        words, begins = self.words, self.words["full"].match(self.simple) is not None
        if not self.is_chinese:
            found = noun_phrases(self.rest)
            if not begins or len(found) != 1 or found[0].text[:4].lower() != "the ":
                return False
            is_plain = len(found[0].text.split()) == 2 and found[0].text.islower()
            following = self.rest[found[0].end :].lower().split()[:1]
            return is_plain and _DEFINING.isdisjoint(following)
        if words["which_one"].search(self.simple):
            return True
        asked = words["asked"].match(self.simple) if begins else None
        behind = asked["rest"] if asked else self.simple
        has_own = bool(noun_phrases(behind))
        if words["led"].match(self.simple):
            lacks = not begins or not (has_own or len(behind) > _FEW_ASKED)
        else:
            lacks = segment(self.simple)[0].tag.startswith("v") and not has_own
        return lacks and _has_few(self.rest)


_PREPOSITIONS = word_set("en", "prepositions")
_PLACES = frozenset({"PLACE", "ORGANIZATION"})
_AT = frozenset({"in", "at", "near", "from", "to", "on"})
_AROUND = _PREPOSITIONS - {"of", "to", "for", "about"}
_DEFINING = _PREPOSITIONS | {"that", "which", "who"}


def _has_few(text: str) -> bool:
    is_chinese = HAN_CHARACTER.search(text) is not None
    return len(text) <= _FEW_CHARACTERS if is_chinese else len(text.split()) <= _FEW_WORDS


def _words_of(text: str) -> Mapping[str, Words]:
    return (CHINESE if HAN_CHARACTER.search(text) else ENGLISH).follow_ups


def _without_end(question: str) -> str:
    end = _words_of(question)["closing"].search(simplify(question))
    return question[: end.start()] if end else question


def _read(follow_up: _FollowUp, turns: Sequence[ConversationTurn]) -> Iterator[str]:
    """Yield the readings of a question that leans on turns, the likeliest first."""
    last = next((turn for turn in reversed(turns) if turn.question), None)
    if follow_up.leaning is _Leaning.POINTED:
        yield from _fill_in(follow_up, turns, last)
    elif last is None:
        return
    elif follow_up.leaning is _Leaning.ASKED:
        yield from _ask_again(follow_up, last)
    elif follow_up.leaning is _Leaning.PART:
        yield from _change_part(follow_up, last)
    else:
        yield from _put_topic(follow_up, last)


def _fill_in(
    follow_up: _FollowUp, turns: Sequence[ConversationTurn], last: ConversationTurn | None
) -> Iterator[str]:
    """Yield a question with what it points at."""
    pointer = follow_up.pointer
    assert pointer is not None, "that is how it leans"
    needs_owner = pointer.kind == "place" or follow_up.words["owned"].search(follow_up.simple)
    amount = last.amount if last is not None else ""
    if needs_owner and amount and pointer.kind in _ORDERS:
        yield follow_up.text  # nobody opens a rent
    # What is paid is the deposit that was asked for last, not the rent before it.
    older = {turn.amount for turn in turns if amount} - {amount, ""}
    for text in _antecedents(pointer, turns):
        if text in older or (needs_owner and amount and amount in text):
            continue
        filled = _FollowUp(_put(follow_up.text, pointer, text), follow_up.names)
        if filled.leaning is _Leaning.PART and last is not None:
            yield from _change_part(filled, last)
        elif pointer.kind == "which" and " of " not in text and last is not None:
            yield from _put_topic(filled, last)
        else:
            yield filled.text


def _put_topic(follow_up: _FollowUp, last: ConversationTurn) -> Iterator[str]:
    """Yield a question behind the topics of the last turn, and as it is."""
    topics = [topic for topic in _referents("topic", last) if topic not in follow_up.rest]
    which = CHINESE.follow_ups["which_one"].search(follow_up.simple)
    ends = which is not None and which.end() == len(follow_up.simple)
    rest = _spaced(follow_up.rest, last.asked_noun) if ends else follow_up.rest
    asked = (follow_up.words["asked"].match(t.lower()) for t in (follow_up.simple, last.question))
    ways = [match.groups()[:2] for match in asked if match and match[1]]
    if last.amount and ways[1:] == ways[:1]:
        yield follow_up.text  # the next amount belongs to no amount before it
    for topic in topics[:_MOST_TOPICS]:
        yield _closed(_behind(topic, rest), follow_up)
    if topics and not follow_up.form and not follow_up.opens:
        yield follow_up.text


def _behind(topic: str, text: str) -> str:
    is_chinese = HAN_CHARACTER.search(text) is not None
    return _spaced(topic, text) if is_chinese else f"{topic}: {text}"


def _spaced(*parts: str) -> str:
    """Return parts of a Chinese text as one, with a space between Latin and Chinese letters."""
    joined = ""
    for part in filter(None, parts):
        ends = (joined[-1:], part[0])
        is_seam = all(end.isalnum() for end in ends) and ends[0].isascii() != ends[1].isascii()
        joined += f" {part}" if is_seam else part
    return joined


def _closed(text: str, like: _FollowUp) -> str:
    """Return a text as a question."""
    text = " ".join(text.strip(" ?？。.").split())
    if like.is_chinese:
        return f"{text}？"
    begins = like.words["full"].match(text) is not None
    return f"{text[:1].upper() if begins else text[:1]}{text[1:]}?"


def _ask_again(follow_up: _FollowUp, last: ConversationTurn) -> Iterator[str]:
    """Yield the last question with other words that ask: "when?" of what was asked about."""
    form, words = follow_up.form, follow_up.words
    text = _without_end(last.question)
    asked = words["asked"].match(simplify(text))
    if form == "more":
        yield _closed(_ask_more(text, asked, follow_up), follow_up)
        return
    asks = words[form].match(follow_up.simple)
    assert asks is not None, "that is how it leans"
    is_bare = follow_up.is_chinese and form == "bare"
    if not is_bare or _asks_of_deed(asks["wh"], last):
        ask = _ask_chinese if follow_up.is_chinese else _ask_english
        yield _closed(ask(asks["wh"], text, asked, last.asked_name), follow_up)
    if is_bare and not words["why"].search(asks["wh"]):
        yield from _put_topic(follow_up, last)


def _ask_more(text: str, asked: re.Match[str] | None, follow_up: _FollowUp) -> str:
    """Return a question for more than its answer."""
    if asked is None:
        return text
    if follow_up.is_chinese:
        return f"{text[: asked.start('wh')]}还有{text[asked.start('wh') :]}"
    end = asked.end("wh" if asked["verb"] else "who" if asked["who"] else "yes")
    return f"{text[:end]} else{text[end:]}"


_ASKED_NOUN = re.compile(r"(?:which|what|whose) (.+)", re.IGNORECASE)


def _ask_english(wh: str, text: str, asked: re.Match[str] | None, name: str) -> str:
    """Return a question with other words that ask; ``name`` answered it if that asks for one."""
    words = ENGLISH.follow_ups
    if asked is None:
        return f"{wh[:1].upper()}{wh[1:]}: {text}"
    if asked["yes"]:
        return f"{wh} {asked['yes'].lower()} {text[asked.start('of') :]}"
    noun = _ASKED_NOUN.match(asked["wh"] or asked["who"])
    if noun and not name and not words["quantity"].search(noun[1]):
        name = f"the {noun[1]}"
    if asked["who"]:
        subject = name or ("someone" if asked["who"].lower() == "who" else "something")
        was = "was" if words["past"].search(asked["does"]) else "is"
        return f"{wh} {was} it that {subject} {text[asked.start('does') :]}"
    verb, rest = asked["verb"].lower(), text[asked.start("rest") :]
    known = name if words["argument"].search(asked["wh"]) else ""
    begins = rest[:1].islower() and not _determiner(rest) and not verb.startswith("d")
    if begins and asked["wh"].lower() == "who":
        known = known or "someone"  # "who will succeed her" asks for the subject
    is_before = verb in ("is", "are", "was", "were") or known == "someone"
    return f"{wh} {verb} {known} {rest}" if is_before else f"{wh} {verb} {rest} {known}"


def _ask_chinese(wh: str, text: str, asked: re.Match[str] | None, name: str) -> str:
    """Return a question with other words that ask, as `_ask_english`."""
    words = CHINESE.follow_ups
    if asked is None:
        return f"{text}，{wh}"
    before, rest = text[: asked.end("before")], text[asked.start("rest") :]
    is_why = words["why"].search(wh) is not None
    if not is_why and not (name and words["argument"].search(asked["wh"])):
        return f"{before}{wh}{rest}"
    by = asked["wh"][:1] if name and asked["wh"][:1] in "由被在" else ""
    stated = _spaced(before, f"{by}{name}" if name else _that_much(asked["wh"]), rest)
    return f"{wh}{stated}" if is_why else f"{stated}是{wh.lstrip('是')}"


def _that_much(wh: str) -> str:
    """Return what a Chinese question asks for as something known: 这么久 for 多久."""
    found = CHINESE.follow_ups["known"].match(wh)
    known = "这个" if found and found["which"] else f"这么{found['how'] or '多'}" if found else ""
    return f"{found['by']}{known}" if found else wh if "几" in wh else ""


def _asks_of_deed(wh: str, last: ConversationTurn) -> bool:
    """Return True if a Chinese "why?" or "where?" asks of what was done, not of a thing."""
    words = CHINESE.follow_ups
    verbs = (w.simplified for w in segment(last.question) if w.tag[:1] == "v" and w.tag != "vn")
    acts = any(words["stative"].fullmatch(verb) is None for verb in verbs)
    return bool(words["why"].search(wh) or (acts and words["adjunct"].search(wh)))


def _change_part(follow_up: _FollowUp, last: ConversationTurn) -> Iterator[str]:
    """Yield the last question with another part: "and in 2021?", "what about Oslo?"."""
    text = _without_end(last.question)
    changed = list(_change_detail(text, follow_up, last))
    for question in changed or _replace_part(text, follow_up, last):
        yield _closed(question, follow_up)


def _change_detail(text: str, follow_up: _FollowUp, last: ConversationTurn) -> Iterator[str]:
    """Yield a question with another time, place or manner, or one for another quantity."""
    part, words = follow_up.rest, follow_up.words
    first, _, rest = part.partition(" ")
    if times := _times(part):
        old = next(iter(_times(text)), None)
        new = part[slice(*times[0])]
        yield f"{text[: old[0]]}{new}{text[old[1] :]}" if old else _added(part, text)
    elif words["adverb"].match(part):
        ends = (p.start for p in noun_phrases(text) if _with_tail(p, text).end == len(text))
        for place in ends:
            if (before := text[:place].split()) and before[-1].lower() in {"to", *_AROUND}:
                yield f"{' '.join(before[:-1])} {part}"  # in place of "within the country"
        yield _added(part, text)
    elif follow_up.is_chinese:
        return
    elif rest and first.lower() in _PREPOSITIONS:
        led = (p for p in noun_phrases(text) if _before(p, text) == first.lower())
        for phrase in [*led][:1]:
            yield f"{text[: phrase.start]}{rest}{text[_with_tail(phrase, text).end :]}"
        yield _added(part, text)
    elif words["quantity"].search(part.partition(" of ")[0].split()[-1]):
        topic = next(_referents("topic", last), "")
        is_whole = not topic or follow_up.named or " of " in part
        yield f"What is {part}" if is_whole else f"What is {part} of {topic}"


def _replace_part(text: str, follow_up: _FollowUp, last: ConversationTurn) -> Iterator[str]:
    """Yield a question with the part replaced that is most alike; else its topic goes on."""
    part, topic = follow_up.rest, next(_referents("topic", last), "")
    fits = [(_fit(slot, part, follow_up.named, last), slot) for slot in _slots(text, last)]
    fits.sort(key=lambda fit: -fit[0])
    alike = [slot for fit, slot in fits if fit >= _FITS][:2]
    slots = alike or [slot for _, slot in fits[:1]]
    changed = [f"{text[: slot.start]}{part}{text[slot.end :]}" for slot in slots]
    continued = [_behind(topic, part)] if topic and topic not in part and not alike else []
    if _class_of(part, set()) in ("place", "time") and not alike:
        continued = [_added(part, text)]  # "abroad" can be put before a Chinese question
    is_attribute = follow_up.is_chinese and not follow_up.named
    yield from (*continued, *changed) if is_attribute else (*changed, *continued)
    if not topic and not fits:
        yield _added(part, text)


def _added(part: str, text: str) -> str:
    return f"{part}{text}" if HAN_CHARACTER.search(part) else f"{text} {part}"


def _times(text: str) -> list[tuple[int, int]]:
    """Return the places of the times of a text."""
    found = [a for a in reading_of(text).amounts if a.is_marked_time or a.first]
    return [(amount.span.start, amount.span.end) for amount in found]


def _is_time(text: str) -> bool:
    """Return True for a text that is a time alone, as "2021" or 2021年."""
    return any(text[start:end] == text for start, end in _times(text))


def _slots(text: str, last: ConversationTurn) -> list[Phrase]:
    """Return the parts of a question that another thing may replace."""
    has_topic = bool(last.topic) and last.topic in text
    topic = [Phrase(last.topic, text.index(last.topic))] if has_topic else []
    names = (Phrase(n.name, n.start) for n in last.names if text.startswith(n.name, n.start))
    bare = (name for name in names if text[name.start - 1 : name.start] != "-")
    phrases = noun_phrases(text)
    owners = (Phrase(p.text.partition("'s ")[0], p.start) for p in phrases if "'s " in p.text)
    return list(dict.fromkeys((*phrases, *topic, *bare, *owners)))


_FITS = 1.9


def _fit(slot: Phrase, part: str, named: Sequence[SpokenName], last: ConversationTurn) -> float:
    """Return how alike a part of the last question and a phrase are in kind."""
    kinds = {name.type for name in named if len(name.name) * 2 > len(part)} - {""}
    own = {n.type for n in last.names if n.name in slot.text and len(n.name) * 2 > len(slot.text)}
    value = 4.0 if kinds & own else -1.0 if kinds and own else 0.0
    if set(content_terms(slot.text)) & set(content_terms(part)) or slot.head == part[-2:]:
        value += 3.0
    is_chinese = HAN_CHARACTER.search(last.question) is not None
    one, other = ((slot.text, own), (part, kinds))
    if _class_of(*one, in_chinese=is_chinese) == _class_of(*other, in_chinese=is_chinese):
        value += 2.0
    if _before(slot, last.question) in ("and", "or") or slot.text == last.question:
        value -= 1.0
    if _determiner(slot.text) == _determiner(part):
        value += 1.0
    return value - (0.5 if slot.asked else 0.0) - (slot.start - len(slot.text) / 10) / 1000


def _class_of(text: str, kinds: set[str], *, in_chinese: bool = False) -> str:
    """Return whether a phrase is a "name", or a "common" one, a "place" or a "time"."""
    if re.search(r"[A-Z_\d/《]|\w-\w|\(\)", text):
        return "name"
    if not HAN_CHARACTER.search(text):
        return "name" if in_chinese else "common"
    tag = segment(text)[-1].tag[:1]
    return "name" if kinds - {""} else {"s": "place", "f": "place", "t": "time"}.get(tag, "common")


def _determiner(text: str) -> str:
    first = text.partition(" ")[0].lower()
    return first if first in ("the", "a", "an") else ""


def _before(phrase: Phrase, text: str) -> str:
    """Return the word before a phrase in lower case."""
    return "".join(text[: phrase.start].lower().split()[-1:])


_TAIL = re.compile(r"\s+(?:of|to|for|from|in|on|at)\s+", re.IGNORECASE)


def _with_tail(phrase: Phrase, text: str) -> Phrase:
    """Return a phrase with what "of", "to" or the like adds to it."""
    tail = _TAIL.match(text, phrase.end)
    following = (p for p in noun_phrases(text) if tail and p.start == tail.end())
    return next((Phrase(text[phrase.start : p.end], phrase.start) for p in following), phrase)


def _things(question: str) -> Iterator[Phrase]:
    """Yield the phrases of a question that "it" may stand for, the likeliest first."""

    def unlikelihood(phrase: Phrase) -> tuple[bool, bool, bool]:
        is_one = _is_specific(phrase) and not _is_plural(phrase)
        return phrase.asked, not is_one, _before(phrase, question) in _AROUND

    for phrase in sorted(noun_phrases(question), key=unlikelihood):
        whole = _with_tail(phrase, question)
        if whole == phrase or not ENGLISH.follow_ups["quantity"].search(phrase.text):
            yield whole  # of "the price of X", X


def _is_plural(phrase: Phrase) -> bool:
    head = phrase.head
    return head.islower() and head.endswith("s") and not head.endswith("ss")


def _is_specific(phrase: Phrase) -> bool:
    """Return True for a phrase that stands for one thing: "the ferry", "buoy 7", "Heron"."""
    return bool(_determiner(phrase.text)) or _class_of(phrase.text, set()) != "common"


QUESTION_CHARACTERS = 600
ANSWER_CHARACTERS = 600
ANSWER_NAMES = 8
_SHORT_ANSWER = 150
"""Characters of an answer that hardly says more than what is asked for."""
_FEW_TIMES = 4
"""How much longer an answer may be than the name that is all that it says."""
_MOST_TOGETHER = 4
"""Things that "they" stand for by their names."""
_LONGEST_TOPIC = 8
"""Words before a colon that are the topic of a question."""
_CITATION_MARK = re.compile(r"\s*\[M?\d+\](?:\([^)]*\))?")
_LISTED = re.compile(r"^\s*(?:[-*•]|\d+[.)、])\s+(.+)$", re.MULTILINE)
_LONGEST_ITEM = 9
_NO_ANSWERS = tuple(
    text
    for message in (messages.no_answer, messages.not_clear, messages.no_match)
    for text in (message.en, message.zh)
)


@dataclass(frozen=True)
class ConversationTurn:
    """A question that stands alone, its answer, and the names in each.

    ``answer_names`` are those that the question does not have, ``items`` what the turn lists, in
    order, and ``best`` is the sentence of the answer that answers best. A statement of the user
    is the answer to an empty question.
    """

    question: str
    answer: str = ""
    names: tuple[SpokenName, ...] = ()
    answer_names: tuple[SpokenName, ...] = ()
    items: tuple[str, ...] = ()
    best: str = ""

    @cached_property
    def topic(self) -> str:
        """What a Chinese question is about, or stands before a colon in an English one; or ""."""
        if HAN_CHARACTER.search(self.question):
            return topic_of(self.question)
        topic, colon, _ = self.question.partition(": ")
        return topic if colon and len(topic.split()) <= _LONGEST_TOPIC else ""

    @cached_property
    def amount(self) -> str:
        """What a question measures without saying of what, as "the rent" in 2020; or ""."""
        asked = _words_of(self.question)["asked"].match(simplify(self.question))
        things = [p for p in noun_phrases(self.question) if not _is_time(p.text)]
        tells = bool(reading_of(self.best).amounts) or re.search(HAN_NUMBER, self.best)
        is_measured = asked is not None and not self.names and len(things) == 1 and tells
        return things[0].text if is_measured else ""

    @cached_property
    def measured(self) -> str:
        """What a Chinese question measures of its topic, as 俱乐部的会费, but not its price."""
        words, whole = CHINESE.follow_ups, f"{self.topic}的"
        if not self.topic or not re.search(HAN_NUMBER, self.best):
            return ""
        held = (p.text for p in noun_phrases(self.question) if p.text.startswith(whole))
        return next((text for text in held if not words["quantity"].search(text)), "")

    @cached_property
    def asked_noun(self) -> str:
        """The noun behind "which" or "how many"; empty if there is none."""
        phrases = noun_phrases(self.question)
        if HAN_CHARACTER.search(self.question):
            asked = CHINESE.follow_ups["asked"].match(simplify(self.question))
            start = asked.start("rest") if asked else -1
            noun = next((p.text for p in phrases if start <= p.start <= start + 1), "")
            if asked and not noun and asked["wh"].endswith(("家", "个")):
                noun = segment(asked["rest"])[0].text if asked["rest"] else ""
            words = dropwhile(lambda word: word.tag[0] in "mqx", segment(noun))
            return "".join(word.text for word in words)
        return next((phrase.text for phrase in phrases if phrase.asked), "")

    @cached_property
    def asked_name(self) -> str:
        """The name in the answer that the question asks for, "" if it asks for none."""
        words, found = _words_of(self.question), self.answer_names
        if reading_of(self.question).asks_who:
            firms = (name.name for name in self.told_names if name.type == "ORGANIZATION")
            return self.asked_person or ("" if self._defines() else next(firms, ""))
        if not words["argument"].search(simplify(self.question)) or self._defines():
            return ""
        asked = self.asked_noun
        if things := self.asked_things:
            return things[0]
        if words["organization"].search(asked) or words["place"].search(asked):
            return found[0].name
        told = self.told_names if _PLACE_OF.match(self.question) else ()
        told = [n for n in told if n.name in self.best and n.type in ("", "PLACE")]
        places = (n.name for n in told if not words["organization"].search(n.name))
        held = next((name for name in places if _holds(name, self)), "")
        if held or len(found) != 1 or words["quantity"].search(self.question):
            return held
        longest = _SHORT_ANSWER if asked else _FEW_TIMES * len(found[0].name)
        return found[0].name if len(self.answer) <= longest else ""

    @cached_property
    def asked_person(self) -> str:
        """The person of the answer that it asks for, or of whom it asks by a role; or ""."""
        persons = [name for name in self.told_names if _may_be_person(name)]
        persons.sort(key=lambda name: name.name not in self.best)
        if not reading_of(self.question).asks_who:  # an author's page names more than authors
            persons.sort(key=lambda name: name.type != "PERSON")
        return persons[0].name if persons and self._asks_person() else ""

    def _asks_person(self) -> bool:
        """Return True for "Who leads it?", "Whose idea was it?", "Where does her boss live?"."""
        words, simple = _words_of(self.question), simplify(self.question)
        asked = words["asked"].match(simple)
        if reading_of(simple).asks_who or (asked and (asked["wh"] or "").lower()[:5] == "whose"):
            return not self._defines()
        phrases = (p for p in noun_phrases(simple) if not words["quantity"].search(p.text))
        first = next(phrases, None)
        role = words["person"].search(first.text) if first and not _is_plural(first) else None
        holder = first.text[: role.start()] if first and role else ""
        return role is not None and not any(holder == name.name for name in self.names)

    @cached_property
    def asked_things(self) -> list[str]:
        """The phrases of the answer that name a thing of the kind that the question asks for.

        Asked for a package, they are "the mail-server package"; a name may also stand just where
        the question asks.
        """
        asked, said = self.asked_noun, self.best
        if not asked or _words_of(self.question)["quantity"].search(asked):
            return []
        found = [p.text for p in noun_phrases(said) if _names_one(p, asked)]
        return [text for text in found if text not in self.question] or self._put_in_place(said)

    def _put_in_place(self, said: str) -> list[str]:
        """Return the names that stand in a sentence where a Chinese question asks."""
        asked = CHINESE.follow_ups["asked"].match(simplify(self.question))
        if asked is None:
            return []
        before = [w.text for w in segment(asked["before"]) if w.tag[0] in "vp"][-1:]
        bare = re.sub(r"[\s了]", "", said)
        names = [name.name for name in self.answer_names if before]
        return [name for name in names if f"{before[0]}{name}".replace(" ", "") in bare]

    @cached_property
    def persons(self) -> frozenset[str]:
        """The names that must be those of persons."""
        defined = reading_of(self.question).asks_who and self._defines()
        who = {self.asked_person, *(name.name for name in self.names if defined)}
        may_be = (n for n in (*self.names, *self.answer_names) if _may_be_person(n))
        return frozenset(n.name for n in may_be if n.type == "PERSON" or n.name in who)

    @property
    def told_together(self) -> str:
        """The things that the answer names in one breath, as "Tern and Petrel"; or ""."""
        is_chinese = HAN_CHARACTER.search(self.question) is not None
        said = {name.name: self.best.find(name.name) for name in self.told_names}
        if is_chinese:
            items = (item for item in self.items if _class_of(item, set()) == "name")
            said |= {item: self.best.find(item) for item in items}
        told = sorted((name for name in said if said[name] >= 0), key=lambda name: said[name])
        joint = _words_of(self.question)["items"]
        run = told[:1]
        for name in told[1:]:
            between = self.best[said[run[-1]] + len(run[-1]) : said[name]]
            if joint.fullmatch(between):
                run.append(name)
            elif len(run) == 1:
                run = [name]
        if not 1 < len(run) <= _MOST_TOGETHER:
            return ""
        return (
            _spaced(*chain(*((name, "和") for name in run[:-1])), run[-1])
            if is_chinese
            else (f"{', '.join(run[:-1])} and {run[-1]}")
        )

    @property
    def told_names(self) -> list[SpokenName]:
        """The names of the answer that are no longer forms of those of the question."""
        own = [name.name for name in self.names]
        return [name for name in self.answer_names if not any(text in name.name for text in own)]

    def _defines(self) -> bool:
        """Return True if it asks who or what a name is, so that this stays the subject."""
        words = _words_of(self.question)
        if not (found := words["defines"].search(simplify(self.question))):
            return False
        before, text = self.question[: found.start()], self.question[found.end() :]
        if before or not text:
            return not before or any(name.name == before for name in self.names)
        phrase = next(iter(noun_phrases(text)), Phrase(text, 0))
        rest = text[phrase.end :].lower().strip(" ?.!").split()
        is_role = words["person"].search(phrase.text) is not None
        asks_person = is_role or reading_of(self.question).asks_who
        is_no_name = phrase.head.islower() or (is_role and rest[:1] == ["of"])
        is_of_other = _OWNER.search(phrase.text) or (rest and rest[-1] in _PREPOSITIONS)
        return not (asks_person and (is_no_name or is_of_other))


def read_turn(question: str, answer: str, names: NameReader) -> ConversationTurn:
    """Return a turn with its names; only the first characters of long texts are read.

    Words that only say that there is no answer are left out.
    """
    question = " ".join(question.split())[:QUESTION_CHARACTERS]
    plain = _CITATION_MARK.sub("", answer[:ANSWER_CHARACTERS])
    bare = _BOLD.sub(r"\1", plain)
    said = "" if bare.strip().startswith(_NO_ANSWERS) else " ".join(bare.split())
    asked = tuple(names(question)) or _asked_person(question)
    forms = {normal_form(name.name) for name in asked}
    best = _best_part(question, _BOLD.findall(plain) or _SENTENCE_END.split(bare)) if said else ""
    clause = _best_part(question, _CLAUSE_END.split(best))
    told = sorted(names(best), key=lambda name: name.name not in clause) if best else []
    told += names(said) if said else []
    found: dict[str, SpokenName] = {}
    for name in told:
        if (form := normal_form(name.name)) not in forms:
            found.setdefault(form, name)
    new = list(found.values())
    items = _find_items(question, bare if said else "", new)
    return ConversationTurn(question, said, asked, tuple(new[:ANSWER_NAMES]), items, best)


def _asked_person(question: str) -> tuple[SpokenName, ...]:
    """Return the person of a Chinese "who is he?" whose name no document knows."""
    who, end, _ = question.partition("是谁")
    is_person = bool(who and end) and segment(who)[0].tag.startswith("nr")
    return (SpokenName(who, "PERSON"),) if is_person else ()


_PLACE_OF = re.compile(
    r"what (?:is|was) the (?:place|town|city|village|island|country|state|county) of ",
    re.IGNORECASE,
)
_CHOICE = re.compile(r"\s+or\s+|\s*还是\s*")
_BOLD = re.compile(r"\*\*(.+?)\*\*", re.DOTALL)


_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n+")
_OWNER = re.compile(r"['’]s?(?=\s|$)")
_CLAUSE_END = re.compile(r"[,;]\s|[，；]")


def _best_part(question: str, parts: Iterable[str]) -> str:
    """Return the part of an answer that has most words of its question."""
    asked = set(content_terms(question))
    return max(parts, key=lambda text: len(asked & set(content_terms(text))))


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
    for text in (question, answer):
        found = _joined(text)
        if len(found) > 1:
            return found
    return tuple(name.name for name in names) if len(names) > 1 else ()


def _joined(text: str) -> tuple[str, ...]:
    """Return the names or phrases that "and" joins, in the first sentence that has some."""
    words = _words_of(text)
    for sentence in re.split(r"(?<=[.!?。！？])\s*|\n+", text):
        body = re.split(r"[:：]", sentence)[-1].strip(" .?。？!")
        first, *others = (part.strip() for part in words["items"].form.split(simplify(body)))
        if not others:
            continue
        phrases = [noun_phrases(part) for part in (first, *others)]
        found = [phrases[0][-1].text if phrases[0] else first]
        for part, inside in zip(others, phrases[1:], strict=True):
            found.append(part if _is_short(part) else inside[0].text if inside else "")
        found = [item for item in found if item and _is_short(item)]
        if number := words["number"].search(sentence):  # "the two servers of Samba, smbd and nmbd"
            found = found[-int(str(number.lastgroup)[1:]) :]
        if len(found) > 1:
            return tuple(found)
    return ()


def _names_one(phrase: Phrase, kind: str) -> bool:
    """Return True for "the mail-server package" or "the package mail-server" of kind "package"."""
    text = phrase.text.removeprefix(_determiner(phrase.text)).strip()
    left = (text.removesuffix(kind) if text.endswith(kind) else text.removeprefix(kind)).strip()
    if left in ("", text) or left.isdigit():
        return False
    if HAN_CHARACTER.search(left):
        return segment(left)[0].tag[:1] in "ne" and "的" not in left
    return _class_of(left, set(), in_chinese=HAN_CHARACTER.search(kind) is not None) == "name"


def _is_short(item: str) -> bool:
    is_chinese = HAN_CHARACTER.search(item) is not None
    return (len(item) if is_chinese else len(item.split())) <= _LONGEST_ITEM


_LETTER = rf"[^\W{HAN_AND_KANA}]"
_CAPITAL_WORD = rf"(?:[A-Z]\.(?=\s)|[A-Z](?:{_LETTER}|['’-]|\.(?={_LETTER}))*)"
_CAPITALS = re.compile(
    rf"{_CAPITAL_WORD}(?:\s+(?:(?:of|the|de|van|von|for)\s+)*(?:{_CAPITAL_WORD}|[0-9](?:{_LETTER}|['’-])*))*|《[^》]+》"
)
_SENTENCE_START = re.compile(r"(?:^|[.!?:;…]|\n)\W*$")
_LOOK_BACK = 20
_NAME_END = re.compile(r"['’]s?$|\s*\([^)]*$")
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
        while words and _OWNER.split(words[0].lower())[0] in _NO_NAMES:
            start += len(words[0]) + 1
            words = words[1:]
        name = _NAME_END.sub("", " ".join(words))
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
            SpokenName(_NAME_END.sub("", text[start:end]), link.entity.type, start)
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
    """Words that point at something said: their offsets, and what they may refer to.

    That is a "person", a "thing", a "place", "any" of these, a time ("then"), what was said last
    ("that"), what is "named" by a ``noun`` as in "this company", an "item" of a list at the place
    that ``noun`` names, or "which" of them.
    """

    kind: str
    start: int
    end: int
    possessive: bool = False
    noun: str = ""


_OWN = "_own"
"""The end of the name of a group of possessive pronouns; names of groups begin with their kind."""
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
            return Pronoun(group.partition("_")[0], start, end, group.endswith(_OWN), noun)
    return None


def _open_pronoun(question: str, names: NameReader) -> Pronoun | None:
    """Return the first pronoun of a question, unless a name precedes it in the question."""
    pronoun = find_pronoun(question)
    if pronoun is None:
        return None
    named = (name for name in names(question) if name.is_proper)
    is_object = ENGLISH.follow_ups["object"].match(question[pronoun.start :]) is not None
    return pronoun if is_object or all(n.start > pronoun.start for n in named) else None


def _put(text: str, pronoun: Pronoun, name: str) -> str:
    """Return a text with a name in the place of a pronoun."""
    before, after = text[: pronoun.start], text[pronoun.end :]
    if HAN_CHARACTER.search(text):
        return _spaced(before, name, after)
    if pronoun.kind == "place":
        is_bare = re.search(r"\b(?:from|to|in|at|near|around)\s+$", before)
        there = "there " if ENGLISH.follow_ups["exists"].search(before) else ""
        return f"{before}{there}{'' if is_bare else 'in '}{name}{after}"
    if pronoun.kind == "then":
        return f"{before}in {name}{after}"
    ending = "'s" if pronoun.possessive else ""
    return f"{before}{name}{ending}{after}"


def _antecedents(pronoun: Pronoun, turns: Sequence[ConversationTurn]) -> Iterator[str]:
    """Yield what a pronoun may refer to, the likeliest first; the latest turns are tried first."""
    kind, noun = pronoun.kind, pronoun.noun
    if kind == "item":
        yield from _find_item(noun, turns)
    elif kind == "person":
        yield from _find_persons(turns)
        yield from (turn.told_together for turn in turns[-1:] if turn.told_together)
    elif kind == "which" and turns:
        items, asked = turns[-1].items, turns[-1].asked_noun
        if asked:
            yield f"{noun} {asked}"
        elif items:
            yield f"{noun} of {' and '.join(items)}"
    else:
        for turn in reversed(turns):
            if kind == "then":
                for text in (turn.answer, turn.question):
                    yield from (text[start:end] for start, end in _times(text)[:1])
            else:
                persons = _persons_of(turns)
                named = _named_by(noun, turn) if kind == "named" else None
                yield from named or _referents(kind, turn, persons)


def _persons_of(turns: Sequence[ConversationTurn]) -> frozenset[str]:
    return frozenset(chain.from_iterable(turn.persons for turn in turns))


def _find_persons(turns: Sequence[ConversationTurn]) -> Iterator[str]:
    """Yield the names of persons; those that are known to be persons precede all others."""
    known: list[SpokenName] = []
    for turn in reversed(turns):
        asks = bool(turn.asked_name or turn.asked_person)
        both = (turn.told_names, turn.names) if asks else (turn.names, turn.told_names)
        known += (name for name in chain(*both) if _may_be_person(name))
    yield from (name.name for name in known if name.name in _persons_of(turns))
    for turn in turns[-1:]:
        persons = (name for name in turn.answer_names if _may_be_person(name))
        if reading_of(turn.question).asks_who and not any(persons):
            yield from _referents("topic", turn)  # nobody knows who that is
    yield from (name.name for name in known)


_ENGLISH = frozenset(["whole", "one"])
_ORDERS = {
    "thing": "asked measured topic one noun name phrase place told",
    "that": "asked measured topic one name phrase place told",
    "any": "together asked topic name phrase place told",
    "place": "name told",
    "topic": "topic whole name phrase asked",
}
"""What a pronoun of a kind stands for, or what a turn is about, the likeliest first.

That is what the answer names together, what a question asks for, what it measures of its topic, its
topic, one thing in it, a thing with a name, a name, a phrase, a place, and a name of the answer.
"""


def _referents(kind: str, turn: ConversationTurn, others: Collection[str] = ()) -> Iterator[str]:
    """Yield what a turn speaks of and a pronoun of a kind may stand for, the likeliest first.

    It stands for none of the ``others``.
    """
    is_chinese, asked = HAN_CHARACTER.search(turn.question) is not None, turn.asked_name
    own = [n.name for n in turn.names if n.name not in others and not _is_time(n.name)]
    told = [n.name for n in turn.answer_names if n.name not in others and not _is_time(n.name)]
    typed = {n.name for n in (*turn.names, *turn.answer_names) if n.type == "PLACE"}
    places = typed if kind not in ("topic", "place") else set[str]()
    phrases = noun_phrases(turn.question) if is_chinese else _things(turn.question)
    things = [
        p for p in phrases if not any(other in p.text for other in others) and not _is_time(p.text)
    ]
    if kind == "thing" and not is_chinese:
        things = [thing for thing in things if not _is_plural(thing)]
    if kind == "any":
        things.sort(key=lambda thing: (not _is_plural(thing), thing.start))
    if asked in others or (turn.asked_noun.endswith("s") and len(turn.answer_names) > 1):
        asked = ""
    noun = turn.asked_noun if kind == "thing" and not is_chinese else ""
    led = (p for p in things if _before(p, turn.question) not in _AROUND)
    one = (p for p in led if _is_specific(p) and not _is_plural(p) and "'s " not in p.text)
    roles: dict[str, Iterable[str]] = {
        "asked": [asked],
        "together": [turn.told_together],
        "measured": [turn.measured],
        "topic": [] if turn.topic in others else [turn.topic],
        "whole": (p.text for p in things if any(n != p.text and n in p.text for n in own)),
        "one": (p.text for p in one),
        "noun": [f"the {noun}"] if noun and not noun.endswith("s") else [],
        "name": (name for name in own if name not in places),
        "phrase": (p.text for p in things if p.text not in places),
        "place": (name for name in (*own, *told) if name in places),
        "told": [name for name in told if kind != "place" or _holds(name, turn)],
    }
    order = (role for role in _ORDERS[kind].split() if not (is_chinese and role in _ENGLISH))
    yield from dict.fromkeys(filter(None, chain.from_iterable(map(roles.__getitem__, order))))


def _holds(name: str, turn: ConversationTurn) -> bool:
    """Return True if one can be "there": a place, a firm, or what an answer has behind "in"."""
    words = _words_of(name)
    is_kind = any(words[kind].search(name) for kind in ("place", "organization"))
    types = {n.type for n in turn.answer_names if n.name == name}
    before = turn.answer[: max(turn.answer.find(name), 0)].lower().split()[-1:]
    return is_kind or not types.isdisjoint(_PLACES) or not _AT.isdisjoint(before)


def _named_by(noun: str, turn: ConversationTurn) -> Iterator[str]:
    """Yield the names and phrases of a turn that a word such as "company" may stand for."""
    words, stems = _words_of(turn.question), set(content_terms(noun))
    names = (*turn.names, *turn.answer_names)
    alike = (n for n in names if stems & set(content_terms(n.name)) or noun in n.name)
    kinds = [kind for kind in ("person", "place", "organization") if words[kind].search(noun)]
    typed = (name for name in names if name.type.lower() in kinds)
    yield from (name.name for name in chain(alike, typed))
    if turn.amount and words["sum"].search(noun):
        yield turn.amount
    yield from (p.text for p in _things(turn.question) if stems & set(content_terms(p.head)))


def _may_be_person(name: SpokenName) -> bool:
    text, words = name.name, _words_of(name.name)
    is_word = text.isascii() and (text.islower() or text.isupper()) and " " not in text
    is_other = is_word or words["organization"].search(text) or words["place"].search(text)
    may_be = name.type not in _NO_PERSONS and (name.type != "" or not is_other)
    return may_be and not _is_time(text)


def _find_item(place: str, turns: Sequence[ConversationTurn]) -> list[str]:
    """Return the item that "the second one" or "the other one" stands for."""
    said = turns[-1].question if turns else ""
    able = [turn for turn in reversed(turns) if len(turn.items) > 1]
    able.sort(key=lambda turn: not any(item in said for item in turn.items))
    for turn in able:
        items = turn.items
        if place == "other":
            left = [item for item in items if item not in said]
            return left[:1] if 0 < len(left) < len(items) else [items[-1]]
        at = len(items) - 1 if place == "last" else int(place[1])
        if at < len(items):
            return [items[at]]
    return []


Support = Callable[[Sequence[str]], Sequence[float]]
"""Returns how well passages support each reading of a question, from 0 to 1."""

_SUPPORTING = 20


def index_support(store: Store) -> Support:
    """Return how well the passages of an index support the readings of a question.

    A reading is supported by a passage that has its own words, such as a name, and more of the
    words that all readings share than chance explains: a common name is near anything.
    """

    def values(readings: Sequence[str]) -> Sequence[float]:
        asked = [_word_terms(text) for text in readings]
        shared, index = set.intersection(*asked), store.texts("chunk")
        held = index.document_frequencies(set().union(*asked))
        rarity = {term: float(np.log(index.count() / held[term])) for term in held}
        chance = float(np.log(index.count() + 1))
        most = max(sum(rarity.get(term, 0.0) for term in shared), chance)
        found: list[float] = []
        for text, wanted in zip(readings, asked, strict=True):
            known = sorted(wanted & held.keys())
            is_own = np.array([term not in shared for term in known], dtype=bool)
            weights = np.array([rarity[term] for term in known])
            ids = [item.id for item in index.search(text, k=_SUPPORTING)]
            has = index.occurrences(ids, known) > 0
            rarest = (has * is_own * weights).max(axis=1, initial=0.0)
            lacking = (~has * is_own) @ weights
            value = (has * ~is_own) @ weights + rarest - lacking - chance
            found.append(float(value.max(initial=0.0)) / most)
        return found

    return values


def _word_terms(text: str) -> set[str]:
    """Return the terms of the words of a text, without those that two words share."""
    words = [w.text for w in segment(text)] if HAN_CHARACTER.search(text) else [text]
    return set(chain.from_iterable(map(content_terms, words)))


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
    if not _asks(asks) and (_asks(own) or _found(_STATES, asks) - _found(_STATES, asked)):
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


def _asks(text: str) -> bool:
    return text.rstrip()[-1:] in ("?", "？", "呢") or bool(_words_of(text)["full"].search(text))


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
