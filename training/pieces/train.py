"""Train the model that ranks the pieces of documents which may answer a question.

    python training/pieces/train.py [--most N] [--sets DIR ...] [--reader GRAPH] [--write]

Indexes the documents of the domains in training/reader/blocks and of sets, asks their questions,
and fits the weights of the features of a piece and of each grain for each kind of question. A set
is a folder with `docs/` and `questions.jsonl`, as benchmarks/answers reads it. The target of a
piece is the F-measure of its words with those of the quotes that answer, in which recall counts
more. Prints the mean of the piece that is put first for each domain and set, with a model that has
not seen it, and that of the best piece there is. ``--reader`` is the graph of a reader that was not
trained on the domains: what the shipped one predicts for them is better than for other documents.
``--write`` replaces the model in the package.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

import knotwork
from knotwork._extensions.local_models import e5
from knotwork._extensions.local_models.answer_reader import LocalReader
from knotwork._extensions.local_models.local_embedders import load_onnx
from knotwork._inference.cross_encoders import AnswerReader
from knotwork._questions.kinds import KINDS
from knotwork._questions.reading import reading_of
from knotwork._run import Stage
from knotwork._synthesis.extractive_answers import (
    GRAINS,
    propose_pieces,
    rank_candidates,
    read_features,
    read_hits,
)
from knotwork.records import Evidence

HERE = Path(__file__).parent
BLOCKS = HERE.parent / "reader" / "blocks"
MODEL = HERE.parent.parent / "src" / "knotwork" / "_synthesis" / "pieces.json"
WHOLE = frozenset({"list", "howto", "code", "table", "definition", "compare"})
"""Types whose quotes answer together; in others each quote answers."""
SHARPNESS = 4
"""The power of the F-measure in the weight of a piece as a target."""
LEAST_TARGET = 0.3
"""A question whose best piece has a lower F-measure teaches nothing."""
PENALTY, FEATURE_SHARE = 3e-3, 0.2
"""L2 penalty of fits, and the share of it for the weights of features."""
RECALL = 4
"""How much recall counts in the F-measure: the square of beta."""
SET_WEIGHT = 3
"""How often each question of a set counts: they are fewer, and asked in more ways."""
UNREAD = ("medicine",)
"""The domains that the shipped reader was not trained on."""
BY_HAND = {"bridge": 5.0}
"""Weights of features that no question of these documents needs: none takes two documents."""
_WORD = re.compile(r"[a-z0-9_.-]+|[\u3400-\u9fff]")
Numbers = NDArray[np.float64]


class Example(NamedTuple):
    """The pieces of a question: features (n, f), grains (n), targets (n); kinds (k) of it."""

    domain: str
    features: Numbers
    grains: NDArray[np.int64]
    targets: Numbers
    kinds: Numbers


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--most", type=int, default=300, help="questions of each domain")
    parser.add_argument("--sets", type=Path, nargs="*", default=[])
    parser.add_argument("--reader", type=Path)
    parser.add_argument("--write", action="store_true", help="replace the model in the package")
    arguments = parser.parse_args()
    earlier = None
    if arguments.reader is not None:
        earlier = LocalReader(load_onnx(e5.MODEL), arguments.reader)
    domains = sorted(path for path in BLOCKS.iterdir() if path.is_dir())
    examples: list[Example] = []
    names: list[str] = []
    for folder in (*domains, *arguments.sets):
        is_set = folder not in domains
        most = sys.maxsize if is_set else arguments.most
        reader = None if is_set or folder.name in UNREAD else earlier
        found, names = read_folder(folder, most, reader)
        examples += found * (SET_WEIGHT if is_set else 1)
        print(f"{folder.name}: {len(found)} questions", flush=True)
    for domain in dict.fromkeys(example.domain for example in examples):
        weights = fit([e for e in examples if e.domain != domain], len(names))
        own = [e for e in examples if e.domain == domain]
        print(f"{domain}: {score(weights, own):.3f} of {best_score(own):.3f}")
    if arguments.write:
        write_model(fit(examples, len(names)), names)


def read_folder(
    folder: Path, most: int, reader: AnswerReader | None
) -> tuple[list[Example], list[str]]:
    """Return the examples of a domain or set, and the names of the features."""
    lines = (folder / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    questions = [json.loads(line) for line in lines]
    random.Random(1).shuffle(questions)
    examples: list[Example] = []
    names: list[str] = []
    with (
        tempfile.TemporaryDirectory() as place,
        knotwork.open(Path(place) / "index.knot") as base,
    ):
        base.index(folder / "docs")
        for question in questions[:most]:
            quotes = question.get("quotes") or [e["quote"] for e in question.get("evidence", ())]
            if not quotes:
                continue
            evidence = find_evidence(base, question["question"], reader)
            candidates = rank_candidates(evidence)
            pieces = propose_pieces(candidates, base.store)
            if not pieces:
                continue
            read = read_features(pieces, evidence, candidates)
            names = list(read[0])
            kinds = reading_of(question["question"]).kinds
            right = [
                target_of(question["type"], quotes, piece.text)
                if piece.source.document.uri.endswith(question.get("page", ""))
                else 0.0
                for piece in pieces
            ]
            examples.append(
                Example(
                    folder.name,
                    np.array([list(features.values()) for features in read]),
                    np.array([GRAINS.index(piece.grain) for piece in pieces]),
                    np.array(right),
                    np.array([kinds[kind] for kind in KINDS]),
                )
            )
    return examples, names


def find_evidence(
    base: knotwork.KnowledgeBase, question: str, reader: AnswerReader | None
) -> Evidence:
    """Return what was found for a question, as the reader reads it."""
    steps = base.ask.run(question)
    found: Evidence = next(step.value for step in steps if step.stage == Stage.FOUND)
    return read_hits(found, reader or base.reader, most=3)


def target_of(kind: str, quotes: Sequence[str], text: str) -> float:
    """Return the F-measure of the words of a piece with those that answer."""
    own = count_words(text)
    whole = f_measure(own, count_words(" ".join(quotes)))
    if kind in WHOLE:
        return whole
    return max(whole, *(f_measure(own, count_words(quote)) for quote in quotes))


def count_words(text: str) -> Counter[str]:
    return Counter(_WORD.findall(re.sub(r"[*`]", "", text).casefold()))


def f_measure(ours: Counter[str], theirs: Counter[str]) -> float:
    total = ours.total() + RECALL * theirs.total()
    return (1 + RECALL) * (ours & theirs).total() / max(total, 1)


def logits(weights: Numbers, example: Example) -> Numbers:
    width = example.features.shape[1]
    fits = weights[width:].reshape(len(GRAINS), len(KINDS))
    return np.asarray(example.features @ weights[:width] + fits[example.grains] @ example.kinds)


def fit(examples: Sequence[Example], width: int) -> Numbers:
    """Return the weights that minimise the cross entropy of targets and pieces."""
    taught = [example for example in examples if example.targets.max() >= LEAST_TARGET]

    def loss(weights: Numbers) -> tuple[float, Numbers]:
        total, slope = 0.0, np.zeros_like(weights)
        fits = slope[width:].reshape(len(GRAINS), len(KINDS))
        for example in taught:
            wanted = example.targets**SHARPNESS
            wanted /= wanted.sum()
            exponents = logits(weights, example)
            given = np.exp(exponents - exponents.max())
            given /= given.sum()
            total -= float(wanted @ np.log(given + 1e-12))
            slope[:width] += example.features.T @ (given - wanted)
            np.add.at(fits, example.grains, np.outer(given - wanted, example.kinds))
        penalty = np.full_like(weights, PENALTY)
        penalty[:width] *= FEATURE_SHARE
        count = max(len(taught), 1)
        return (
            total / count + float(penalty @ weights**2),
            slope / count + 2 * penalty * weights,
        )

    start = np.zeros(width + len(GRAINS) * len(KINDS))
    return np.asarray(minimize(loss, start, jac=True, method="L-BFGS-B").x)


def score(weights: Numbers, examples: Sequence[Example]) -> float:
    """Return the mean target of the piece that the model puts first."""
    return float(np.mean([e.targets[logits(weights, e).argmax()] for e in examples]))


def best_score(examples: Sequence[Example]) -> float:
    return float(np.mean([example.targets.max() for example in examples]))


def write_model(weights: Numbers, names: Sequence[str]) -> None:
    """Write the weights into the package, rounded to three digits."""
    numbers: Iterator[float] = (round(float(weight), 3) for weight in weights)
    model = {
        "features": {name: next(numbers) for name in names} | BY_HAND,
        "fits": {grain.value: {kind.value: next(numbers) for kind in KINDS} for grain in GRAINS},
    }
    MODEL.write_text(json.dumps(model, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
