"""Tell a sentence about another thing than the one that a question names.

"Flight KX12 leaves at 6:40" says nothing of flight KX21, however alike the sentences are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from knotwork._text.sentences import split_sentences
from knotwork._text.terms import terms

_NAME = r"(?:[A-Z][\w'’-]*|[a-z-]+\d[\w-]*)"
_NAMES = re.compile(rf"(?<=[\w,] ){_NAME}(?: {_NAME})*")
_NUMBERED = re.compile(
    r"\b(?!(?:than|after|before|within|under|over|above|below|about|around|least|most|only|until|since"
    r"|from|with|between|every|next|last|first|costs?|have|weighs?) )"
    r"([A-Za-z]{4,}) (\d{1,3})\b(?: (\w+))?",
    re.IGNORECASE,
)
"""A noun with a number that names one of many, as "room 7", and the word behind it."""
_BEHIND_AUXILIARY = re.compile(
    r"\b(?:did|do(?:es)?|is|are|was|were|has|have|had|can|will|must|may) (.+)"
)
_SUBJECT = re.compile(
    rf"((?:{_NAME} )+)(?:(?:is|are|was|were|has|had|have|been|also|first) )*([a-z]{{3,}})\b"
)
_OF_NAME = re.compile(rf"\b(?:of|in|at|for|from|by) (?:the )?{_NAME}(?: {_NAME})*")
_NO_NAME = re.compile(
    r"\b(?:He|She|It|They|We|I|You|The|This|That|These|Those|Both|All|Each|In|On|At|Since|By) "
)


def is_about_another(question: str, sentence: str, text: str) -> bool:
    """Return True if a sentence says of another name what a question asks, and so does its text.

    The other name does the same as the one asked for ("Ann died" for "When did Bo die?"), or stands
    behind the same word ("gate B2" for "gate B7") while the ``text`` lacks the one asked for.
    """
    for noun, number, behind in _NUMBERED.findall(question):
        stated = [m for m in _NUMBERED.findall(text) if m[0].casefold() == noun.casefold()]
        numbers = {other for _, other, unit in stated if not unit or unit != behind}
        if numbers and number not in numbers:  # not "wait 20 days", which is an amount
            return True
    names = list(_NAMES.finditer(question))
    asked = {term for match in names for term in terms(match[0])}
    asked |= {_initials(match[0]) for match in names}
    if not asked or not asked.isdisjoint(terms(sentence)):
        return False
    behind = _BEHIND_AUXILIARY.search(question)  # who is "the head of Kelp" has another name
    rest = terms(_OF_NAME.sub(" ", behind[1])) if behind else []
    for verb in _verbs_of_others(sentence, {*terms(question), *asked}):
        if verb in rest and not asked.isdisjoint(rest[: rest.index(verb)]):
            others = (set(terms(text[span.start : span.end])) for span in split_sentences(text))
            return not any(verb in words and asked & words for words in others)
    if not asked.isdisjoint(terms(text)):
        return False
    ahead = (re.findall(r"\w+", question[: match.start()])[-1] for match in names)
    nouns = "|".join(word for word in ahead if len(word) > 3 or word == "of")
    return bool(nouns) and re.search(rf"\b(?i:{nouns}) {_NAME}", sentence) is not None


def _verbs_of_others(sentence: str, known: set[str]) -> Iterator[str]:
    """Yield the verbs of a sentence whose subject is a name that has none of the known terms."""
    for match in _SUBJECT.finditer(sentence):
        name = _NO_NAME.sub("", match[1])
        if set(terms(name)) - known and _initials(name) not in known:
            yield from terms(match[2])


def _initials(name: str) -> str:
    return (
        "".join(word[0] for word in name.split()).lower() if " " in name.strip() else name.lower()
    )
