"""Check a question that a model rewrote: it must still ask the same, in words of the conversation.

A model may resolve a pronoun and add what was said before. A reply that drops a name, a number, a
negation or another word of the question, adds a word that nobody said, answers, or repeats itself
is rejected.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from knotwork._text.chinese import HAN, segment, simplify
from knotwork._text.terms import content_terms, terms
from knotwork.errors import Unparsable

_ADDED_CHARACTERS = 80
"""Room for a name and the words around it, beside the question and an earlier one."""
_MOST_REPEATS = 2
"""How much more often than before a term may occur."""

_HAN_TEXT = re.compile(f"[{HAN}]")
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_ASKING = (
    "who whom whose what when where which why how is are am was were do does did can could has have"
    " had will would should shall may might must"
)
_ASKING_WORDS = frozenset(_ASKING.split())
_INTERROGATIVES = frozenset(
    ("who", "whom", "whose", "what", "when", "where", "which", "why", "how")
)
_SAME_INTERROGATIVE = {"whom": "who"}
_STATING_WORDS = frozenset(("is", "are", "am", "was", "were", "has", "had", "did", "does", "will"))
_DECISIVE = "except before after more most less least only between against all both each every"
_DECIDING = frozenset(_DECISIVE.split())
"""Stop words that change what a question asks."""
_NEGATION = re.compile(r"n['’]t\b", re.IGNORECASE)
_ASKS_ZH = re.compile("[谁誰哪几幾吗嗎呢何]|什么|什麼|多少|怎|是否|是不是|有没有|有沒有|能否")
_OPENS_ASKING = re.compile(rf"^\W*(?:{'|'.join(_ASKING_WORDS)})\b", re.IGNORECASE)
_INTERROGATIVES_ZH = (
    ("谁", "哪位", "哪个人"),
    ("什么时候", "何时", "哪年", "哪一年", "哪天", "几月", "什么时间"),
    ("哪里", "哪儿", "在哪", "何地", "何处", "什么地方"),
    ("为什么", "为何", "什么原因", "怎么会"),
    ("多少", "几", "多大", "多长", "多高", "多久", "多深", "多远"),
)
"""Forms of one question each; a rewritten question keeps the kind of its interrogative."""
_NEGATIONS_ZH = re.compile("[不没無无非未別别]")
_CHOICES_ZH = re.compile("是不是|有没有|能不能|会不会|可不可以|要不要|(.)不\\1|不过|非常|无论|没错")
_EMPTY_ZH = frozenset(
    "的了是在和与及或而也都就被把对从向于之其此该这那他她它们我你您吗呢吧啊呀么嘛谁什哪些几个位有"
    "请问何多少怎样如为地得着过很还又再里中上下时候候里儿先然后"
)
"""Characters of function words, pronouns and interrogatives."""


def check_rewritten(text: str, question: str, said: Sequence[str]) -> None:
    """Raise Unparsable if ``text`` does not ask what ``question`` asks after the texts ``said``."""
    _check_size(text, question, said)
    _check_form(text, question)
    _check_kept(text, question)
    _check_added(text, question, said)


def _check_size(text: str, question: str, said: Sequence[str]) -> None:
    longest = max(map(len, said), default=0)
    if len(text) > len(question) + longest + _ADDED_CHARACTERS:
        raise Unparsable("The rewritten question is much longer than the question.")
    before = Counter(terms(question))
    for term, count in Counter(terms(text)).items():
        if count > before[term] + _MOST_REPEATS and len(term) > 1:
            raise Unparsable(f"The rewritten question repeats `{term}` {count} times.")


def _check_form(text: str, question: str) -> None:
    """Check that a question stays a question, and of the same kind."""
    if _HAN_TEXT.search(text):
        asked, asks = (bool(_ASKS_ZH.search(part)) for part in (question, text))
        asks = asks or text.rstrip().endswith(("?", "？"))
        kept = simplify(text)
        for forms in _INTERROGATIVES_ZH:
            if any(form in simplify(question) for form in forms) and not any(
                form in kept for form in forms
            ):
                raise Unparsable(f"The rewritten question does not ask `{forms[0]}`.")
    else:
        asked = bool(_OPENS_ASKING.match(question)) or question.rstrip().endswith("?")
        asks = bool(_OPENS_ASKING.match(text)) or text.rstrip().endswith("?")
        words, before = _words(text), _words(question)
        if missing := (before & _INTERROGATIVES) - words:
            raise Unparsable(f"The rewritten question does not ask `{min(missing)}`.")
        asks = asks or not (asked or (words - before) & _STATING_WORDS)
        asked = True
    if asked and not asks:
        raise Unparsable("The reply is not a question.")


def _check_kept(text: str, question: str) -> None:
    kept = set(terms(text))
    lost = [term for term in _own_terms(question) if term not in kept]
    if _HAN_TEXT.search(question):
        held = simplify(text)
        lost += [c for c in _own_characters(question) if c not in held]
        if _denials_zh(question) != _denials_zh(text):
            raise Unparsable("The rewritten question adds or drops a negation.")
    if lost:
        raise Unparsable(f"The rewritten question has lost `{lost[0]}`.")
    words, before = _words(text), _words(question)
    if _denies(text) != _denies(question):
        raise Unparsable("The rewritten question adds or drops a negation.")
    if missing := (before & _DECIDING) - words:
        raise Unparsable(f"The rewritten question has lost `{min(missing)}`.")


def _check_added(text: str, question: str, said: Sequence[str]) -> None:
    spoken = "\n".join((question, *said))
    known = set(terms(spoken))
    new = [term for term in _own_terms(text) if term not in known]
    if _HAN_TEXT.search(text):
        held = simplify(spoken)
        new += [
            word.simplified
            for word in segment(text)
            if _HAN_TEXT.search(word.text)
            and word.simplified not in held
            and not all(c in _EMPTY_ZH for c in word.simplified)
        ]
    if new:
        raise Unparsable(f"The rewritten question adds `{new[0]}`, which nobody said.")


def _own_terms(text: str) -> list[str]:
    """Return the content terms of a text except Han ones, and the names that are stop words."""
    found = [term for term in content_terms(text) if not _HAN_TEXT.search(term)]
    words = list(_WORD.finditer(text))[1:]
    stopped = (match[0] for match in words if match[0][0].isupper() and match[0] != "I")
    return found + [term for word in stopped for term in terms(word) if term.isascii()]


def _own_characters(text: str) -> list[str]:
    """Return the characters of the content words of a Chinese text, simplified."""
    found = []
    for word in segment(text):
        if _HAN_TEXT.search(word.text):
            found += [c for c in word.simplified if c not in _EMPTY_ZH]
    return found


def _denials_zh(text: str) -> bool:
    return bool(_NEGATIONS_ZH.search(_CHOICES_ZH.sub("", simplify(text))))


def _denies(text: str) -> bool:
    return bool(_NEGATION.search(text)) or not _words(text).isdisjoint(
        ("not", "no", "never", "nor", "without", "cannot")
    )


def _words(text: str) -> set[str]:
    return {_SAME_INTERROGATIVE.get(word, word) for word in _WORD.findall(text.casefold())}
