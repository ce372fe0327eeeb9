"""The values that a question expects: an amount, a default or a date."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from knotwork._text.chinese import HAN

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
        return met

    def _is_new(self, form: re.Pattern[str], sentence: str) -> bool:
        return any(
            found[0].casefold().strip() not in self.asked for found in form.finditer(sentence)
        )
