"""What is said in place of an answer, in the language of the question."""

from __future__ import annotations

_NO_ANSWER = {
    "en": "The sources do not seem to hold an answer to this question.",
    "zh": "资料中似乎没有这个问题的答案。",
}
_NO_MATCH = {
    "en": "Nothing in the sources matches this question.",
    "zh": "资料中没有与这个问题相符的内容。",
}


def no_answer(language: str) -> str:
    """Say that passages were found, but none that answers."""
    return _NO_ANSWER.get(language, _NO_ANSWER["en"])


def no_match(language: str) -> str:
    """Say that nothing was found at all."""
    return _NO_MATCH.get(language, _NO_MATCH["en"])
