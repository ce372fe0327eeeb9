"""The reading of a question: what it asks, read once for all that need it.

Each part is read when it is first asked for. Equal texts share one reading. A question has a scope
(the whole, a document, a topic, a number) if it matches a form of its language as a whole, so that
a question for a fact is rarely taken for one about a text.

Compound questions are divided: clauses that each ask, "A and B each" or "A 和 B 分别", comparisons.

The kind of answer that a question expects is predicted by a multinomial logistic regression on
hashed features of the question. They are its words or Chinese characters, runs of two and three of
them, the first and last ones, its form (the same with one sign for each run of words of its topic),
and cues: words that people use to ask for one kind of answer. The weights ship with this package;
see training/question_kinds/README.md.
"""

from __future__ import annotations

import re
import unicodedata
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache, cached_property, lru_cache
from importlib.resources import files
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from knotwork._questions.languages import (
    CHINESE,
    DIMENSIONS,
    ENGLISH,
    Amount,
    AmountComparison,
    Language,
    Words,
    read_amounts,
    read_comparisons,
    read_words,
)
from knotwork._text.languages import HAN, HAN_CHARACTER, detect_language, simplify
from knotwork._text.numbers import find_numbers
from knotwork._text.terms import content_terms
from knotwork.errors import ConfigError
from knotwork.records import Span


class QuestionKind(StrEnum):
    """A kind of answer that a question expects."""

    VALUE = "value"
    """A fact: a name, a number, a date, a place, a default."""
    YES_NO = "yes_no"
    DEFINITION = "definition"
    """What something is, or what a term, option or sign means."""
    LIST = "list"
    STEPS = "steps"
    """What to do, or the stages in which something happens."""
    TABLE_ROWS = "table_rows"
    """Entries of a table."""
    CODE = "code"
    """Code, a command, a query, an example of a configuration."""
    REASON = "reason"
    COMPARISON = "comparison"
    SUMMARY_ONE = "summary_one"
    """What one document, chapter or thing is about."""
    SUMMARY_ALL = "summary_all"
    """What all documents are about."""
    COUNT = "count"
    """How many documents, or things in all documents, there are."""


KINDS = tuple(QuestionKind)
"""The kinds in the order of the columns of the weights."""


class _Weights(NamedTuple):
    """The weights of the features with a column for each kind, and those of the kinds alone.

    ``hashes`` has those of the names of the features, in order.
    """

    hashes: NDArray[np.uint32]
    features: NDArray[np.float32]
    biases: NDArray[np.float32]


def read_kinds(question: str) -> dict[QuestionKind, float]:
    """Return the probability of each kind, the most probable first.

    A question without letters and digits is one for a value.
    """
    names = name_features(question)
    hashes = np.array(sorted({zlib.crc32(name.encode()) for name in names}), dtype=np.uint32)
    if not len(hashes):
        return {kind: float(kind is QuestionKind.VALUE) for kind in KINDS}
    weights = _read_weights()
    places = np.minimum(np.searchsorted(weights.hashes, hashes), len(weights.hashes) - 1)
    places = places[weights.hashes[places] == hashes]
    odds = weights.features[places].sum(axis=0) / max(len(places), 1) ** 0.5 + weights.biases
    powers = np.exp((odds - odds.max()).astype(np.float64))
    shares = (powers / powers.sum()).tolist()
    ranked = sorted(zip(KINDS, shares, strict=True), key=lambda pair: -pair[1])
    return dict(ranked)


@cache
def _read_weights() -> _Weights:
    """Return the weights that ship with this package.

    Raises ConfigError if they are of other kinds.
    """
    place = files("knotwork._questions").joinpath("kinds.npz")
    with place.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
        hashes, steps, scales, biases = (
            file[name] for name in ("hashes", "steps", "scales", "biases")
        )
        names = tuple(file["kinds"].tolist())
    if steps.shape != (len(hashes), len(KINDS)) or names != KINDS:
        raise ConfigError(
            "The weights `kinds.npz` were trained on other kinds of questions.",
            fix="Train them again: see training/question_kinds/README.md.",
        )
    features = steps.astype(np.float32) * scales.astype(np.float32)
    return _Weights(hashes, np.ascontiguousarray(features), biases.astype(np.float32))


LONGEST = 200
"""How many characters are read of the start of a question, and as many of its end."""

_WORDS = read_words("kinds")
_START, _END, _TOPIC = "^", "$", "_"
_FRAME = {*_WORDS["frame_words"].split(), *_WORDS["frame_characters"], _START, _END}
"""What makes the form of a question; all else is its topic there."""
_SIGNS = {word: name for name, words in _WORDS["topics"].items() for word in words.split()}
"""The sign that stands for a word of the topic in the form of a question."""
_OPENERS = [opener.split() for opener in _WORDS["openers"]]
_REQUESTS = frozenset(_WORDS["requests"].split())
_ASKING_VERBS = frozenset(_WORDS["asking_verbs"].split())

_ENDINGS = ("ing", "est", "er", "ly", "s")

_CLAUSE_ENDS = frozenset(".,;:!?。，；：！？、—–-\n")
_CUE_COPIES = 3
"""How many features each cue is, so that it weighs more than one word."""


def _drop_opener(clause: list[str]) -> list[str]:
    """Return a clause without the words that only make a request polite."""
    for opener in _OPENERS:
        rest = clause[len(opener) :]
        if clause[: len(opener)] != opener or not rest:
            continue
        is_free = " ".join(opener) in _WORDS["free_openers"]
        if is_free or rest[0] in _REQUESTS:
            return rest[:-1] if rest[-1] == "吗" and not is_free and len(rest) > 1 else rest
    return clause


def name_features(question: str) -> set[str]:
    """Return the names of the features that a question has."""
    clauses = [_drop_opener(clause) for clause in _split_clauses(question)]
    if not clauses:
        return set()
    units = [unit for clause in clauses for unit in clause]
    shares_of_han = sum(map(_is_han, units)) / len(units)
    language = "zh" if shares_of_han >= 0.3 else "en"
    features = {f"language {language}", f"length {language} {len(units).bit_length()}"}
    for number, clause in enumerate(clauses):
        is_last = number == len(clauses) - 1
        marked = [_START, *clause, _END]
        features.update(f"1 {unit}" for unit in clause)
        features.update(f"2 {one} {other}" for one, other in pairwise(marked))
        features.update(" ".join(("3", *marked[at : at + 3])) for at in range(len(marked) - 2))
        form = _form_of(marked)
        for size in (2, 3, 4, 5):
            features.update(
                " ".join(("form", *form[at : at + size])) for at in range(len(form) - size + 1)
            )
        if number == 0:
            features.update(f"first {' '.join(clause[:size])}" for size in (1, 2, 3))
        # Whether English "what" and "which" ask for one thing or several.
        asked = {n for w, n in pairwise(form) if w in ("what", "which") and n[0] == _TOPIC}
        several = {noun in (f"{_TOPIC}s", f"{_TOPIC}texts") for noun in asked}
        names = {"several" if is_plural else "one" for is_plural in several}
        features.update(f"cue {copy} {name}" for name in names for copy in range(_CUE_COPIES))
        if is_last:
            features.update(f"last {' '.join(clause[-size:])}" for size in (1, 2, 3, 4))
            features.add(f"whole {' '.join(form)}")
    features.update(_name_cues(clauses))
    return features


def _name_cues(clauses: list[list[str]]) -> set[str]:
    text = "|".join(
        "".join(unit if _is_han(unit) else f" {unit} " for unit in clause).replace("  ", " ")
        for clause in clauses
    )
    found = {name for name, cues in _WORDS["cues"].items() if any(cue in text for cue in cues)}
    if any(clause[0] in _ASKING_VERBS for clause in clauses):
        found.add("verb first")
    if clauses[0][0] in _ASKING_VERBS and len(clauses) == 1:
        found.add("verb first of all")
    if any(text[at] in "不没" and text[at - 1] == text[at + 1] for at in range(1, len(text) - 1)):
        found.add("verb and its denial")
    return {f"cue {number} {name}" for name in found for number in range(_CUE_COPIES)}


def _form_of(marked: list[str]) -> list[str]:
    """Return the words that make the form of a clause, with one sign for each run of others.

    The sign is that of the last word of the run, which is the head of a noun phrase in English.
    """
    form: list[str] = []
    is_topic = False
    for unit in marked:
        sign = _sign_of(unit)
        if sign and is_topic:
            form.pop()
        is_topic = bool(sign)
        form.append(sign or unit)
    return form


@lru_cache(maxsize=4096)
def _sign_of(unit: str) -> str:
    """Return the sign for a word of the topic, or an empty text for a word of the form."""
    if unit in _FRAME:
        return ""
    if _is_han(unit):
        return _TOPIC
    if unit == "0":
        return f"{_TOPIC}0"
    if unit in _SIGNS:
        return f"{_TOPIC}{_SIGNS[unit]}"
    ending = next((one for one in _ENDINGS if unit.endswith(one) and len(unit) > 3), "")
    if ending == "s" and unit.endswith(("ss", "us", "is")):
        ending = ""
    return f"{_TOPIC}{ending}" if unit.isascii() else _TOPIC


def _split_clauses(question: str) -> list[list[str]]:
    """Return the words and Chinese characters of each clause; any number is "0"."""
    text = question
    if len(text) > 2 * LONGEST:
        text = f"{text[:LONGEST]}\n{text[-LONGEST:]}"
    text = simplify(unicodedata.normalize("NFKC", text).casefold())
    clauses: list[list[str]] = [[]]
    word = ""
    for character in f"{text}\n":
        if character in "'’" and word:
            continue
        if character.isalnum() and not _is_han(character):
            word += character
            continue
        if word and character != "_":
            clauses[-1].append("0" if word.isdecimal() else word)
            word = ""
        if _is_han(character):
            clauses[-1].append(character)
        elif character in _CLAUSE_ENDS and clauses[-1]:
            clauses.append([])
    return [clause for clause in clauses if clause]


def _is_han(unit: str) -> bool:
    return len(unit) == 1 and ("\u3400" <= unit <= "\u9fff" or unit == "\u3007")


_FEWEST_TERMS = 2
"""An English question of fewer content terms leans on the one before it."""
_MOST_LEANING = 8
"""A Chinese question of at most so many characters may lean on the one before it."""
_FEWEST_OF_ITS_OWN = 2
"""Characters beside those that say nothing in such a question that leans on none."""
_LONGEST_NAME = 20
"""The maximum number of characters of one of several Chinese names."""
_MOST_COMPARED_WORDS = 6
"""The maximum number of words of a compared name."""
_COMPARISONS = ("difference", "differ", "differ_both", "compare", "versus")
_SINGULAR = {"do": "does", "are": "is", "were": "was", "have": "has"}
_END_MARKS = " 。！？?!.，,；;"


@dataclass(frozen=True, slots=True)
class SubQuestion:
    """One of the questions in a compound question.

    ``asked`` is its own wording, ``text`` can be understood without the other parts.
    """

    asked: str
    text: str


@dataclass(frozen=True, slots=True)
class DividedQuestion:
    """The parts of a compound question, in order.

    ``compared`` are the two names of a comparison; empty for any other question.
    """

    parts: tuple[SubQuestion, ...]
    compared: tuple[str, ...] = ()


class _Divider:
    """Divides the questions of English, or of another language where its subclass differs."""

    joint, gap = ", and ", " "

    def __init__(self, language: Language) -> None:
        self.words = language.division

    def divide(self, text: str) -> tuple[SubQuestion, ...]:
        """Return the questions in a text; at most one if it cannot be divided.

        A question that leans on the one before it is part of that: one passage answers both.
        """
        clauses: list[list[str]] = []
        context: list[str] = []
        for sentence in self.words["sentence_end"].form.split(text):
            before, *questions = self.find_questions(sentence)
            if clauses and not questions and sentence.rstrip().endswith(("？", "?")):
                return ()  # "Is there one? If so, where?" continues a question like this
            context += [before] if before else []
            for question in questions:
                if clauses and self.leans(question, clauses[-1][0]):
                    clauses[-1].append(self.go_on(question))
                else:
                    clauses.append([question])
        shared = self.gap.join(context)
        parts = tuple(
            SubQuestion(self.ask(one), self.ask(f"{'' if number else shared}{self.gap}{one}"))
            for number, (first, *leaning) in enumerate(clauses)
            for one in (
                (self.joint.join((first, *leaning)),) if leaning else self.distribute(first)
            )
        )
        return parts if all(content_terms(part.text) for part in parts) else ()

    def go_on(self, question: str) -> str:
        """Return a question as it is written behind another one."""
        return f"{question[:1].lower()}{question[1:]}"

    def ask(self, text: str) -> str:
        """Return a text as a question."""
        text = text.strip(" ,;?")
        return f"{text[:1].upper()}{text[1:]}?"

    def compare(self, text: str) -> DividedQuestion | None:
        """Return one question for each of two compared names; None for any other question."""
        *before, question = self.words["sentence_end"].form.split(text)
        forms = (self.words[name].match(question) for name in _COMPARISONS)
        if (found := next(filter(None, forms), None)) is None:
            return None
        names = (found["one"].strip(), found["other"].strip())
        if any(
            len(name.split()) > _MOST_COMPARED_WORDS
            or self.words["no_name"].search(name)
            or not content_terms(name)
            for name in names
        ):
            return None
        asked = [f"What is {name}{found['aspect'] or ''}" for name in names]
        context = " ".join(before)
        parts = (SubQuestion(self.ask(one), self.ask(f"{context} {one}")) for one in asked)
        return DividedQuestion(tuple(parts), names)

    def find_questions(self, sentence: str) -> list[str]:
        """Return the text before a sentence's first question, then its questions."""
        text = self.words["link"].sub(sentence.strip()).rstrip(" ?.!")
        starts = [0, *(gap.end() for gap in self.words["preamble"].form.finditer(text))]
        start = next((at for at in starts if self._asks(text[at:])), None)
        if start is None:
            return [sentence]
        questions: list[str] = []
        clause_start = start
        for gap in self.words["gap"].form.finditer(text, start):
            clause = text[clause_start : gap.start()]
            if self._goes_on(clause, text[gap.end() :], is_joined=gap["joint"] is not None):
                questions.append(clause)
                clause_start = gap.end()
        questions.append(text[clause_start:])
        return [text[:start].strip(), *self._name_ones(questions)]

    def _asks(self, clause: str) -> bool:
        return any(self.words[form].match(clause) for form in ("inverted", "subject"))

    def _goes_on(self, clause: str, rest: str, *, is_joined: bool) -> bool:
        """Return True if the rest after a clause is a question of its own.

        "And who wrote it" may belong to a clause within the first question: it is taken for a
        question only if the first question has no such clause.
        """
        words = self.words
        is_no_other = words["acronym"].match(rest) or words["echo"].match(rest)
        if not self._asks(clause) or not content_terms(clause) or is_no_other:
            return False
        is_inverted = words["inverted"].match(clause) is not None
        if not is_joined and (not is_inverted or words["relative_opening"].match(rest)):
            return False
        if words["inverted"].match(rest):
            return not rest.casefold().startswith("whose")
        if not self._asks(rest) or not is_joined:
            return False
        opening = words["opening"].match(clause)
        if opening is None or words["embedded"].form.search(clause, opening.end()):
            return False
        return not (words["identifies"].match(clause) and words["relative_who"].match(rest))

    def _name_ones(self, questions: Sequence[str]) -> Iterator[str]:
        """Yield questions with "which one" as "which" and the noun that the one before asks for."""
        noun = ""
        for question in questions:
            if noun and (one := self.words["which_one"].search(question)):
                question = f"{question[: one.end(1)]} {noun}{question[one.end() :]}"  # noqa: PLW2901
            yield question
            if asked := self.words["asked_noun"].match(question):
                noun = asked[1]

    def leans(self, question: str, _before: str) -> bool:
        """Return True if a question needs the words of the one before it."""
        words = self.words
        if words["points_back"].search(question):
            return True
        opening = words["inverted"].match(question) or words["opening"].match(question)
        rest = question[opening.end() :] if opening else question
        is_short = len(set(content_terms(rest))) < _FEWEST_TERMS
        return is_short and not words["another_name"].match(question)

    def distribute(self, question: str) -> tuple[str, ...]:
        """Split a question about "A and B each" into one for each name; else return it alone."""
        text = question.rstrip(" ?.!")
        found = self.words["respectively"].search(text) or self.words["each"].search(text)
        things = [*re.split(r",\s+", found["first"]), found["last"]] if found else []
        # The comma of "May 31, 2019" separates no names.
        if found is None or self.words["day"].search(things[0]):
            return (question,)
        verb = _SINGULAR.get(found["verb"].lower(), found["verb"])
        rest = found.groupdict().get("rest") or f" {text[found.end() :]}"
        return tuple(f"{text[: found.start('verb')]}{verb} {thing}{rest}" for thing in things)


class _ChineseDivider(_Divider):
    """Divides Chinese questions. Words are simplified; simplifying a text keeps all offsets."""

    joint, gap = "，", ""

    def go_on(self, question: str) -> str:
        return question

    def ask(self, text: str) -> str:
        return f"{text}？"

    def compare(self, text: str) -> DividedQuestion | None:
        text = text.strip(_END_MARKS)
        simple = simplify(text)
        found = self.words["comparison"].fullmatch(simple) or self.words["apart"].fullmatch(simple)
        if found is None:
            return None
        names = tuple(text[slice(*found.span(name))].strip() for name in ("one", "other"))
        if any(self._has("asks", name) or self.words["not_and"].search(name) for name in names):
            return None
        parts = found.groupdict()
        aspect = parts.get("aspect") or (f"的{parts['field']}" if parts.get("field") else "")
        asking = "是什么？" if simple == text else "是什麼？"
        asked = [f"{name}{aspect}{asking}" for name in names]
        return DividedQuestion(tuple(SubQuestion(one, one) for one in asked), names)

    def _has(self, key: str, text: str) -> bool:
        return self.words[key].search(simplify(text)) is not None

    def _asks(self, clause: str) -> bool:
        return self._has("asks", clause) and not self._has("no_question", clause)

    def find_questions(self, sentence: str) -> list[str]:
        """Return the questions of a sentence, the first one with everything before it."""
        text = sentence.strip(_END_MARKS)
        simple = self.words["quoted"].form.sub(lambda it: "〇" * len(it[0]), simplify(text))
        if not self._asks(simple):
            return [sentence]
        questions, start = [""], 0
        for gap in self.words["gap"].form.finditer(simple):
            last = self.words["gap"].form.split(simple[start : gap.start()])[-1]
            is_question = self.words["closes"].search(last) or self.words["opens"].match(last)
            if is_question and self._asks(last) and self._asks(simple[gap.end() :]):
                questions.append(text[start : gap.start()])
                start = gap.end()
        return [*questions, text[start:]]

    def leans(self, question: str, before: str) -> bool:
        """Return True if a question needs the words of the one before it.

        A short one does, but not if it asks the same of something else: 租约是什么？许可证是什么？
        """
        simple, asked = simplify(question), self.words["asks"].search(simplify(before))
        if self.words["points_back"].search(simple):
            return True
        if len(question) > _MOST_LEANING or self.words["own_name"].search(question):
            return False
        asks_alike = asked is not None and asked[0] in self.words["asks"].form.findall(simple)
        own = self.words["says_nothing"].sub(simple)
        return not asks_alike or len(own) < _FEWEST_OF_ITS_OWN

    def distribute(self, question: str) -> tuple[str, ...]:
        """Split a question about "A 和 B 分别" into one for each name; else return it alone."""
        simple, words = simplify(question), self.words
        each = words["each"].search(simple)
        if each is None:
            return (question,)
        together = words["together"].form.search(simple, 0, each.start())
        end = together.start() if together else each.start()
        joints = [
            joint
            for joint in words["and"].form.finditer(simple, 0, end)
            if not words["not_and"].search(simple[: joint.start()])
        ]
        if not joints:
            return (question,)
        left, right = question[: joints[-1].start()], question[joints[-1].end() : end]
        edge = max((found.end() for found in words["boundary"].form.finditer(left)), default=0)
        behind = words["boundary"].search(right)
        last = right[: behind.start()] if behind else right
        things = re.split(r"\s*、\s*", left[edge:])
        shared, things[0], own, tail = self._share(things[0], last)
        things.append(own)
        if not all(0 < len(it) <= _LONGEST_NAME and not self._has("asks", it) for it in things):
            return (question,)
        suffix = f"{tail}{right[len(last) :]}".strip()
        gap = "，" if simple[each.start()] in "，," else ""
        asked = question[each.end() :].lstrip()
        return tuple(f"{left[:edge]}{shared}{thing}{suffix}{gap}{asked}" for thing in things)

    def _share(self, first: str, last: str) -> tuple[str, str, str, str]:
        """Return what two joined names share before them, the names, and what they share behind.

        "2023年A市出口额和进口额" share "2023年A市"; "男子和女子的收入" share "的收入".
        """
        words, ends_alike = self.words, len(first) > len(last) and first[-1:] == last[-1:]
        one, other = words["latin"].search(first), words["latin"].match(last)
        if one and other:  # names in Latin letters end where Chinese begins
            start = one.start() if one.end() == len(first) else 0
            return first[:start], first[start:], other[0], last[other.end() :]
        one, other = words["date"].match(first), words["date"].match(last)
        is_date = one is not None and one.end() == len(first)
        if one and other and is_date:
            return "", first, other[0], last[other.end() :]
        if one and not (other or is_date or ends_alike):
            return one[0], first[one.end() :], last, ""
        if "的" in first and "的" not in last:
            cut = first.rindex("的") + 1
            return first[:cut], first[cut:], last, ""
        cut = last.find("的")
        is_shared = cut >= 0 and "的" not in first and not words["pronoun_of"].search(last)
        if is_shared and abs(cut - len(first)) <= 1:
            return "", first, last[:cut], last[cut:]
        extra = len(first) - len(last) if ends_alike else 0
        return first[:extra], first[extra:], last, ""


_DIVIDERS = {id(ENGLISH): _Divider(ENGLISH), id(CHINESE): _ChineseDivider(CHINESE)}


def divide_question(text: str, language: Language, *, most: int) -> DividedQuestion | None:
    """Return the parts of a question; None if it asks for one thing, or for more than ``most``."""
    divider = _DIVIDERS[id(language)]
    if compared := divider.compare(text):
        return compared
    parts = divider.divide(text)
    return DividedQuestion(parts) if 1 < len(parts) <= most else None


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
    is the number of entities or themes asked for, 0 if none is stated. ``by_importance`` asks for
    important entities rather than for those mentioned often. ``names_text`` is True for a document
    or section that a word for texts names, as in "the page on storms", and ``of_themes`` or
    ``of_views`` if themes or views are asked for.
    """

    kind: ScopeKind
    subject: str = ""
    named: str = ""
    is_sure: bool = True
    limit: int = 0
    by_importance: bool = False
    names_text: bool = False
    of_themes: bool = False
    of_views: bool = False

    @property
    def needs_communities(self) -> bool:
        """Whether the answer is composed from communities."""
        return self.kind is ScopeKind.WHOLE or self.by_importance


_QUOTED = re.compile("^[《“「『]([^》”」』]+)[》”」』]")
_MENTIONED_OFTEN = re.compile(r"mention|nam|cit|refer|discuss|common|frequent")
_MOST_NAME_WORDS = 12
_NO_TEXT = frozenset(["to", "you", "i", "we", "can", "could", "do", "would", "should"])


def _find(text: str, forms: Sequence[Words]) -> dict[str, str] | None:
    """Return the words of a text for each group of the first form that it has."""
    simple = simplify(text)
    for form in forms:
        if found := form.search(simple):
            spans = ((name, found.span(name)) for name in found.re.groupindex)
            return {name: text[start:end] if start >= 0 else "" for name, (start, end) in spans}
    return None


def _read_limit(found: Mapping[str, str]) -> int:
    number = next(find_numbers(found.get("limit", "")), None)
    return int(min(number.values)) if number else 0


def _read_themes(text: str, language: Language) -> QuestionScope | None:
    """Return the scope of "the top 5 themes": a number, a word as "main", or several."""
    found = _find(text, language.scope_forms["themes"])
    if found is None:
        return None
    scope = _of_target(found.get("target", ""), language, otherwise=ScopeKind.PART)
    limit = _read_limit(found)
    is_one = not limit and found["themes"].isascii() and not found["themes"].endswith("s")
    if scope is None or (is_one and not found.get("main")):
        return None
    return replace(scope, of_themes=scope.kind is ScopeKind.WHOLE and not is_one, limit=limit)


def _read_count(text: str, language: Language) -> QuestionScope | None:
    if ranked := _find(text, language.scope_forms["rankings"]):
        most = ranked.get("most", "").casefold()
        return QuestionScope(
            ScopeKind.RANKING,
            ranked["noun"].casefold(),
            limit=_read_limit(ranked),
            by_importance=bool(most) and not _MENTIONED_OFTEN.search(most),
        )
    counted = _find(text, language.scope_forms["mentions"])
    return QuestionScope(ScopeKind.MENTIONS, _bare(counted["subject"])) if counted else None


def _read_listing(text: str, language: Language) -> QuestionScope | None:
    listed = _find(text, language.scope_forms["listings"])
    if listed is None:
        return None
    where, noun = listed.get("where", "").strip(), listed["noun"] or listed.get("other", "")
    where = "" if _means_all(where, language) else where
    return QuestionScope(ScopeKind.LISTING, noun.casefold(), where, is_sure=False)


def _read_summary(text: str, language: Language) -> QuestionScope | None:
    """Return the scope of "summarise …" and "an overview of …"."""
    if language.scopes["bare"].match(simplify(text)):
        return QuestionScope(ScopeKind.WHOLE)
    found = _find(text, (language.scopes["summary"],))
    if found is None or _asks_for_fact(found["target"], found, language):
        return None
    # "Summarize what the documents say about storms" is about storms.
    return _read_topic(found["target"], language) or _of_target(
        found["target"], language, otherwise=ScopeKind.TOPIC
    )


def _read_topic(text: str, language: Language) -> QuestionScope | None:
    """Return the scope of "what do the documents say about …"."""
    found = _find(text, language.scope_forms["said"])
    if found is None:
        return None
    where = found.get("where") or found.get("place", "")
    topic = QuestionScope(ScopeKind.TOPIC, found["subject"], where)
    if _means_all(where, language):
        return replace(topic, named="")
    if "place" not in found:
        return topic
    if len(where.split()) > _MOST_NAME_WORDS or where.split()[0].casefold() in _NO_TEXT:
        return None
    # "the maintenance chapter" means a part of the corpus; for "BBC article" one must exist.
    is_ours = (
        language.scopes["text"].match(where) is not None
        and language.scopes["determiner"].match(where) is not None
    )
    return replace(topic, is_sure=is_ours and where == where.lower())


def _read_subject(text: str, language: Language) -> QuestionScope | None:
    """Return the scope of "describe …", "what is … about" and the like."""
    told = _find(text, (language.scopes["tell"],))
    if told and not _asks_for_fact(told["target"], told, language):
        target = told["target"]
        if _means_all(target, language) or language.scopes["titled"].search(simplify(target)):
            return _of_target(target, language, otherwise=ScopeKind.PART)
    # "Tell me about Ada" is about her, even if a document has her name as its title.
    told = _find(text, (language.scopes["tell_all"],))
    if told and not _asks_for_fact(told["subject"], told, language):
        return QuestionScope(ScopeKind.THING, told["subject"])
    found = _find(text, language.scope_forms["about"])
    if found is None:
        return None
    target = found.get("target") or found.get("topic", "")
    scope = _of_target(target, language, otherwise=ScopeKind.PART)
    if scope is None:
        return None
    is_of_themes = bool(found.get("themes")) and scope.kind is ScopeKind.WHOLE
    return replace(scope, of_themes=is_of_themes, of_views=bool(found.get("views")))


def _asks_for_fact(target: str, found: Mapping[str, str], language: Language) -> bool:
    """Return True for "归纳法是谁提出的", which begins with a word for summaries."""
    return not found.get("once") and language.scopes["fact"].search(simplify(target)) is not None


def _of_target(target: str, language: Language, *, otherwise: ScopeKind) -> QuestionScope | None:
    """Return the scope of a phrase: all documents, or else of the kind ``otherwise``.

    None if the phrase is too long to be a name.
    """
    target = target.removesuffix("的")
    if _means_all(target, language):
        return QuestionScope(ScopeKind.WHOLE)
    if otherwise is ScopeKind.PART and len(target.split()) > _MOST_NAME_WORDS:
        return None
    name = _bare(target)
    is_text = language.scopes["titled"].search(simplify(target)) is not None
    is_sure = otherwise is ScopeKind.TOPIC
    return QuestionScope(otherwise, name, name, is_sure=is_sure, names_text=is_text)


def _means_all(phrase: str, language: Language) -> bool:
    return not phrase or language.scopes["whole"].fullmatch(simplify(phrase)) is not None


def _bare(phrase: str) -> str:
    quoted = _QUOTED.match(phrase)
    return quoted[1] if quoted else phrase.strip(" \"'“”‘’「」『』")


MOST_PARTS = 4
"""A text with more questions is not divided: it is a list of tasks."""

_LONGEST_SCOPED = 240
_LONGEST_DIVIDED = 400
_KEPT_READINGS = 64
_LEAST_WHOLE = 0.75
"""The least probability that a question asks for a summary of everything, for one that does."""
_SUMMARIES = (QuestionKind.SUMMARY_ONE, QuestionKind.SUMMARY_ALL, QuestionKind.COUNT)
_MAY_ASK_MORE = re.compile(
    r"\b(?:and|but|vs|versus|compare|differ\w*|distinction)\b|;|[?!.]\s+\S"
    r"|,\s+(?:\w+\s+)?(?:wh(?:o|at|ich|en|ere|y)|how)",
    re.IGNORECASE,
)
"""Matches every English question that can be divided."""


FULL, PARTIAL = 1.0, 0.5


class AnswerKind(StrEnum):
    """A kind of answer that the form of a sentence shows."""

    AMOUNT = "amount"
    DEFAULT = "default"
    DATE = "date"


_NUMBER_WORD = (
    "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty|forty|"
    "fifty|sixty|hundred|thousand|million|billion|half|quarter|third|twice|double|once|zero|"
    "unlimited|dozen"
)
_AMOUNT = re.compile(
    rf"(?<![\w.-])[-+]?\d[\d,.]*(?:\s?%|[^\W\d_]{{0,3}})?(?!\w)|\b(?:{_NUMBER_WORD})\b"
    rf"|[一二两三四五六七八九十百千万亿半]+\s?[{HAN}]|\d+",
    re.IGNORECASE,
)
_HOW_MUCH = re.compile(r"\bhow much (?!time|longer|later)")
_DEFAULT = re.compile(r"\bdefaults?\b|默认|缺省|预设", re.IGNORECASE)
_DATE = re.compile(
    r"\b1[5-9]\d\d\b|\b20\d\d\b|\b\d{1,2}:\d\d\b|\b(?:January|February|March|April|May|June|July"
    r"|August|September|October|November|December)\b|\d+\s?[年月日]|世纪|\bcentury\b"
)


@dataclass(frozen=True, slots=True)
class Expectation:
    """The kinds of answer that a question expects; ``asked`` is its case-folded text."""

    asked: str
    kinds: frozenset[AnswerKind]
    dimensions: frozenset[str] = frozenset()

    def allows(self, words: str) -> bool:
        """Return False for words with a unit of another dimension than those asked for alone."""
        if not self.dimensions:  # "how much" is no time
            is_time = DIMENSIONS["duration"].units.search(words)
            return not (is_time and _HOW_MUCH.search(self.asked))
        if self.dimensions == {"clock"}:
            return self.has_unit(words)
        had = {name for name, held in DIMENSIONS.items() if held.units.search(words)}
        return not had or bool(had & self.dimensions)

    def has_unit(self, words: str) -> bool:
        """Return True if words have a unit of a dimension that is asked for."""
        return any(DIMENSIONS[name].units.search(words) for name in self.dimensions)

    def is_asked_by(self, words: str) -> bool:
        """Return True if words have, or ask for, a dimension that is asked for."""
        return any(
            DIMENSIONS[name].units.search(words) or DIMENSIONS[name].asks.search(words)
            for name in self.dimensions
        )

    def met_by(self, sentence: str) -> float:
        """Return how well a sentence has the expected kinds of values, from 0 to 1.

        Values that the question itself contains do not count.
        """
        met = 0.0
        if AnswerKind.DEFAULT in self.kinds and _DEFAULT.search(sentence):
            met = PARTIAL
        if AnswerKind.AMOUNT in self.kinds and self._is_new(_AMOUNT, sentence):
            met = FULL if met or AnswerKind.DEFAULT not in self.kinds else PARTIAL
        elif met and AnswerKind.AMOUNT not in self.kinds:
            met = FULL
        if AnswerKind.DATE in self.kinds and self._is_new(_DATE, sentence):
            met = FULL
        if "clock" in self.dimensions:
            met = FULL if DIMENSIONS["clock"].units.search(sentence) else 0.0
        return met

    def _is_new(self, form: re.Pattern[str], sentence: str) -> bool:
        return any(
            found[0].casefold().strip() not in self.asked for found in form.finditer(sentence)
        )


_OF_ALL = frozenset({ScopeKind.WHOLE, ScopeKind.TOPIC, ScopeKind.RANKING})


def _asks_for(name: str) -> cached_property[bool]:
    return cached_property(
        lambda self: any(each.words[name].search(self.simple) for each in self._languages)
    )


@dataclass(frozen=True)
class QuestionReading:
    """A question, and what its words ask; see `reading_of`."""

    text: str

    @cached_property
    def plain(self) -> str:
        """The question with single spaces."""
        return " ".join(self.text.split())

    @cached_property
    def simple(self) -> str:
        """The question in simplified characters; offsets are those of the text."""
        return simplify(self.text)

    @cached_property
    def language(self) -> str:
        """The code of its language, "" if it is unclear."""
        return detect_language(self.text)

    @cached_property
    def terms(self) -> tuple[str, ...]:
        """Its content terms in order, each once."""
        return tuple(dict.fromkeys(content_terms(self.text)))

    @cached_property
    def _languages(self) -> tuple[Language, ...]:
        """The languages whose words it may have."""
        # The title in "总结一下《Almanac》" may be longer than the rest.
        return (CHINESE, ENGLISH) if HAN_CHARACTER.search(self.text) else (ENGLISH,)

    @cached_property
    def own_language(self) -> Language:
        """The language whose rules it follows."""
        count = len(HAN_CHARACTER.findall(self.plain))
        return CHINESE if count * 4 >= len(self.plain) > 0 else ENGLISH

    @cached_property
    def kinds(self) -> dict[QuestionKind, float]:
        """The probabilities of the kinds of answer that it expects, the most probable first."""
        return read_kinds(self.text)

    asks_yes_or_no = _asks_for("yes_no")
    """Whether it can be answered with yes or no."""
    asks_name = _asks_for("name")
    """Whether it asks for a name: a person, an option, a program."""
    asks_who = _asks_for("who")
    """Whether it asks for a person."""
    asks_where = _asks_for("where")
    """Whether it asks for a place."""

    @cached_property
    def asked_when(self) -> Span | None:
        """Its words that ask for a time."""
        found = (language.words["when"].search(self.simple) for language in self._languages)
        return next((Span(*match.span()) for match in found if match), None)

    @cached_property
    def expected(self) -> Expectation:
        """The values that it expects."""
        asked = self.text.casefold().strip(" ?？")
        simple = simplify(asked)
        kinds = frozenset(
            kind
            for language in self._languages
            for kind, words in (
                (AnswerKind.AMOUNT, language.words["amount"]),
                (AnswerKind.DEFAULT, language.words["default"]),
                (AnswerKind.DATE, language.words["date"]),
            )
            if words.search(simple)
        )
        dimensions = (name for name, held in DIMENSIONS.items() if held.asks.search(simple))
        return Expectation(asked, kinds, frozenset(dimensions))

    @cached_property
    def amounts(self) -> tuple[Amount, ...]:
        """Its numbers and times, in order."""
        return tuple(read_amounts(self.text))

    @cached_property
    def comparisons(self) -> tuple[AmountComparison, ...]:
        """Its comparisons with amounts, in order; a range is two with the same span."""
        return tuple(read_comparisons(self.text, self.amounts)) if self.amounts else ()

    @cached_property
    def scope(self) -> QuestionScope | None:
        """What it asks to be summarised or counted; None for any other question."""
        if not 0 < len(self.plain) <= _LONGEST_SCOPED:
            return None
        readers = (
            _read_count,
            _read_themes,
            _read_listing,
            _read_summary,
            _read_topic,
            _read_subject,
        )
        scopes = (read(self.plain, each) for each in self._languages for read in readers)
        return next((scope for scope in scopes if scope is not None), None)

    def strip_text_nouns(self) -> str:
        """Return a phrase without words for texts: "travel" for "the travel chapter"."""
        words = self.own_language.scopes
        bare = words["determiner"].sub(self.text)
        text = words["text"].match(simplify(bare))
        return (bare[: text.end("rest")] if text else bare).strip()

    @cached_property
    def extent(self) -> ScopeKind:
        """How much of the documents it is about: the whole, a thing and its relations, or a part,
        as most questions are.
        """
        if self.scope is not None and self.scope.is_sure:
            if self.scope.kind in _OF_ALL:
                return ScopeKind.WHOLE
            if self.scope.kind is ScopeKind.THING:
                return ScopeKind.THING
        language, simple = self.own_language, simplify(self.plain)
        is_whole = self.kinds[QuestionKind.SUMMARY_ALL] >= _LEAST_WHOLE
        if is_whole or language.words["general"].match(simple):
            return ScopeKind.WHOLE
        return ScopeKind.THING if language.words["relations"].search(simple) else ScopeKind.PART

    @cached_property
    def summarizing(self) -> float:
        """The probability that it asks for a summary or a count."""
        return sum(self.kinds[kind] for kind in _SUMMARIES)

    @cached_property
    def division(self) -> DividedQuestion | None:
        """Its parts; None if it asks for one thing, or for more than `MOST_PARTS`."""
        text = self.plain
        if len(text) > _LONGEST_DIVIDED:
            return None
        language = self.own_language
        if language is ENGLISH and not _MAY_ASK_MORE.search(text):
            return None  # compiling the forms of a language is slow
        return divide_question(text, language, most=MOST_PARTS)


@lru_cache(maxsize=_KEPT_READINGS)
def reading_of(text: str) -> QuestionReading:
    """Return the reading of a question, the same one for equal texts."""
    return QuestionReading(text)


def states_view(sentence: str) -> bool:
    """Return True if a sentence states what somebody thinks."""
    simple = simplify(sentence)
    return any(each.division["view"].search(simple) for each in (ENGLISH, CHINESE))


def open_pronoun(sentence: str) -> re.Match[str] | None:
    """Return what a sentence begins with that stands for a name: a pronoun, "the company"."""
    return ENGLISH.words["pronoun"].match(sentence) or CHINESE.words["pronoun"].match(
        simplify(sentence)
    )
