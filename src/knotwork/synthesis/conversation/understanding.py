"""A question that leans on the turns before it, as one that can be asked alone."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from knotwork.errors import ModelError
from knotwork.inference.chat import ChatModel
from knotwork.synthesis.conversation.names import NameReader
from knotwork.synthesis.conversation.pronouns import Pronoun, find_antecedent, find_pronoun
from knotwork.synthesis.conversation.rewriting import ask_alone
from knotwork.synthesis.conversation.turns import Turn, read_turn
from knotwork.text.languages import detect_language

MOST_TURNS = 6
LONGEST_LEANING = 400
"""Characters of a question that may lean on others: who writes more says what is meant."""

_OPENING = re.compile(
    r"^\s*(?:那么?[,，]?|(?:(?:and|but|then)\b[\s,]*)?(?:(?:what|how) about\b\s*)?)", re.IGNORECASE
)
_FULL = re.compile(
    r"^(?:who|whom|whose|what|when|where|which|why|how|is|are|was|were|do|does|did|can|could|has"
    r"|have|had|will|would|should)\b|[谁哪几吗]|什么|多少|何|怎",
    re.IGNORECASE,
)
_WITHOUT_SUBJECT = re.compile("^(?:什么时候|何时|哪一?年|几月|在哪|有多|是谁|是什么|叫什么)")
_ENDING = re.compile(r"呢?[?？。.\s]*$")
_FEW_WORDS = 6
_FEW_CHARACTERS = 12
_BARE_WORDS = 2
_BARE_CHARACTERS = 4


class Understanding(NamedTuple):
    """A question that stands alone; ``note`` says why a model did not take part."""

    text: str
    note: str = ""


def understand(
    question: str, turns: Sequence[Turn], names: NameReader, *, model: ChatModel | None = None
) -> Understanding:
    """Return a question that can be understood without the turns before.

    One that leans on nothing stays as it is, at no token. Else a model writes it again, if there is
    one; without it, and where it fails, a pronoun becomes the name that it stands for, another name
    takes the place of the last question's, and words that only go on get that question, or what
    it was about, before them.
    """
    if not turns or not leans(question, names):
        return Understanding(question)
    asked, question = question, " ".join(question.split())
    pronoun = _open_pronoun(question, names)
    note = ""
    if model is not None:
        try:
            return Understanding(ask_alone(question, turns, model))
        except ModelError as error:
            note = f"What the question leans on was found by rules: {error.message}"
    if pronoun:
        return Understanding(_with_antecedent(question, pronoun, turns), note)
    asked_before = [turn for turn in turns if turn.question]
    if not asked_before:
        return Understanding(asked, note)
    return Understanding(_beside(question, asked_before[-1], names), note)


def leans(question: str, names: NameReader) -> bool:
    """Return whether a question leans on what was said before it."""
    if len(question) > LONGEST_LEANING:
        return False
    question = " ".join(question.split())
    return _open_pronoun(question, names) is not None or _goes_on(question, names)


def read_turns(turns: Sequence[tuple[str, str]], names: NameReader) -> tuple[Turn, ...]:
    """Return the last turns of a conversation, given as questions with their answers.

    Those that lean on earlier ones are understood by rules.
    """
    read: list[Turn] = []
    for question, answer in turns[-MOST_TURNS:]:
        read.append(read_turn(understand(question, read, names).text, answer, names))
    return tuple(read)


def resolve_pronoun(text: str, turns: Sequence[Turn], names: NameReader) -> str:
    """Return a text with the name for which its first pronoun stands, where one fits."""
    pronoun = _open_pronoun(text, names)
    return _with_antecedent(text, pronoun, turns) if pronoun else text


def _with_antecedent(text: str, pronoun: Pronoun, turns: Sequence[Turn]) -> str:
    name = find_antecedent(pronoun.kind, turns)
    if not name:
        return text
    shown = f"{name}'s" if pronoun.possessive else name
    return f"{text[: pronoun.start]}{shown}{text[pronoun.end :]}"


def _open_pronoun(question: str, names: NameReader) -> Pronoun | None:
    """Return a pronoun that no name before it in the question explains."""
    pronoun = find_pronoun(question)
    if pronoun is None:
        return None
    named = (name for name in names(question) if name.is_proper)
    return None if any(name.start < pronoun.start for name in named) else pronoun


def _goes_on(question: str, names: NameReader) -> bool:
    """Return whether a question is a few words beside the last one."""
    opening, rest = _split(question)
    if not _has_few(question, _FEW_WORDS, _FEW_CHARACTERS):
        return False
    if _WITHOUT_SUBJECT.match(rest):
        return not names(rest)
    if _FULL.search(rest):
        return _has_few(rest, _BARE_WORDS, _BARE_CHARACTERS) or (opening and not names(rest))
    return opening or question.rstrip("?？ ").endswith("呢")


def _split(question: str) -> tuple[bool, str]:
    """Return whether a question opens with words that go on, and what comes behind them."""
    opening = _OPENING.match(question)
    assert opening is not None, "the pattern fits nothing too"
    return bool(opening[0].strip()), _ENDING.sub("", question[opening.end() :])


def _has_few(text: str, words: int, characters: int) -> bool:
    if detect_language(text) == "zh":
        return len(text) <= characters
    return len(text.split()) <= words


def _beside(question: str, last: Turn, names: NameReader) -> str:
    """Return the last question about another name, or with these few words behind it."""
    _, rest = _split(question)
    colon, mark = ("：", "？") if detect_language(question) == "zh" else (": ", "?")
    if _FULL.search(rest) and not _has_few(rest, _BARE_WORDS, _BARE_CHARACTERS):
        return f"{last.names[0].name}{colon}{rest}{mark}" if last.names else question
    named = names(f" {rest}")  # behind a space, as a first word with a capital may be any word
    if rest and len(named) == 1 and len(named[0].name) >= len(rest) - len("the "):
        same = [name for name in last.names if name.type == named[0].type]
        for old in [*same, *last.names]:
            return last.question.replace(old.name, named[0].name)
    asked = _ENDING.sub("", last.question)
    return f"{asked}{colon}{rest}{mark}" if asked and rest else question
