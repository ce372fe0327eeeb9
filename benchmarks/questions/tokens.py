"""Measure what an index costs by stage, and a question in each mode: tokens in and out.

    python benchmarks/questions/tokens.py --data ../shared/bench/docs_dbgpt [--tier lean]

A model by rules indexes the documents and answers. Its replies are short, so each question is asked
again of one that fills every reply up to its limit: that is the most a question can cost.
`knotwork._text.token_counts` counts tokens. No model leaves anything for the next question but the
reports that it has written.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import knotwork
from knotwork._extensions.testing.brains import RuleBrain
from knotwork._extensions.testing.chat_models import ScriptedChatModel
from knotwork._indexing.report import IndexReport
from knotwork._inference.chat import ChatRequest, Message
from knotwork._synthesis.ask_request import AskMode
from knotwork._text.token_counts import count_tokens
from knotwork.records import Answer

WHOLE = (
    "What are the main themes of these documents?",
    "这些文档主要讲了什么？",
    "总结一下TuGraph的主要应用场景",
    "Which challenges of graph processing systems are mentioned most?",
    "开源社区的开发者有哪些共同特点？",
    "How do Autobots and Decepticons differ in their aims throughout the story?",
)
DETAILS = (
    "What is TuGraph Analytics also called?",
    "Who attacked Sentinel Prime on the way to Earth?",
    "GeaFlow支持哪两套编程接口？",
    "What is the relationship between Optimus Prime and Megatron?",
    "DB-GPT的目的是什么？",
    "Which paper does GraphX cite?",
)
FILLER = " and so on it goes" * 500


class Model:
    """Answers by rules; as long as it may where ``fills``."""

    def __init__(self, *, fills: bool) -> None:
        self._brain = RuleBrain()
        self._fills = fills

    def __call__(self, request: ChatRequest) -> str:
        reply = self._brain(request.messages)
        return reply + FILLER if self._fills and self._lists(request.messages) else reply

    @staticmethod
    def _lists(messages: Sequence[Message]) -> bool:
        return not any("task: report-community" in message.content for message in messages)


def open_index(path: Path, *, fills: bool) -> knotwork.KnowledgeBase:
    model = ScriptedChatModel(Model(fills=fills), name=f"scripted:{'long' if fills else 'short'}")
    return knotwork.open(path, embedding_model="none", chat_model=model)


def cost(answer: Answer) -> int:
    return answer.usage.input_tokens + answer.usage.output_tokens


def measure(index: Path, questions: Sequence[str], mode: str, *, fills: bool) -> list[Answer]:
    """Ask each question in turn of a copy of the index, so that reports it writes are there."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "index.knot"
        shutil.copy(index, copy)
        with open_index(copy, fills=fills) as opened:
            return [opened.ask(question, mode=mode) for question in questions]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--tier", default="full", choices=("none", "lean", "full"))
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        index = Path(folder) / "index.knot"
        with open_index(index, fills=False) as opened:
            print_index(opened, opened.index(arguments.data, tier=arguments.tier))
            opened.communities.update()
        print(
            f"tier {arguments.tier}; tokens of one question: short replies mean, most; longest most"
        )
        for mode in AskMode:
            if mode is not AskMode.AUTO:
                report(index, mode)


def print_index(opened: knotwork.KnowledgeBase, done: IndexReport) -> None:
    """Print the tokens of each stage for each token of the documents."""
    store = opened.store
    documents = store.documents.documents(store.documents.document_ids()).values()
    corpus = sum(count_tokens(document.text) for document in documents)
    print(f"index of {corpus:,} tokens, {done.total_chunks:,} chunks")
    for stage, used in done.usage.items():
        tokens = used.input_tokens + used.output_tokens
        print(
            f"{stage:<10} {used.calls:>5,} calls {used.input_tokens:>9,} in "
            f"{used.output_tokens:>9,} out {tokens / corpus:>7.3f} a token"
        )
    total = sum(used.input_tokens + used.output_tokens for used in done.usage.values())
    print(f"{'all':<10} {'':>11} {'':>12} {total:>9,} {'':>3} {total / corpus:>7.3f} a token")


def report(index: Path, mode: AskMode) -> None:
    for label, questions in (("details", DETAILS), ("the whole", WHOLE)):
        short = measure(index, questions, mode, fills=False)
        long = [cost(a) for a in measure(index, questions, mode, fills=True)]
        costs = [cost(answer) for answer in short]
        stages = Counter[str]()
        for answer in short:
            for stage in answer.usage.stages:
                stages[stage.stage] += stage.input_tokens + stage.output_tokens
        split = ", ".join(f"{s} {n // len(short):,}" for s, n in stages.most_common())
        print(
            f"{mode:<10} {label:<9} first {costs[0]:>6,} mean {sum(costs) / len(costs):>8,.0f} "
            f"most {max(costs):>6,} longest {max(long):>6,} longest after the first "
            f"{max(long[1:]):>6,}  ({split})"
        )


if __name__ == "__main__":
    main()
