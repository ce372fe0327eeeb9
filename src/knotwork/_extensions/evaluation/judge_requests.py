"""Requests to a judge model, and strict parsers of its replies.

Questions, answers and passages are data: they are escaped, and put on single lines between tags
that they cannot close. A reply counts only if it has exactly one verdict on every item.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from knotwork._extensions.evaluation.answer_questions import AnswerParts
from knotwork._inference.call_cache import needs_call
from knotwork._inference.chat import (
    ChatModel,
    ChatReply,
    ChatRequest,
    complete_checked,
    require_whole,
)
from knotwork._inference.own_prompts import BUILT_IN, OwnPrompts, prompts_of
from knotwork._inference.prompt_files import fill_prompt
from knotwork._inference.prompt_material import escape_passage
from knotwork._questions.reading import reading_of
from knotwork._text.plain_text import CITATION_MARK
from knotwork._text.token_counts import count_tokens, token_starts
from knotwork.errors import Unparsable

T = TypeVar("T")

ROOM = "knotwork._extensions.evaluation"
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
class JudgeCall:
    """A request to a judge, and the parser of the reply: statements, questions or verdicts."""

    request: ChatRequest
    parse: Callable[[ChatReply], tuple[Any, ...]]

    def send(self, model: ChatModel) -> tuple[Any, ...]:
        """Return the parsed reply. Raises Unparsable, and as `ChatModel.complete`."""
        return complete_checked(model, self.request, self.parse)


_JUDGED_ITEMS: Mapping[str, Sequence[str]] = {
    "support": ("points",),
    "passages": ("context",),
    "recall": ("expected",),
    "correctness": ("points", "expected"),
}
"""What each task asks a verdict on; others ask a single one on the answer."""


def ask_judge(
    task: str,
    question: str,
    *,
    answer: str = "",
    statements: Sequence[str] = (),
    passages: Sequence[str] = (),
    expected: AnswerParts = (),
    prompts: OwnPrompts = BUILT_IN,
) -> JudgeCall:
    """Return the call of a task.

    "statements" splits an answer into statements, "questions" generates its questions. The others
    return verdicts: "support" of the passages for the statements, "passages" that were useful,
    "recall" of the expected parts, "correctness" of the statements and then of the parts, and
    "refusal" or "notice" of the answer as a whole.
    """
    shown = {"points": statements, "context": passages, "expected": show_parts(expected)}
    marks = {"points": "A", "expected": "E"} if task == "correctness" else {}
    labels = {
        name: [f"{marks.get(name, '')}{number}" for number in range(1, len(items) + 1)]
        for name, items in shown.items()
    }
    blanks = {
        "question": on_one_line(question),
        "answer": on_one_line(CITATION_MARK.sub("", answer)),
        "count": str(GENERATED_QUESTIONS),
        **{
            name: "\n".join(
                f"{label}. {on_one_line(text)}"
                for label, text in zip(labels[name], items, strict=True)
            )
            for name, items in shown.items()
        },
    }
    parse: Callable[[ChatReply], tuple[Any, ...]]
    if task == "statements":
        parse, tokens = read_statements, STATEMENTS_TOKENS
    elif task == "questions":
        parse, tokens = read_questions, QUESTIONS_TOKENS
    else:
        asked = [label for name in _JUDGED_ITEMS.get(task, ()) for label in labels[name]] or ["1"]
        parse, tokens = partial(read_verdicts, labels=asked), VERDICT_TOKENS * (len(asked) + 2)
    name = f"judge-{task}"
    messages = fill_prompt(ROOM, name, reading_of(question).language, blanks, prompts)
    return JudgeCall(ChatRequest(messages, max_output_tokens=tokens, stage=name), parse)


class NotCached(Unparsable):
    """A request has no cached reply, and no call is made for an estimate."""


class CachedRepliesOnly:
    """A chat model that has only the replies of a cache, and keeps the other ``requests``."""

    def __init__(self, model: ChatModel) -> None:
        self.name = model.name
        self.prompts = prompts_of(model)
        self.requests: list[ChatRequest] = []
        self._model = model

    def complete(self, request: ChatRequest) -> ChatReply:
        """Return the cached reply. Raises NotCached without one."""
        return self._cached(request).complete(request)

    def complete_checked(self, request: ChatRequest, parse: Callable[[ChatReply], T]) -> T:
        """Return what ``parse`` makes of the cached reply; raises as `complete` does."""
        return complete_checked(self._cached(request), request, parse)

    def stream(self, request: ChatRequest) -> Iterator[str | ChatReply]:
        """Yield the cached reply; raises as `complete` does."""
        yield from self._cached(request).stream(request)

    def _cached(self, request: ChatRequest) -> ChatModel:
        if needs_call(self._model, request):
            self.requests.append(request)
            raise NotCached("No call is made for an estimate.")
        return self._model


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
