"""Word facts as sentences that address the person who stated them, in English or Chinese.

In the ends of a fact, "the user" is that person: "Ina | colleague of | the user" becomes "Ina is
your colleague", and "the user | works for | Acme" becomes "You work for Acme".
"""

from __future__ import annotations

import re

from knotwork._synthesis.memory_evidence import SPEAKER
from knotwork._text.chinese import HAN_AND_KANA, HAN_OR_KANA

_HAN_MEETS_LATIN = re.compile(
    rf"(?<=[{HAN_AND_KANA}])(?=[A-Za-z0-9])|(?<=[A-Za-z0-9])(?=[{HAN_AND_KANA}])"
)
_SPEAKER = re.compile(f"{SPEAKER}|me|us|我们?")
_OF_SPEAKER = re.compile(f"^(?:(?:{SPEAKER}'s|my|our) |我们?的)")
_ROLE = re.compile(
    r"(?!(?:got|knew|ran|spoke|thought|took|wrote)\b)"
    r"(?P<verb>is |was )?(?:(?:an?|the) )?(?P<role>(?:\w*[^\W\ds]|\w*ss)(?: \w+)*) of"
)
"""A relation such as "colleague of", which needs a verb; "dreams of" has one."""

_QUALITY = re.compile(
    r"^(?:at|in|on)\b|\b(?:afraid|ahead|aware|capable|east|fond|full|jealous|kind|made|north|out|part"
    r"|proud|south|tired|type|west)$"
)
"""The end of what somebody is, as in "proud of", and does not have, as a colleague."""

_ONE_OF_MANY = re.compile(
    r"\b(?:brother|client|colleague|co-?worker|cousin|customer|daughter|employee|fan|friend|member"
    r"|neighbou?r|partner|sister|son|student|supporter)$"
)
_SECOND_PERSON = {
    "is": "are",
    "was": "were",
    "has": "have",
    "focuses": "focus",
    **{word: word for word in ("always", "sometimes", "perhaps")},
}
_SHORT_WORD = len("lies")


def state_fact(subject: str, relation: str, object_: str) -> str:
    """Return a fact as a sentence without a full stop, in Chinese if its relation is."""
    if is_chinese(relation):
        return _state_in_chinese(subject, relation, object_)
    said = _state_in_english(subject, relation, object_)
    first = said.partition(" ")[0]
    return said[:1].upper() + said[1:] if first.islower() else said


def state_times(relation: str, valid_from: str, valid_to: str | None) -> str:
    """Return the period of a fact in the language of its relation, "" if it is unknown.

    A fact that was stated without a time has the minute of that moment as its beginning.
    """
    since, until = valid_from[:10], (valid_to or "")[:10]
    is_stated = "T" not in valid_from
    if is_chinese(relation):
        begin = f"自{since}起" if is_stated else f"截至{since}"
        return "，".join([begin] * bool(since) + [f"至{until}"] * bool(until))
    begin = f"since {since}" if is_stated else f"as of {since}"
    return " ".join([begin] * bool(since) + [f"until {until}"] * bool(until))


def is_chinese(relation: str) -> bool:
    """Return True if a fact with this relation is worded in Chinese."""
    return HAN_OR_KANA.search(relation) is not None


def _state_in_chinese(subject: str, relation: str, object_: str) -> str:
    start, end = _address(subject, "你", "你的"), _address(object_, "你", "你的")
    said = f"{start}是你的{relation}" if object_ == SPEAKER else f"{start}{relation}{end}"
    return _HAN_MEETS_LATIN.sub(" ", said)


def _state_in_english(subject: str, relation: str, object_: str) -> str:
    start, end = _address(subject, "you", "your "), _address(object_, "you", "your ")
    found = _ROLE.fullmatch(relation)
    if found is None:
        predicate = f"{relation} {end}"
    else:
        verb, role = found["verb"] or "is ", found["role"]
        if object_ == SPEAKER and not _QUALITY.search(role):
            predicate = f"{verb}your {role}"
        elif _ONE_OF_MANY.search(role):
            predicate = f"{verb}{'an' if role[0] in 'aeiou' else 'a'} {role} of {end}"
        else:
            predicate = f"{verb}{role} of {end}"
    if subject == SPEAKER:
        verb, space, rest = predicate.partition(" ")
        predicate = f"{_second_person(verb)}{space}{rest}"
    return f"{start} {predicate}"


def _address(end: str, you: str, your: str) -> str:
    """Return the end of a fact with "you" for the person who stated it."""
    if _SPEAKER.fullmatch(end):
        return you
    return _OF_SPEAKER.sub(your, end, count=1)


def _second_person(verb: str) -> str:
    """Return a verb as it follows "you": live for lives. Verbs of the past stay."""
    if verb in _SECOND_PERSON:
        return _SECOND_PERSON[verb]
    if verb.endswith("ies"):
        return verb[:-1] if len(verb) <= _SHORT_WORD else f"{verb[:-3]}y"
    if verb.endswith(("sses", "shes", "ches", "xes", "zzes", "oes")):
        return verb[:-2]
    return verb[:-1] if re.search(r"[^s]s$", verb) else verb
