"""Change the fact that answers a question in passages: a number, a date or a name.

The change depends on the question and the passages only, so that runs can be compared.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from knotwork._extensions.evaluation.answer_questions import AnswerQuestion, states
from knotwork._extensions.evaluation.metrics import is_verdict
from knotwork._text.chinese import HAN_OR_KANA
from knotwork._text.dates import MONTHS
from knotwork.records import content_id

_NUMBER = re.compile(r"(?<![\d.,])\d+(?:[.,]\d+)*")
_MONTHS = tuple(map(str.title, MONTHS))
_MONTH = re.compile(rf"\b(?:{'|'.join(_MONTHS)})\b", re.IGNORECASE)
_MADE_UP = ("Alder Voss", "Marit Quill", "Teodor Hask", "Ines Corvall")
_MADE_UP_HAN = ("林若舟", "沈知远", "陆怀瑾", "秦望舒")
_FIRST_YEAR, _LAST_YEAR = 1010, 2100
_TRIES = 9


@dataclass(frozen=True, slots=True)
class ChangedFact:
    """Passages in which a fact was changed.

    ``original`` are the alternatives of the part of the expected answer that they stated,
    ``changed`` the strings that replace these.
    """

    passages: tuple[str, ...]
    original: tuple[str, ...]
    changed: tuple[str, ...]


def change_fact(
    question: AnswerQuestion, passages: Sequence[str], others: Sequence[AnswerQuestion] = ()
) -> ChangedFact | None:
    """Return the passages with one part of the expected answer changed, None if no part can be.

    A number becomes another of the same length, a year one at most nine years off, a month the
    name of another month, and any other string the most alike answer to one of the ``others`` of
    the same type and script, or a made-up name. All places that state the part are changed. "yes"
    and "no", and what the passages do not state, cannot be changed.
    """
    for alternatives in question.answers:
        is_stated = any(states(passage, alternatives) for passage in passages)
        if not is_stated or is_verdict(alternatives):
            continue
        for change in _changes(question, alternatives, passages, others):
            changed = tuple(dict.fromkeys(map(change, alternatives)))
            texts = tuple(map(change, passages))
            keeps_fact = any(states(text, alternatives) for text in texts)
            if not keeps_fact and any(states(text, changed) for text in texts):
                return ChangedFact(texts, alternatives, changed)
    return None


def _changes(
    question: AnswerQuestion,
    alternatives: Sequence[str],
    passages: Sequence[str],
    others: Sequence[AnswerQuestion],
) -> Iterator[Callable[[str], str]]:
    """Yield functions that change a text, the most fitting first."""
    seed = int(content_id(question.text, *alternatives), 16)
    everything = "\n".join((*passages, *alternatives))
    numbers = [number for text in alternatives for number in _NUMBER.findall(text)]
    if numbers:
        longest = max(numbers, key=len)
        other = _other_number(longest, seed, everything)
        yield lambda text: _replace_number(text, longest, other)
    months = [month for text in alternatives for month in _MONTH.findall(text)]
    if months:
        place = [name.casefold() for name in _MONTHS].index(months[0].casefold())
        month = _MONTHS[(place + 1 + seed % (len(_MONTHS) - 1)) % len(_MONTHS)]
        yield lambda text: re.sub(rf"\b{months[0]}\b", month, text, flags=re.IGNORECASE)
    name = _other_name(question, alternatives, everything, others, seed)
    pattern = _pattern_of(alternatives)
    yield lambda text: pattern.sub(lambda _match: name, text)


def _other_number(number: str, seed: int, taken: str) -> str:
    """Return a number with as many digits that does not occur in a text, if there is one."""
    known = set(_NUMBER.findall(taken))
    other = number
    for turn in range(_TRIES):
        step = 1 + (seed + turn) % _TRIES
        if number.isdecimal() and len(number) == 4 and _FIRST_YEAR <= int(number) < _LAST_YEAR:
            other = str(int(number) - step)
        else:
            # The first digit decides the size, so it is the last one that changes.
            other = f"{number[:-1]}{(int(number[-1]) + step) % 10}"
        if other not in known:
            break
    return other


def _replace_number(text: str, number: str, other: str) -> str:
    return _NUMBER.sub(lambda match: other if match[0] == number else match[0], text)


def _other_name(
    question: AnswerQuestion,
    alternatives: Sequence[str],
    taken: str,
    others: Sequence[AnswerQuestion],
    seed: int,
) -> str:
    is_wide = bool(HAN_OR_KANA.search(alternatives[0]))
    answers = [
        part[0]
        for other in others
        if other.type == question.type
        for part in other.answers[:1]
        if not is_verdict(part) and not _NUMBER.search(part[0])
    ]
    made_up = _MADE_UP_HAN if is_wide else _MADE_UP
    fitting = [
        name
        for name in dict.fromkeys(answers)
        if bool(HAN_OR_KANA.search(name)) == is_wide and not states(taken, [name])
    ]
    if fitting:
        return min(fitting, key=lambda name: (*_unlikeness(name, alternatives[0]), name))
    return made_up[seed % len(made_up)]


def _unlikeness(name: str, other: str) -> tuple[bool, int, int]:
    """Return how much a name differs from another in capitals, number of words and length."""
    is_cased_alike = name[0].isupper() == other[0].isupper()
    words = abs(len(name.split()) - len(other.split()))
    return not is_cased_alike, words, abs(len(name) - len(other))


def _pattern_of(alternatives: Sequence[str]) -> re.Pattern[str]:
    """Return a pattern of all alternatives as whole words, the longest first."""
    options = []
    for text in sorted(filter(str.strip, alternatives), key=len, reverse=True):
        words = r"\s+".join(map(re.escape, text.split()))
        is_wide = bool(HAN_OR_KANA.search(text))
        left = r"(?<!\w)" if text.strip()[0].isalnum() and not is_wide else ""
        right = r"(?!\w)" if text.strip()[-1].isalnum() and not is_wide else ""
        options.append(f"{left}{words}{right}")
    return re.compile("|".join(options), re.IGNORECASE)
