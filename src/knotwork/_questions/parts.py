"""Divide compound questions: clauses that each ask, "A and B each" or "A 和 B 分别", comparisons.

The words are those of `[division]` in the file of a language.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from knotwork._questions.languages import CHINESE, ENGLISH, Language
from knotwork._text.chinese import simplify
from knotwork._text.terms import content_terms

_FEWEST_TERMS = 2
"""An English question of fewer content terms leans on the one before it."""
_MOST_LEANING = 8
"""A Chinese question of at most so many characters may lean on the one before it."""
_FEWEST_OF_ITS_OWN = 2
"""Characters beside those that say nothing in such a question that leans on none."""
_LONGEST_NAME = 20
"""The maximum number of characters of one of several Chinese names."""
_MOST_NAME_WORDS = 6
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
            len(name.split()) > _MOST_NAME_WORDS
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
