"""The expected kind of answer, and the sentences that hold one: amounts, defaults, dates.

By the words of English and Chinese questions. Other kinds (a person, a place, the name of a
command, a reason, a definition) were tried and chose no better sentences than relevance alone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from knotwork.text.characters import HAN

FULL, PARTIAL = 1.0, 0.5


class AnswerKind(StrEnum):
    """A kind of answer that the form of a sentence shows."""

    AMOUNT = "amount"
    DEFAULT = "default"
    DATE = "date"


_ASKED = {
    AnswerKind.AMOUNT: re.compile(
        r"\bhow (?:many|much|long|often|large|big|old|far|high|deep|soon|fast|close|quickly|"
        r"frequently|wide|tall|few|small)\b|\b(?:max(?:imum)?|min(?:imum)?|limit|highest|biggest|"
        r"largest|smallest|lowest|longest|size|age|number|percent(?:age)?|fraction|interval|"
        r"timeout|port|ratio|version|length|speed|amount|price|rate)\b"
        r"|多少|几[个位天年次种条步级台份款名项月周]|多[久长大快高远]|最[大多小少高低长]|[上下]限|至[少多]|第几|几$"
    ),
    AnswerKind.DEFAULT: re.compile(
        r"\bdefaults?\b|\bunless (?:told|otherwise|specified|set)\b|\bout of the box\b"
        r"|\bif (?:nothing|i|you|we) (?:was |is |has been )?"
        r"(?:configured|set|(?:do not|don.t) (?:set|give|specify)|give no|set no|leave)\b"
        r"|\bleft (?:alone|unset)\b|默认|缺省|预设|没有?(?:设置|指定|配置)|不(?:设|指定|配置)"
    ),
    AnswerKind.DATE: re.compile(
        r"\bwhen (?:did|was|were|is|does|do|will|has|had)\b|\bsince when\b"
        r"|\b(?:what|which) (?:year|date|day|month|time|century)\b"
        r"|何时|什么时候|什么时间|哪一?[年天月日]|几[年月日号]|年份|日期"
    ),
}
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
    """What a question expects of its answer; ``asked`` is the question, folded."""

    asked: str
    kinds: frozenset[AnswerKind]

    @classmethod
    def of(cls, question: str) -> Expectation:
        """Read a question."""
        asked = question.casefold().strip(" ?？")
        return cls(asked, frozenset(kind for kind, form in _ASKED.items() if form.search(asked)))

    def met_by(self, sentence: str) -> float:
        """Return how far a sentence has what is expected, from 0 to 1.

        What the question says itself is no answer to it.
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
