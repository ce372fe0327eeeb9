"""Measure how well rules understand questions that lean on the one before.

    python benchmarks/questions/conversations.py --data data/bench/qa --cache DIR

The nested questions of MuSiQue come with their parts: "Who directed X?", then "Where was #1 born?".
A part that leans on the one just before it becomes a follow-up, with a pronoun for #1: "he" where
the part before asks who, else "it". The answer before is either the sentences that Knotwork quotes,
or the known answer alone, as a model would put it. Told is how often the passage that answers the
follow-up is among the first five: asked as it is, as it was understood, and with the known answer
in its place, which is the best that there is to reach. Indexes are those of
`benchmarks/retrieval/run.py`, in the same cache.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "retrieval"))

from sets import SETS

from knotwork._config import load_settings
from knotwork._extensions.evaluation.questions import load_dataset
from knotwork._extensions.evaluation.retriever_runs import index_dataset, index_path
from knotwork._inference.model_registry import open_embedder
from knotwork._retrieval.base import Retriever
from knotwork._retrieval.retriever_registry import build_retriever
from knotwork._stores.base import Store
from knotwork._stores.urls import open_store
from knotwork._synthesis.extractive_answers import compose_answer
from knotwork._synthesis.follow_ups import index_names, read_turns, rewrite_follow_up
from knotwork._transform.extractor import make_extractor
from knotwork.records import Query

SET = "musique_train100"
EMBEDDER = "local:multilingual-e5-small"
FIRST = 5
_PERSON = re.compile(
    r"^who\b|>> *(?:performer|director|author|screenwriter|composer|producer|creator|spouse|father"
    r"|mother|child|sibling|founded by|founder|cast member|editor)",
    re.IGNORECASE,
)
_HOLE = re.compile(r"#(\d)(?:['’]s)?")


@dataclass(frozen=True)
class FollowUp:
    """A part of a question that leans on the part before it."""

    before: str
    answer: str
    asked: str
    named: str
    gold: str


def read_follow_ups(path: Path) -> Iterator[FollowUp]:
    """Yield the parts of all questions that lean on the part just before them alone."""
    for line in path.read_text("utf-8").splitlines():
        parts = json.loads(line)["decomposition"]
        named = []
        for part in parts:
            answers = [earlier["answer"] for earlier in parts]
            named.append(_fill(part["question"], answers))
        for number, part in enumerate(parts):
            holes = _HOLE.findall(part["question"])
            if holes != [str(number)]:
                continue
            earlier = parts[number - 1]
            pronouns = ("he", "his") if _PERSON.search(earlier["question"]) else ("it", "its")
            yield FollowUp(
                _as_question(named[number - 1]),
                earlier["answer"],
                _as_question(_put(part["question"], pronouns)),
                _as_question(named[number]),
                part["gold_pid"],
            )


def _fill(question: str, answers: list[str]) -> str:
    return re.sub(r"#(\d)", lambda match: answers[int(match[1]) - 1], question)


def _put(question: str, pronouns: tuple[str, str]) -> str:
    """Put a pronoun into the gap; "X >> birthplace" becomes "its birthplace"."""
    plain, possessive = pronouns
    if ">>" in question:
        return f"What is {possessive} {question.split('>>')[1].strip()}?"
    return _HOLE.sub(lambda m: possessive if len(m[0]) > len("#1") else plain, question)


def _as_question(text: str) -> str:
    """Write "Hello Love >> performer" as a question."""
    if ">>" in text:
        thing, relation = (part.strip() for part in text.split(">>"))
        return f"What is the {relation} of {thing}?"
    return text.replace(" ?", "?")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--show", action="store_true", help="print what is not understood")
    options = parser.parse_args()
    measured = SETS[SET]
    dataset = load_dataset(options.data / measured.folder)
    embedder = open_embedder(EMBEDDER)
    path = index_path(dataset, embedder=embedder, folder=options.cache, splitter=measured.splitter)
    store = open_store(str(path), create=True)
    extractor = make_extractor()
    index_dataset(
        dataset, store=store, embedder=embedder, extractor=extractor, splitter=measured.splitter
    )
    retriever = build_retriever("auto", store=store, embedder=embedder)
    cases = list(read_follow_ups(options.data / measured.folder / "questions.jsonl"))
    for kind in ("quoted", "short"):
        report(kind, cases, retriever, store, shows=options.show)


def report(
    kind: str, cases: list[FollowUp], retriever: Retriever, store: Store, *, shows: bool
) -> None:
    """Print the share of follow-ups that find their passage in each way of asking."""
    names, settings = index_names(store), load_settings().settings.answer
    uris = {doc: d.uri for doc, d in _documents(store).items()}
    found = dict.fromkeys(("as it is", "understood", "named"), 0)
    for case in cases:
        said = case.answer
        if kind == "quoted":
            evidence = retriever.retrieve(Query(case.before, 10))
            said = compose_answer(evidence, store=store, settings=settings).text
        turns = read_turns([(case.before, said)], names)
        texts = (case.asked, rewrite_follow_up(case.asked, turns, names).text, case.named)
        for way, text in zip(found, texts, strict=True):
            hits = retriever.retrieve(Query(text, FIRST)).hits
            has = case.gold in {uris[hit.chunk.document_id] for hit in hits}
            found[way] += has
            if shows and way == "understood" and case.answer not in text:
                print(f"  {case.before} [{case.answer}] {case.asked} -> {text} ({has})")
    shares = ", ".join(f"{way} {100 * n / len(cases):.1f}" for way, n in found.items())
    print(f"{kind} answers, {len(cases)} follow-ups: {shares}")


def _documents(store: Store) -> dict:
    ids = list(store.documents.document_ids())
    return store.documents.documents(ids)


if __name__ == "__main__":
    main()
