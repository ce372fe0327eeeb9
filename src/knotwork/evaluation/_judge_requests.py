"""Requests to a judge model, and strict parsers of its replies.

Questions, answers and passages are data: they are escaped, and put on single lines between tags
that they cannot close. A reply counts only if it has exactly one verdict on every item.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Generic, TypeVar

from knotwork._inference.chat import (
    ChatModel,
    ChatReply,
    ChatRequest,
    complete_checked,
    require_whole,
)
from knotwork._inference.own_prompts import BUILT_IN, OwnPrompts
from knotwork._inference.prompt_files import fill_prompt
from knotwork._inference.prompt_material import escape_passage
from knotwork._questions.reading import reading_of
from knotwork._text.plain_text import CITATION_MARK
from knotwork._text.token_counts import count_tokens, token_starts
from knotwork.errors import Unparsable
from knotwork.evaluation._answer_questions import AnswerParts

T = TypeVar("T")

ROOM = "knotwork.evaluation"
GENERATED_QUESTIONS = 3
"""Questions to generate from an answer; RAGAS uses three as well."""
MOST_STATEMENTS = 60
"""An answer with more statements cannot be judged in one call."""
STATEMENTS_TOKENS = 1_200
QUESTIONS_TOKENS = 300
VERDICT_TOKENS = 16
"""Output tokens for a verdict, with a few to spare."""

_WORDS = r"(yes|no|不是|是|否)(?=\W|_|$)"
_VERDICT = re.compile(rf"[^\w\n]{{0,8}}([AE]?)\s?(\d{{1,3}})[^\w\n]{{1,9}}{_WORDS}", re.IGNORECASE)
_BARE_VERDICT = re.compile(rf"[^\w\n]{{0,8}}{_WORDS}", re.IGNORECASE)
_ITEM = re.compile(r"\W*?\d{1,3}\s*[.)、．:：|]\s*(\S.*)")
_NOTHING = frozenset({"none", "无", "没有"})
_EVASIVE = frozenset({"evasive", "回避"})
_YES = frozenset({"yes", "是"})
_NOT_WORDS = re.compile(r"[\W_]+")


@dataclass(frozen=True, slots=True)
class JudgeCall(Generic[T]):
    """A request to a judge, and the parser of the reply."""

    request: ChatRequest
    parse: Callable[[ChatReply], T]

    def send(self, model: ChatModel) -> T:
        """Return the parsed reply. Raises Unparsable, and as `ChatModel.complete`."""
        return complete_checked(model, self.request, self.parse)


def ask_statements(
    question: str, answer: str, *, prompts: OwnPrompts = BUILT_IN
) -> JudgeCall[tuple[str, ...]]:
    """Return the call that splits an answer into statements."""
    blanks = {"question": on_one_line(question), "answer": _shown_answer(answer)}
    return _call("statements", question, blanks, STATEMENTS_TOKENS, read_statements, prompts)


def ask_support(
    question: str,
    statements: Sequence[str],
    passages: Sequence[str],
    *,
    prompts: OwnPrompts = BUILT_IN,
) -> JudgeCall[tuple[bool, ...]]:
    """Return the call that checks statements against passages."""
    blanks = {"context": _numbered(passages), "points": _numbered(statements)}
    return _verdicts("support", question, blanks, _labels(statements), prompts)


def ask_questions_of(
    question: str, answer: str, *, prompts: OwnPrompts = BUILT_IN
) -> JudgeCall[tuple[str, ...]]:
    """Return the call that generates the questions of an answer; () for an evasive answer."""
    blanks = {"count": str(GENERATED_QUESTIONS), "answer": _shown_answer(answer)}
    return _call("questions", question, blanks, QUESTIONS_TOKENS, read_questions, prompts)


def ask_usefulness(
    question: str,
    expected: AnswerParts,
    passages: Sequence[str],
    *,
    prompts: OwnPrompts = BUILT_IN,
) -> JudgeCall[tuple[bool, ...]]:
    """Return the call that asks which passages were useful for the expected answer."""
    blanks = {
        "question": on_one_line(question),
        "expected": _numbered(show_parts(expected)),
        "context": _numbered(passages),
    }
    return _verdicts("passages", question, blanks, _labels(passages), prompts)


def ask_recall(
    question: str,
    expected: AnswerParts,
    passages: Sequence[str],
    *,
    prompts: OwnPrompts = BUILT_IN,
) -> JudgeCall[tuple[bool, ...]]:
    """Return the call that asks which parts of the expected answer the passages state."""
    blanks = {
        "question": on_one_line(question),
        "context": _numbered(passages),
        "expected": _numbered(show_parts(expected)),
    }
    return _verdicts("recall", question, blanks, _labels(expected), prompts)


def ask_correctness(
    question: str,
    statements: Sequence[str],
    expected: AnswerParts,
    *,
    prompts: OwnPrompts = BUILT_IN,
) -> JudgeCall[tuple[bool, ...]]:
    """Return the call that compares the statements of an answer with the expected parts.

    Its verdicts are those on the statements, then those on the parts.
    """
    blanks = {
        "question": on_one_line(question),
        "points": _numbered(statements, "A"),
        "expected": _numbered(show_parts(expected), "E"),
    }
    labels = (*_labels(statements, "A"), *_labels(expected, "E"))
    return _verdicts("correctness", question, blanks, labels, prompts)


def ask_about_answer(
    task: str, question: str, answer: str, *, prompts: OwnPrompts = BUILT_IN
) -> JudgeCall[tuple[bool, ...]]:
    """Return the call with one verdict on an answer: task "refusal" or "notice"."""
    blanks = {"question": on_one_line(question), "answer": _shown_answer(answer)}
    return _verdicts(task, question, blanks, ("1",), prompts)


def show_parts(expected: AnswerParts) -> list[str]:
    """Return each part of an expected answer as one line, its alternatives between slashes."""
    return [" / ".join(alternatives) for alternatives in expected]


def cut_passages(passages: Sequence[str], *, budget_tokens: int) -> tuple[str, ...]:
    """Return the first passages that fit into a budget; the first is cut if it does not fit."""
    kept: list[str] = []
    left = budget_tokens
    for passage in passages:
        tokens = count_tokens(passage)
        if tokens > left:
            if not kept:
                kept.append(passage[: token_starts(passage)[budget_tokens]])
            break
        kept.append(passage)
        left -= tokens
    return tuple(kept)


def on_one_line(text: str) -> str:
    """Return a text as one line of a prompt, with tags and citation marks made harmless."""
    return escape_passage(" ".join(text.split()))


def read_statements(reply: ChatReply) -> tuple[str, ...]:
    """Return the statements of a reply, () if it says that the answer has none.

    Raises Unparsable for a reply that is cut off, has no numbered line, or has too many.
    """
    found = tuple(dict.fromkeys(_read_items(reply, _NOTHING)))
    if len(found) > MOST_STATEMENTS:
        raise Unparsable(f"The reply has {len(found)} statements, more than {MOST_STATEMENTS}.")
    return found


def read_questions(reply: ChatReply) -> tuple[str, ...]:
    """Return the generated questions of a reply, () if it calls the answer evasive.

    Raises Unparsable for a reply that is cut off or has fewer than `GENERATED_QUESTIONS`.
    """
    found = _read_items(reply, _EVASIVE)
    if found and len(found) < GENERATED_QUESTIONS:
        raise Unparsable(f"The reply has {len(found)} of {GENERATED_QUESTIONS} questions.")
    return found[:GENERATED_QUESTIONS]


def read_verdicts(reply: ChatReply, labels: Sequence[str]) -> tuple[bool, ...]:
    """Return the verdict on each label, in order. A single one needs no label.

    Raises Unparsable for a reply that is cut off, lacks a verdict, contradicts itself, or has a
    verdict on something that was not asked: its numbering cannot be trusted then.
    """
    found: dict[str, bool] = {}
    for line in require_whole(reply).text.splitlines():
        match = _VERDICT.match(line)
        bare = _BARE_VERDICT.match(line) if len(labels) == 1 else None
        if match is not None:
            label = f"{match[1].upper()}{int(match[2])}"
            verdict = match[3].lower() in _YES
        elif bare is not None:
            label, verdict = labels[0], bare[1].lower() in _YES
        else:
            continue
        if label not in labels:
            raise Unparsable(f"The reply has a verdict on {label}, which was not asked.")
        if found.setdefault(label, verdict) is not verdict:
            raise Unparsable(f"The reply has two verdicts on {label}.")
    missing = [label for label in labels if label not in found]
    if missing:
        raise Unparsable(f"The reply has no verdict on {missing[0]}.")
    return tuple(found[label] for label in labels)


def _read_items(reply: ChatReply, nothing: frozenset[str]) -> tuple[str, ...]:
    text = require_whole(reply).text
    if _NOT_WORDS.sub("", text).casefold() in nothing:
        return ()
    found = [" ".join(match[1].split()) for match in map(_ITEM.match, text.splitlines()) if match]
    if not found:
        raise Unparsable("The reply has no numbered line.")
    return tuple(found)


def _verdicts(
    task: str,
    question: str,
    blanks: Mapping[str, str],
    labels: Sequence[str],
    prompts: OwnPrompts,
) -> JudgeCall[tuple[bool, ...]]:
    parse = partial(read_verdicts, labels=tuple(labels))
    return _call(task, question, blanks, VERDICT_TOKENS * (len(labels) + 2), parse, prompts)


def _call(
    task: str,
    question: str,
    blanks: Mapping[str, str],
    output_tokens: int,
    parse: Callable[[ChatReply], T],
    prompts: OwnPrompts,
) -> JudgeCall[T]:
    name = f"judge-{task}"
    messages = fill_prompt(ROOM, name, reading_of(question).language, blanks, prompts)
    return JudgeCall(ChatRequest(messages, max_output_tokens=output_tokens, stage=name), parse)


def _shown_answer(answer: str) -> str:
    return on_one_line(CITATION_MARK.sub("", answer))


def _labels(items: Sequence[object], prefix: str = "") -> tuple[str, ...]:
    return tuple(f"{prefix}{number}" for number in range(1, len(items) + 1))


def _numbered(items: Sequence[str], prefix: str = "") -> str:
    labels = _labels(items, prefix)
    return "\n".join(f"{n}. {on_one_line(text)}" for n, text in zip(labels, items, strict=True))
