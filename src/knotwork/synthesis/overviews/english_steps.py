"""The forms of English questions for the steps of something, and for what precedes it."""

from __future__ import annotations

import re

from knotwork.synthesis.overviews.scopes import Scope, ScopeKind
from knotwork.text.terms import content_terms

_END = r"[\s?.!]*$"
_POLITE = r"(?:(?:please|can you|could you|would you|i need|i(?:'d| would) like),? )*"
_SUBJECT = r"(?P<subject>.+?)"
_STEP_BY_STEP = r"step[- ]by[- ]step"
_STEPS = r"(?:(?!the\b)\w+ ){0,2}(?:steps|stages|phases)"
_NEEDED = r"(?: (?:needed|required|involved|necessary))?"
_ACTOR = r"(?:i|we|you|one|someone|an? \w+)"
_WHAT, _IS = r"(?:what|which)", r"(?:what is|what's)"
_MUST = rf"(?:do|should|must|shall|would) {_ACTOR} (?:need to |have to |first )*"
_THINGS = r"(?:what|which (?:things|questions|points|issues|decisions|aspects))"
_CONSIDER = (
    r"(?:consider|settle|decide(?: on)?|clarify|plan|prepare|think (?:about|of|through|over)"
    r"|be clear about|take into account|sort out|work out|keep in mind|figure out"
    r"|ask (?:my|our|your)sel(?:f|ves))"
)
_BE_CONSIDERED = (
    r"(?:has to|have to|must|should|needs? to|ought to) (?:first )?be"
    r" (?:considered|settled|decided|clarified|planned|prepared|thought (?:about|of|through)"
    r"|taken into account|sorted out|worked out|kept in mind|answered|asked)"
)
_BEFORE = r"(?: first)? (?:before|when|prior to)"
_PROCEDURE = (
    r"(?:(?:right|correct|recommended|proper|usual) )?"
    r"(?:procedure|process|workflow|order of steps|sequence of steps)"
)
_TAKE = (
    r"(?:take|involve|include|consist of|need|require|go through|follow|have|to take|required"
    r"|necessary)"
)
_GUIDE = rf"{_STEP_BY_STEP} (?:guide|instructions?|tutorial|explanation)"
_FORMS = tuple(
    re.compile(f"^{_POLITE}{form}{_END}", re.IGNORECASE)
    for form in (
        rf"{_SUBJECT},? \(?(?:{_STEP_BY_STEP}|from (?:start|beginning) to (?:finish|end))\)?",
        (
            rf"(?:(?:tell|show|explain|describe)(?: to)?(?: me| us)?,? )?{_STEP_BY_STEP},? "
            r"(?P<subject>(?:how|what) .+?)"
        ),
        rf"{_WHAT} (?:are|were) (?:the )?{_STEPS}{_NEEDED} (?:of|for|to|in|when) {_SUBJECT}",
        (
            rf"(?:list|give me|show me|describe|explain|name) (?:the )?{_STEPS}{_NEEDED}"
            rf" (?:of|for|to|in) {_SUBJECT}"
        ),
        (
            rf"{_WHAT} {_STEPS} {_MUST}(?:take|follow|do|perform|go through)"
            rf" (?:to|for|when|before) {_SUBJECT}"
        ),
        rf"{_WHAT} {_STEPS} (?:do|does|did|must|should|have to|has to|are|is) {_SUBJECT} {_TAKE}",
        rf"in {_WHAT} (?:order|sequence) (?:do|should|must|shall) {_ACTOR} {_SUBJECT}",
        rf"{_IS} the {_PROCEDURE} (?:for|to|of|when) {_SUBJECT}",
        rf"(?:walk|take|guide|lead) (?:me|us) through {_SUBJECT}",
        rf"(?:give|show|write)(?: me| us)? an? {_GUIDE} (?:to|for|on|of) {_SUBJECT}",
        rf"{_THINGS} {_MUST}{_CONSIDER}{_BEFORE} {_SUBJECT}",
        rf"{_THINGS} {_BE_CONSIDERED}{_BEFORE} {_SUBJECT}",
        rf"before {_SUBJECT}, {_THINGS} (?:{_MUST}{_CONSIDER}|{_BE_CONSIDERED})(?: first)?",
    )
)


def read_english_steps(text: str) -> Scope | None:
    """Return the scope of an English question for steps; None for any other question.

    Its subject keeps what is asked ("What should I do"), so that passages that advise are near it.
    """
    for form in _FORMS:
        found = form.match(text)
        if found and content_terms(found["subject"]):
            return Scope(ScopeKind.STEPS, found["subject"])
    return None
