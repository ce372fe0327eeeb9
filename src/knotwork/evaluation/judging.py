"""Whether a printed answer is right, judged by strings that a right answer contains.

No model is asked, so that equal answers are judged equally.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from knotwork.evaluation.answer_questions import AnswerQuestion
from knotwork.evaluation.matching import MARK, normalize_as_printed, states, states_all
from knotwork.records import Answer
from knotwork.text.characters import HAN_AND_KANA
from knotwork.text.sentences import split_sentences

NOISE_OVERLAP = 0.6
"""A sentence belongs to a gold quote if they share this part of the words of the shorter one."""

_WIDE = re.compile(f"[{HAN_AND_KANA}]")
_WORD = re.compile(rf"[{HAN_AND_KANA}]|(?:(?![{HAN_AND_KANA}])[\w.-])+")
_PRINTED_WORD = re.compile(rf"[^\s{HAN_AND_KANA}]+")


@dataclass(frozen=True, slots=True)
class Judgement:
    """What is true of one answer. All but ``answered`` concern questions that have an answer.

    ``right``: all parts of the expected answer are printed. ``right_first``: the first sentence
    alone has them. ``found``: the passages that were found have them. ``cites_gold``: a gold
    document is cited; None if none is known. ``noise`` says of each printed sentence whether it
    has no part of the answer and belongs to no gold quote. ``words`` is the length of the text; a
    character of Chinese or Japanese counts a half. ``short_right``: the short answer alone has all
    parts; None if there is none.
    """

    answered: bool
    right: bool = False
    right_first: bool = False
    found: bool = False
    cites_gold: bool | None = None
    noise: tuple[bool, ...] = ()
    words: float = 0.0
    short_right: bool | None = None


def judge(question: AnswerQuestion, answer: Answer, passages: Sequence[str] = ()) -> Judgement:
    """Judge an answer; ``passages`` are the texts of what was found for it."""
    if not question.is_answerable:
        return Judgement(answer.answered, short_right=False if answer.short else None)
    found = states_all("\n".join(passages), question.answers)
    has_gold = bool(question.documents)
    if not answer.answered:
        return Judgement(answered=False, found=found, cites_gold=False if has_gold else None)
    sentences = printed_sentences(answer)
    cites_gold = any(
        is_named(citation.document, name)
        for citation in answer.citations
        for name in question.documents
    )
    return Judgement(
        answered=True,
        right=states_all(answer.text, question.answers),
        right_first=bool(sentences) and states_all(sentences[0], question.answers),
        found=found,
        cites_gold=cites_gold if has_gold else None,
        noise=tuple(_is_noise(sentence, question) for sentence in sentences),
        words=count_words(answer.text),
        short_right=states_all(answer.short, question.answers) if answer.short else None,
    )


def printed_sentences(answer: Answer) -> list[str]:
    """Return the sentences of an answer in the order in which they are printed, without marks.

    A quoted sentence ends with its mark; what a model wrote is split as other texts are.
    """
    if answer.model:
        plain = MARK.sub("", answer.text)
        return [plain[span.start : span.end] for span in split_sentences(plain)]
    pieces, start = [], 0
    for mark in MARK.finditer(answer.text):
        if 1 <= int(mark[1]) <= len(answer.citations):
            pieces.append(answer.text[start : mark.start()])
            start = mark.end()
    return [piece.strip() for piece in (*pieces, answer.text[start:]) if piece.strip()]


def count_words(text: str) -> float:
    """Return the words of a text; a character of Chinese or Japanese counts a half."""
    return len(_PRINTED_WORD.findall(text)) + len(_WIDE.findall(text)) / 2


def is_named(uri: str, name: str) -> bool:
    """Return whether ``name`` is the uri of a document, or the end of it from a slash on."""
    return uri == name or uri.endswith(f"/{name}")


def _is_noise(sentence: str, question: AnswerQuestion) -> bool:
    if any(states(sentence, alternatives) for alternatives in question.answers):
        return False
    words = _words(sentence)
    return not any(_overlap(words, _words(quote)) for quote in question.quotes)


def _overlap(words: frozenset[str], gold: frozenset[str]) -> bool:
    shorter = min(len(words), len(gold))
    return bool(gold) and len(words & gold) >= NOISE_OVERLAP * shorter


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(normalize_as_printed(text)))
