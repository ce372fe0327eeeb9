"""Asking a language model which of the open pairs are one: many in a call, within a ceiling."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from knotwork.errors import Unparsable
from knotwork.indexing.resolution.describing import Question
from knotwork.inference.chat import ChatModel, ChatReply, ChatRequest, Message
from knotwork.inference.checked import complete_checked
from knotwork.inference.ordered import work_ordered
from knotwork.records import Verdict
from knotwork.text.languages import detect_language
from knotwork.text.tokens import count_tokens

FULL_SHARE = 0.15
"""Tokens a corpus token that resolution may cost where a model reads the documents."""
LEAN_SHARE = 0.1
"""Tokens a corpus token where a model does nothing else at index time."""

_VERDICT = re.compile(
    r"\W*(?:\d{1,4}[.)]\s+)?(\d{1,4})[\s*.)、:：\]\"']*[|｜\t:：,， ]\W{0,4}"
    r"(same|different|相同|同一|不同)(?=\W|$)",
    re.IGNORECASE,
)
_SAME = frozenset({"same", "相同", "同一"})
_TOKENS_A_NUMBER = 3
_TOKENS_A_VERDICT = 6
_TOKENS_A_CALL = 12
"""What a conversation costs beyond its text: roles, marks and their line breaks."""


@dataclass(frozen=True, slots=True)
class Judge:
    """A model that says whether two names mean one thing.

    It may spend about ``ceiling_tokens`` a run, in and out; without a ceiling it is asked about
    every open pair.
    """

    model: ChatModel
    ceiling_tokens: int | None = None
    pairs_a_call: int = 25
    concurrency: int = 4


@dataclass(frozen=True, slots=True)
class Judged:
    """What came of one call: verdicts by pair; pairs without one are ``missing``."""

    verdicts: Mapping[tuple[str, str], Verdict]
    missing: tuple[Question, ...]


def choose_questions(questions: Sequence[Question], judge: Judge) -> list[Question]:
    """Return the questions that fit under the judge's ceiling, most worth first."""
    ranked = sorted(questions, key=lambda question: (-question.worth, question.pair))
    if judge.ceiling_tokens is None:
        return ranked
    left = judge.ceiling_tokens
    chosen: Counter[str] = Counter()
    for question in ranked:
        language = _language([question])
        cost = count_tokens(question.text) + _TOKENS_A_NUMBER + _TOKENS_A_VERDICT
        if chosen[language] % judge.pairs_a_call == 0:
            cost += count_tokens(_instructions(language)) + _TOKENS_A_CALL
        if cost > left:
            break
        left -= cost
        chosen[language] += 1
    return ranked[: chosen.total()]


def ask_judge(judge: Judge, questions: Sequence[Question]) -> Generator[Judged, None, None]:
    """Yield what each call brings; what a reply leaves out is asked once more, in calls of its own.

    A pair that is still missing then stays undecided. Raises as `ChatModel.complete` does; what was
    yielded before counts.
    """
    missing: list[Question] = []
    for judged in _ask_all(judge, questions):
        missing.extend(judged.missing)
        yield Judged(judged.verdicts, ())
    yield from _ask_all(judge, missing)


def _ask_all(judge: Judge, questions: Sequence[Question]) -> Iterator[Judged]:
    """Ask in calls of one language each, of as many pairs as a call takes."""
    of_language: dict[str, list[Question]] = {"en": [], "zh": []}
    for question in questions:
        of_language[_language([question])].append(question)
    batches = [
        own[start : start + judge.pairs_a_call]
        for own in of_language.values()
        for start in range(0, len(own), judge.pairs_a_call)
    ]
    yield from work_ordered(
        lambda batch: _ask_once(judge, batch), batches, concurrency=judge.concurrency
    )


def _ask_once(judge: Judge, questions: Sequence[Question]) -> Judged:
    try:
        verdicts = complete_checked(
            judge.model,
            judge_request(questions),
            lambda reply: read_verdicts(reply, len(questions)),
        )
    except Unparsable:
        verdicts = {}
    found = {q.pair: verdicts[n] for n, q in enumerate(questions, start=1) if n in verdicts}
    return Judged(found, tuple(q for q in questions if q.pair not in found))


def judge_request(questions: Sequence[Question]) -> ChatRequest:
    """Return the request that asks about pairs, in the language of most of them."""
    lines = "\n".join(f"{number}. {q.text}" for number, q in enumerate(questions, start=1))
    return ChatRequest(
        (
            Message("system", _instructions(_language(questions))),
            Message("user", f"<pairs>\n{lines}\n</pairs>"),
        ),
        max_output_tokens=32 + 10 * len(questions),
        stage="resolve",
    )


def read_verdicts(reply: ChatReply, count: int) -> dict[int, Verdict]:
    """Return the verdicts of a reply by number, those of lines that can be read.

    A number with two verdicts has none. Raises Unparsable where not one can be read.
    """
    found: dict[int, Verdict] = {}
    twice: set[int] = set()
    for line in reply.text.splitlines():
        match = _VERDICT.match(line)
        number = int(match[1]) if match else 0
        if match is None or not 1 <= number <= count:
            continue
        verdict = Verdict.SAME if match[2].lower() in _SAME else Verdict.DIFFERENT
        if found.setdefault(number, verdict) is not verdict:
            twice.add(number)
    verdicts = {number: verdict for number, verdict in found.items() if number not in twice}
    if not verdicts and count:
        raise Unparsable("The reply holds no verdict on any pair.")
    return verdicts


def _language(questions: Sequence[Question]) -> str:
    text = " ".join(question.text for question in questions)
    return "zh" if detect_language(text) == "zh" else "en"


@cache
def _instructions(language: str) -> str:
    prompts = files("knotwork.indexing.resolution").joinpath("prompts")
    return prompts.joinpath(f"judge-pairs.{language}.txt").read_text("utf-8").strip()
