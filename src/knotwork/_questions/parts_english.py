"""Divide English questions: clauses that each ask, "A and B each", comparisons."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import IntEnum

from knotwork._questions.languages import DividedQuestion, SubQuestion
from knotwork._text.terms import content_terms

_FEWEST_TERMS = 2
"""A question of fewer content terms leans on the one before it."""

_BE = r"is|are|was|were"
_DO = r"do|does|did"
_AUX = rf"{_BE}|{_DO}|can|could|should|will|would|must|may|might|shall|has|have|had"
_PREPOSITION = (
    r"in|on|at|to|from|for|by|with|of|after|under|since|until|through|into|over|about|within"
)
_SUBJECT = r"the|an?|it|its|they|their|he|his|she|her|we|our|you|your|i|my|this|that|these|those"
_POINTING = r"it|its|they|them|their|he|him|his|she|her|there|this|these|those"
_DEGREE = (
    r"many|much|long|often|large|big|old|far|high|deep|soon|fast|close|quickly|frequently|wide"
    r"|tall|few|small|well|late|early|heavy|strong|hot|cold|thick"
)
_WORD = rf"(?!(?:{_AUX}|{_SUBJECT}|who|whom|which|what|whose|how|and|or|to)\b)[^\W_][^\s,;:?]*"
_WH = rf"(?:(?:{_PREPOSITION})\s+)?(?:who|whom|whose|what|which|when|where|why|how)"
_OPENING = re.compile(rf"{_WH}(?:['’](?:s|re))?\b", re.IGNORECASE)
_INVERTED = re.compile(
    rf"(?:(?:{_PREPOSITION})\s+)?(?:"
    # "what is", "where does", "how can": in a relative clause the verb follows the subject
    rf"(?:what|when|where|why|how)\s+(?:{_AUX})(?:n['’]t)?\b|(?:what|where|how)['’](?:s|re)\b"
    # "who did"; "who is" and "which has" may open a relative clause, "which one" never does
    rf"|(?:who|whom)\s+(?:{_DO})\b|which\s+ones?\b"
    rf"|(?:who|whom)\s+(?:{_AUX})\s+(?:{_POINTING})\b"
    # "which lock does", "how many open files may", "what part of the display is"
    rf"|(?:what|which|whose|how\s+(?:{_DEGREE}))(?:\s+{_WORD}){{0,4}}"
    rf"(?:\s+of(?:\s+(?:{_SUBJECT}))?(?:\s+{_WORD}){{1,3}})?(?<!which)\s+(?:{_AUX})\b)",
    re.IGNORECASE,
)
_VERB = rf"(?:[^\W_]+(?:s|ed)(?!\s+(?:{_AUX})\b))"
"""A word that looks like a verb, as "holds", but not a plural noun, as in "parameters can"."""
_ASKS_FOR_SUBJECT = re.compile(
    rf"(?:who(?:['’]s|\s+(?!(?:{_SUBJECT}|to|and|or)\b)\w)"
    rf"|what\s+(?!about\b){_WORD}\s+\w"
    rf"|which\s+(?!{_VERB}){_WORD}(?:\s+{_WORD}){{0,2}}\s+\w+"
    rf"|how\s+(?:many|much)\s+{_WORD}\s+\w)",
    re.IGNORECASE,
)
_GAP = re.compile(
    rf"(?P<joint>,?\s+(?:and|but)\s+(?:also\s+)?|;\s+)|,\s+(?={_WH}\b)", re.IGNORECASE
)
_RELATIVE_OPENING = re.compile(r"(?:who|whom|whose)\b", re.IGNORECASE)
_ACRONYM = re.compile(r"WHO\b")
_AFTER_PREAMBLE = re.compile(r"[,:]\s+|\s[-–—]\s")
_EMBEDDED = re.compile(
    r"\b(?:who|whom|whose|which|that|what|when|where|why|whether|if|how|because|while)\b",
    re.IGNORECASE,
)
_IDENTIFIES = re.compile(
    rf"(?:who|what|which(?:\s+\w+)?)(?:['’]s|\s+(?:{_BE}))\s+(?:the|an?)\b", re.IGNORECASE
)
_RELATIVE_WHO = re.compile(rf"who\s+(?:{_BE}|has|had|have|also|then|later|\w+ed)\b", re.IGNORECASE)
_ECHO = re.compile(
    rf"(?:what|who|which|why|how)\s+(?:{_BE})\s+(?:{_POINTING}|that)$", re.IGNORECASE
)
"""Matches a question that repeats the one before it: "Is there a limit, and what is it?"."""
_WHICH_ONE = re.compile(r"\b(which)\s+ones?\b", re.IGNORECASE)
_ASKED_NOUN = re.compile(
    rf"(?:which|what)\s+({_WORD}(?:\s+(?!{_VERB}){_WORD}){{0,2}})", re.IGNORECASE
)
_POINTS_BACK = re.compile(rf"\b(?:{_POINTING})\b", re.IGNORECASE)
_NAMES_ANOTHER = re.compile(rf"(?:what|who)(?:['’]s|\s+(?:{_BE}))\s+(?!the\b)\S", re.IGNORECASE)
"""A short question that leans on none: "What is a licence?", but not "what is the default?"."""
_SENTENCE_END = re.compile(r"(?<=[?!])\s+|(?<=[^\W\d_]{2}\.)\s+(?=[A-Z])")
_LINK = re.compile(r"^(?:and|but|also|then|so|next|finally)\b,?\s+", re.IGNORECASE)

_THING = rf"(?:(?:the|an?)\s+)?{_WORD}(?:\s+(?!(?:{_PREPOSITION})\b){_WORD}){{0,3}}"
_THINGS = rf"(?P<first>{_THING}(?:,\s+{_THING})*),?\s+and\s+(?P<last>{_THING}"
_EACH = re.compile(
    rf"\b(?P<verb>{_AUX})\s+{_THINGS}?)\s+each\s+"
    r"(?!other\b|of\b|time\b|day\b|week\b|month\b|year\b|new\b|one\b)",
    re.IGNORECASE,
)
_RESPECTIVELY = re.compile(
    rf"^.*\b(?P<verb>{_AUX}|{_PREPOSITION})\s+{_THINGS})(?P<rest>(?:\s+[^,]*)?),?\s+respectively$",
    re.IGNORECASE,
)
_DAY = re.compile(r"[A-Z][a-z]+\s+\d{1,2}$")
_SINGULAR = {"do": "does", "are": "is", "were": "was", "have": "has"}

_COMPARED = (
    rf"(?!(?:{_POINTING}|that|others?|another|both|each|the (?:first|second|other))\b)"
    r"[^\s,;?][^,;?]{0,60}?"
)
_ASPECT = (
    r"(?P<aspect>,?\s+(?:in|on|when|regarding|concerning|for|as to|with re(?:spect|gard) to)\s.+)?"
)
_ONE, _OTHER = rf"(?P<one>{_COMPARED})", rf"(?P<other>{_COMPARED})"
_DIFFERENCE = (
    r"(?:(?:what|tell me|explain|describe)?(?:['’]?s|['’]re|\s+(?:is|are|was|were))?\s*"
    r"(?:the|any|some)?\s*(?:\w+\s+)?)??(?:differences?|distinction)\s+between"
)
_FORMS = (
    rf"{_DIFFERENCE}\s+{_ONE}\s+and\s+{_OTHER}",
    rf"how\s+(?:{_DO}|{_BE})\s+{_ONE}\s+(?:differ(?:ent)? from|compare (?:to|with))\s+{_OTHER}",
    rf"how\s+(?:{_DO}|{_BE}|can)\s+{_ONE}\s+and\s+{_OTHER}\s+(?:differ(?:ent)?|compare)",
    rf"(?:please\s+)?compare\s+{_ONE}\s+(?:and|with|to|versus|vs\.?|against)\s+{_OTHER}",
    rf"(?P<one>{_THING})\s+(?:vs\.?|versus)\s+(?P<other>{_THING})(?:\s+[-–—]\s.*|,\s+wh.*)?",
)
_COMPARISONS = tuple(re.compile(rf"^{form}{_ASPECT}[\s?.]*$", re.IGNORECASE) for form in _FORMS)
_NO_NAME = re.compile(rf"\b(?:and|{_WH})\b", re.IGNORECASE)
_MOST_NAME_WORDS = 6
"""The maximum number of words of a compared name."""


class _Form(IntEnum):
    """How certain it is that a clause asks who, what, which, when, where, why or how."""

    NONE = 0
    SUBJECT = 1
    """It asks for its subject ("who looks after them"), but may be a relative clause."""
    INVERTED = 2
    """Its verb precedes its subject ("which lock does it take")."""


def divide(text: str) -> tuple[SubQuestion, ...]:
    """Return the questions in a text; at most one if it cannot be divided.

    A question that leans on the one before it is part of that: one passage answers both.
    """
    clauses: list[list[str]] = []
    context = ""
    for sentence in _SENTENCE_END.split(text):
        found = _divide_sentence(_LINK.sub("", sentence.strip()))
        if not found:
            if clauses and sentence.endswith("?"):
                return ()  # "Is there one? If so, where?" continues a question like this
            context = f"{context} {sentence}".strip()
            continue
        preamble, *questions = found
        context = f"{context} {preamble}".strip()
        for question in questions:
            if clauses and _leans(question):
                clauses[-1].append(f"{question[:1].lower()}{question[1:]}")
            else:
                clauses.append([question])
    parts = tuple(
        SubQuestion(_as_question(one), _as_question(f"{'' if number else context} {one}"))
        for number, (first, *leaning) in enumerate(clauses)
        for one in ((", and ".join((first, *leaning)),) if leaning else _distribute(first))
    )
    return parts if all(_says_something(part.text) for part in parts) else ()


def _leans(question: str) -> bool:
    """Return True if a question needs the words of the one before it."""
    if _POINTS_BACK.search(question):
        return True
    opening = _INVERTED.match(question) or _OPENING.match(question)
    rest = question[opening.end() :] if opening else question
    return len(set(content_terms(rest))) < _FEWEST_TERMS and not _NAMES_ANOTHER.match(question)


def compare(text: str) -> DividedQuestion | None:
    """Return one question for each of two compared names; None for any other question."""
    *before, question = _SENTENCE_END.split(text)
    for form in _COMPARISONS:
        found = form.match(question)
        if found is None:
            continue
        names = (found["one"].strip(), found["other"].strip())
        are_short = all(len(name.split()) <= _MOST_NAME_WORDS for name in names)
        if not are_short or any(_NO_NAME.search(n) or not _says_something(n) for n in names):
            return None
        asked = [f"What is {name}{found['aspect'] or ''}" for name in names]
        context = " ".join(before)
        parts = (SubQuestion(_as_question(one), _as_question(f"{context} {one}")) for one in asked)
        return DividedQuestion(tuple(parts), names)
    return None


def _divide_sentence(sentence: str) -> list[str]:
    """Return the text before a sentence's first question, then its questions; else empty."""
    text = sentence.rstrip(" ?.!")
    starts = [0, *(gap.end() for gap in _AFTER_PREAMBLE.finditer(text))]
    start = next((at for at in starts if _form(text[at:])), None)
    if start is None:
        return []
    questions: list[str] = []
    clause_start = start
    for gap in _GAP.finditer(text, start):
        clause = text[clause_start : gap.start()]
        if _goes_on_asking(clause, text[gap.end() :], is_joined=gap["joint"] is not None):
            questions.append(clause)
            clause_start = gap.end()
    questions.append(text[clause_start:])
    return [text[:start].strip(), *_name_ones(questions)]


def _form(clause: str) -> _Form:
    if _INVERTED.match(clause):
        return _Form.INVERTED
    return _Form.SUBJECT if _ASKS_FOR_SUBJECT.match(clause) else _Form.NONE


def _goes_on_asking(clause: str, rest: str, *, is_joined: bool) -> bool:
    """Return True if the rest after a clause is a question of its own.

    "And who wrote it" may belong to a clause within the first question: it is taken for a question
    only if the first question has no such clause.
    """
    form, next_form = _form(clause), _form(rest)
    if not form or not _says_something(clause) or _ACRONYM.match(rest) or _ECHO.match(rest):
        return False
    if not is_joined and (form is not _Form.INVERTED or _RELATIVE_OPENING.match(rest)):
        return False
    if next_form is _Form.INVERTED:
        return not rest.casefold().startswith("whose")
    if next_form is _Form.NONE or not is_joined:
        return False
    opening = _OPENING.match(clause)
    if opening is None or _EMBEDDED.search(clause, opening.end()):
        return False
    return not (_IDENTIFIES.match(clause) and _RELATIVE_WHO.match(rest))


def _name_ones(questions: Sequence[str]) -> list[str]:
    """Replace "which one" by "which" and the noun that the question before asks for."""
    named: list[str] = []
    noun = ""
    for question in questions:
        one = _WHICH_ONE.search(question) if noun else None
        before, behind = (question[: one.end(1)], question[one.end() :]) if one else ("", "")
        named.append(f"{before} {noun}{behind}" if one else question)
        if asked := _ASKED_NOUN.match(named[-1]):
            noun = asked[1]
    return named


def _distribute(question: str) -> tuple[str, ...]:
    """Split a question about "A and B each" into one for each name; else return it alone."""
    text = question.rstrip(" ?.!")
    found = _RESPECTIVELY.search(text) or _EACH.search(text)
    if found is None:
        return (question,)
    things = [*re.split(r",\s+", found["first"]), found["last"]]
    if _DAY.search(things[0]):
        return (question,)  # the comma of "May 31, 2019" separates no names
    verb = _SINGULAR.get(found["verb"].lower(), found["verb"])
    before, behind = text[: found.start("verb")], text[found.end() :]
    rest = found.groupdict().get("rest") or f" {behind}"
    return tuple(f"{before}{verb} {thing}{rest}" for thing in things)


def _says_something(question: str) -> bool:
    return bool(content_terms(question))


def _as_question(text: str) -> str:
    text = text.strip(" ,;?")
    return f"{text[:1].upper()}{text[1:]}?"
