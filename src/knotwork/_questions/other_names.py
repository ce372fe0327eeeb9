"""Recognise a sentence about another thing than the one that a question names.

"Flight KX12 leaves at 6:40" says nothing of flight KX21, however alike the sentences are.
"""

from __future__ import annotations

import re

from knotwork._text.sentences import split_sentences
from knotwork._text.terms import terms

_NAME = r"[A-Z][\w'’-]+"
_NAMES = re.compile(rf"(?<=[\w,] ){_NAME}(?: {_NAME})*")
_NUMBERED = re.compile(
    r"\b(?!(?:than|after|before|within|under|over|above|below|about|around|least|most|only|until|since"
    r"|from|with|between|every|next|last|first|costs?|have|weighs?) )"
    r"([A-Za-z]{4,} (?=\d{1,3}\b)|[A-Z]{1,5}-?)(\d{1,5})\b(?: (\w+))?",
    re.IGNORECASE,
)
"""A noun or letters with a number that names one of many, as "room 7", and the word behind it."""
_BEHIND_AUXILIARY = re.compile(r"\b(?:(is|are|was|were)|did|do(?:es)?|ha[sd]|have|can|will) (.+)")
_OF_NAME = re.compile(rf"\b(?:of|in|at|for|from|by) (?:the )?{_NAME}(?: {_NAME})*")
_SUBJECT = re.compile(
    r"(?!(?:He|She|It|They|We|I|You|The|This|That|These|Those|Both|All|Each|In|On|At|Since|By) )"
    rf"\b((?:{_NAME} )+)((?:is|are|was|were) )?(?:(?:ha[sd]|have|been|also|first) )*([a-z]{{3,}})\b"
)


def is_about_another(question: str, sentence: str, text: str) -> bool:
    """Return True if a sentence says of another name what a question asks, and so does its text.

    The other name does the same as the one asked for ("Ann died" for "When did Bo die?"), or has
    another number, or stands behind the same word while the ``text`` lacks the one asked for.
    """
    for noun, number, behind in _NUMBERED.findall(question):
        alike = [m for m in _NUMBERED.findall(text) if m[0].casefold() == noun.casefold()]
        # Not "wait 20 days", which is an amount.
        stated = {n for _, n, unit in alike if noun[-1] != " " or not unit or unit != behind}
        if stated and number not in {n for _, n, _ in alike}:
            return True
    names = list(_NAMES.finditer(question))
    asked = {_root(term) for name in names for term in terms(name[0])}
    if not asked or not asked.isdisjoint(map(_root, terms(sentence))):
        return False
    rest = _BEHIND_AUXILIARY.search(question)  # who is "the head of Kelp" has another name
    ahead = terms(_OF_NAME.sub(" ", rest[2])) if rest else []
    for found in _SUBJECT.finditer(sentence):
        if rest and rest[1] and not found[2]:
            continue  # what follows is no verb
        verb, is_other = terms(found[3])[0], set(terms(found[1])) - {*terms(question)}
        before = ahead[: ahead.index(verb)] if verb in ahead else []
        if is_other and not asked.isdisjoint(map(_root, before)):
            others = (terms(text[span.start : span.end]) for span in split_sentences(text))
            return not any(verb in words and asked & {*map(_root, words)} for words in others)
    words = (re.findall(r"\w+", question[: name.start()])[-1] for name in names)
    nouns = "|".join(word for word in words if len(word) > 3)
    is_behind = bool(nouns) and re.search(rf"\b(?i:{nouns}) {_NAME}", sentence) is not None
    return is_behind and asked.isdisjoint(map(_root, terms(text)))


def _root(term: str) -> str:
    """Return the beginning of a term, which other spellings of a name share."""
    return term[:4]
