"""Find what a message of a conversation states and what it asks; precision comes before recall.

A sentence counts as a statement of the speaker only if nothing in it shows that it is a question, a
request, a guess, a condition, or what somebody else said.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from knotwork.agents._fact_rules import (
    StatedFact,
    asks_to_remember,
    read_facts,
    split_statements,
    without_article,
)

LONGEST_STATEMENT = 600
"""A message of more characters is a pasted text rather than a statement of the speaker."""
MOST_SENTENCES = 6

_ENDS_AS_QUESTION = re.compile(r"[?？]\W*$|[吗呢]\W*$")
_ASKS_OR_COMMANDS = re.compile(
    r"^\W*(?:(?:please|请)\s*)?(?:who|whom|whose|what|when|where|which|why|how|is|are|was|were|do|does"
    r"|did|can|could|has|have|had|will|would|should|list|show|find|tell me|give|explain|describe"
    r"|summari[sz]e|compare|define|translate|search|look up|write|draft|make|let'?s|let me)\b"
    r"|谁|什么|哪|多少|怎么|如何|为何|^\W*(?:列出|说明|介绍|总结|比较|查找|翻译|写)",
    re.IGNORECASE,
)
_NOT_ASSERTED = re.compile(
    # a condition or an example
    r"\b(?:if|unless|whether|suppos(?:e|ing)|assum(?:e|ing)|imagine|pretend|let'?s say"
    r"|hypothetical\w*|for (?:example|instance)|e\.g"
    r"|in (?:the|this|that|her|his) (?:novel|film|movie|book|story|game|play))\b"
    # a guess, a wish or a request
    r"|\b(?:might|could|would|should|maybe|perhaps|probably|possibly|presumably|apparently|allegedly"
    r"|seems?|i (?:think|guess|believe|suspect|wonder|hope|wish|doubt|want|need)|i'?d (?:like|love)"
    r"|not sure|please)\b"
    # what somebody else says
    r"|\b(?:said|says?|say|told|claim(?:s|ed)?|stat(?:es|ed)|wrote|writes|heard|argu(?:es|ed)|insist(?:s|ed)?"
    r"|report(?:s|ed) that|according to|quote|rumou?rs?)\b"
    r"|如果|假如|假设|假定|要是|倘若|万一|比如|例如|可能|也许|或许|大概|好像|似乎|听说|据说|传闻|据[^，,]{1,12}[，,]"
    r"|声称|宣称|[说称][过道]?[:：,，“\"]|认为|觉得|猜|希望|想要|想知道|请|麻烦|帮我|能不能|是否|是不是|有没有|小说|电影里",
    re.IGNORECASE,
)
_MAY = re.compile(r"\bmay\b(?! \d)|\bcan\b")
_QUOTED = re.compile(r"[“”„«»「」『』]|(?<!\w)[\"'][^\"']+[\"'](?!\w)|^\s*>")
_OF_NO_LASTING_USE = re.compile(
    r"^(?:this|that|these|those|it|its|them|you|your|how|what|when|where|why|who|which|if|to|here|there"
    r"|such|so|very|too|just|about|problems?|issues?|doubts?|ideas?|requests?|errors?|bugs?|look"
    r"|feeling|hard time|moment|minute|same)\b|^[这那你您]",
    re.IGNORECASE,
)
_NAMES_SOMETHING = re.compile(r"[A-Z0-9]|[^\x00-\x7f]")
_STATES = re.compile(r"\S\s+\S+\s+\S.*[.!]\W*$|[。！]\W*$")
_STATES_OF_BEING = frozenset({"is", "was"})
_ARTICLE = re.compile(r"\b(?:am|is|are) (?:an?|the) ")


class MessageParts(NamedTuple):
    """What a message states and what it asks; ``is_explicit``: it asks to be remembered."""

    statement: str
    question: str
    is_explicit: bool = False


def split_message(text: str) -> MessageParts:
    """Return the sentences of a message that may state facts, and those that ask or command.

    Sentences that do neither are left out. A message that asks to be remembered is a statement
    from its beginning up to the first question.
    """
    sentences = split_statements(text)
    is_explicit = asks_to_remember(text) and not _ENDS_AS_QUESTION.search(sentences[0])
    stated, asked = [], []
    for number, sentence in enumerate(sentences):
        if is_asked(sentence) and not (is_explicit and number == 0):
            asked.append(sentence)
        elif is_explicit or is_asserted(sentence):
            stated.append(sentence)
    if not is_explicit and (len(text) > LONGEST_STATEMENT or len(sentences) > MOST_SENTENCES):
        return MessageParts("", text)
    return MessageParts(" ".join(stated), " ".join(asked), is_explicit)


def is_asked(sentence: str) -> bool:
    """Return True if a sentence is a question or a command."""
    return bool(_ENDS_AS_QUESTION.search(sentence) or _ASKS_OR_COMMANDS.search(sentence))


def is_asserted(sentence: str) -> bool:
    """Return True if a sentence is asserted by the speaker: no guess, condition or quotation."""
    return not (
        is_asked(sentence)
        or _NOT_ASSERTED.search(sentence)
        or _MAY.search(sentence)
        or _QUOTED.search(sentence)
    )


def may_state(statement: str) -> bool:
    """Return True if a text has the form of a statement that a model should read."""
    return bool(_STATES.search(statement))


def read_offered(statement: str) -> list[StatedFact]:
    """Return the facts of a statement that may be worth remembering unasked.

    Passing states ("I am tired", "The search is slow") and what the speaker says about this
    conversation ("I like this answer") are left out.
    """
    found = []
    for sentence in split_statements(statement):
        for fact in read_facts(sentence):
            if _OF_NO_LASTING_USE.match(without_article(fact.object)):
                continue
            is_state = fact.relation in _STATES_OF_BEING
            if is_state and not (_NAMES_SOMETHING.search(fact.object) or _ARTICLE.search(sentence)):
                continue
            found.append(fact)
    return found
