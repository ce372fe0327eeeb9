"""A scripted judge that compares words, for runs that need a judge and no model.

What occurs in the material word for word is supported; everything else is not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from knotwork._inference.chat import ChatRequest
from knotwork.testing import ScriptedChatModel

Reply = str | Callable[[ChatRequest], str]


def task_of(request: ChatRequest) -> str:
    """Return the task of a request to a judge, such as "support"."""
    found = re.match(r"task: judge-(\w+)", request.messages[0].content)
    return found[1] if found else ""


def lines_of(request: ChatRequest, tag: str) -> list[str]:
    """Return the lines between two tags of a request, without their labels."""
    (found,) = re.findall(rf"<{tag}>\n(.*?)\n</{tag}>", request.messages[1].content, re.DOTALL)
    return [re.sub(r"^[AE]?\d+\. ", "", line) for line in found.split("\n")]


def scripted_judge(replies: Mapping[str, Reply]) -> ScriptedChatModel:
    """Return a judge that replies by task: with a text, or with a function of the request."""

    def reply(request: ChatRequest) -> str:
        step = replies[task_of(request)]
        return step(request) if callable(step) else step

    return ScriptedChatModel(reply)


def word_judge() -> ScriptedChatModel:
    """Return a judge that compares words: what occurs in the material is supported.

    Its statements are the sentences of the answer.
    """

    def statements(request: ChatRequest) -> str:
        sentences = re.findall(r"[^.。]+[.。]?", " ".join(lines_of(request, "text")))
        kept = [sentence.strip() for sentence in sentences if sentence.strip()]
        return "\n".join(f"{n}. {sentence}" for n, sentence in enumerate(kept, 1)) or "NONE"

    def questions(request: ChatRequest) -> str:
        return "\n".join(f"{n}. {' '.join(lines_of(request, 'text'))}" for n in (1, 2, 3))

    def support(request: ChatRequest) -> str:
        return _verdicts(lines_of(request, "points"), " ".join(lines_of(request, "context")))

    def passages(request: ChatRequest) -> str:
        wanted = lines_of(request, "facts")
        found = [
            any(_is_in(part, line) for part in wanted) for line in lines_of(request, "context")
        ]
        return _lines(found)

    def recall(request: ChatRequest) -> str:
        return _verdicts(lines_of(request, "facts"), " ".join(lines_of(request, "context")))

    def correctness(request: ChatRequest) -> str:
        points, parts = lines_of(request, "points"), lines_of(request, "facts")
        right = [any(_is_in(part, point) for part in parts) for point in points]
        given = [any(_is_in(part, point) for point in points) for part in parts]
        return f"{_lines(right, 'A')}\n{_lines(given, 'E')}"

    def refusal(request: ChatRequest) -> str:
        return _lines(["not " in " ".join(lines_of(request, "text"))])

    def notice(request: ChatRequest) -> str:
        return _lines(["contradict" in " ".join(lines_of(request, "text"))])

    return scripted_judge(
        {
            "statements": statements,
            "questions": questions,
            "support": support,
            "passages": passages,
            "recall": recall,
            "correctness": correctness,
            "refusal": refusal,
            "notice": notice,
        }
    )


def _is_in(part: str, text: str) -> bool:
    return any(option.strip(" .").lower() in text.lower() for option in part.split(" / "))


def _verdicts(items: Sequence[str], text: str) -> str:
    return _lines([_is_in(item, text) for item in items])


def _lines(verdicts: Sequence[bool], prefix: str = "") -> str:
    return "\n".join(f"{prefix}{n} | {'yes' if v else 'no'}" for n, v in enumerate(verdicts, 1))
