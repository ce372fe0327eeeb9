"""A scripted judge for tests: replies by task, from what the request shows."""

import re

from knotwork.testing import ScriptedChatModel


def task_of(request):
    """Return the task of a request to a judge, such as "support"."""
    return re.match(r"task: judge-(\w+)", request.messages[0].content)[1]


def lines_of(request, tag):
    """Return the lines between two tags of a request, without their labels."""
    (found,) = re.findall(rf"<{tag}>\n(.*?)\n</{tag}>", request.messages[1].content, re.DOTALL)
    return [re.sub(r"^[AE]?\d+\. ", "", line) for line in found.split("\n")]


def scripted_judge(replies):
    """Return a judge that replies by task: with a text, or with a function of the request."""

    def reply(request):
        step = replies[task_of(request)]
        return step(request) if callable(step) else step

    return ScriptedChatModel(reply)


def word_judge():
    """Return a judge that compares words: what occurs in the material is supported.

    Its statements are the sentences of the answer.
    """

    def statements(request):
        sentences = re.findall(r"[^.。]+[.。]?", " ".join(lines_of(request, "text")))
        kept = [sentence.strip() for sentence in sentences if sentence.strip()]
        return "\n".join(f"{n}. {sentence}" for n, sentence in enumerate(kept, 1)) or "NONE"

    def questions(request):
        return "\n".join(f"{n}. {' '.join(lines_of(request, 'text'))}" for n in (1, 2, 3))

    def support(request):
        return _verdicts(lines_of(request, "points"), " ".join(lines_of(request, "context")))

    def passages(request):
        wanted = lines_of(request, "facts")
        found = [
            any(_is_in(part, line) for part in wanted) for line in lines_of(request, "context")
        ]
        return _lines(found)

    def recall(request):
        return _verdicts(lines_of(request, "facts"), " ".join(lines_of(request, "context")))

    def correctness(request):
        points, parts = lines_of(request, "points"), lines_of(request, "facts")
        right = [any(_is_in(part, point) for part in parts) for point in points]
        given = [any(_is_in(part, point) for point in points) for part in parts]
        return f"{_lines(right, 'A')}\n{_lines(given, 'E')}"

    def refusal(request):
        return _lines(["not " in " ".join(lines_of(request, "text"))])

    def notice(request):
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


def _is_in(part, text):
    return any(option.strip(" .").lower() in text.lower() for option in part.split(" / "))


def _verdicts(items, text):
    return _lines([_is_in(item, text) for item in items])


def _lines(verdicts, prefix=""):
    return "\n".join(f"{prefix}{n} | {'yes' if v else 'no'}" for n, v in enumerate(verdicts, 1))
