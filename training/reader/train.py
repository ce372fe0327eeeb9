"""Train the reader on what `prepare.py` and `manuals.py` made; goes on where a run was interrupted.

    python training/reader/train.py --data DIR --manuals DIR --output DIR --minutes 90 [--threads 2]
        [--start GRAPH]

With `--start`, a new run begins with the weights of a graph that `export.py` wrote.
Runs on a GPU if there is one. The learning rate stays for a part of the minutes, then falls to 0; a
later run with the same output goes on from the state before that fall. `curve.tsv` has the losses
and the measures on the articles kept aside; `reader.pt` the model.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from export import read_graph
from model import MARKED, STATE, Batch, ReaderModel, loss_of, score_sentences

SEED = 12
BATCH_TOKENS = 5_000
POOL = 600
"""Pairs that are sorted by length together, so that little is padded."""
RATE = 5e-4
WARM_STEPS = 200
FALL = 0.4
"""The part of the minutes, at the end, in which the learning rate falls."""
DECAY = 0.01
LARGEST_GRADIENT = 1.0
NEGATIVE_SHARE = 0.5
SENTENCE_SHARE = 0.45
MEASURED = 400
MEASURED_EACH = 5.0
KEPT_EACH = 4.0
CHINESE_TIMES = 2
ARTICLE_SHARE = 0.35
"""How much of the questions about articles an epoch takes, each time others."""
MANUAL_TIMES = 3
"""How often a question about a manual comes in an epoch, each time with a passage that does not
answer: there are fewer of them, and retrieval brings more such passages for each."""
LONGEST_SPAN = 30


@dataclass(frozen=True, slots=True)
class Pair:
    """A question and a passage; without an answer where ``answers`` is False."""

    question: dict[str, Any]
    passage: dict[str, Any]
    answers: bool

    @property
    def length(self) -> int:
        return sum(int(end - start) for start, end in (self.question["rows"], self.passage["rows"]))


class Data:
    """What `prepare.py` wrote, and `manuals.py`.

    ``articles`` and ``manuals`` are the questions kept aside.
    """

    def __init__(self, articles: Path, manuals: Path) -> None:
        self._passages: list[dict[str, Any]] = []
        self._states: list[np.memmap[Any, np.dtype[np.float16]]] = []
        found = [self._load(folder) for folder in (articles, manuals)]
        self.articles, self.manuals = ([q for q in own if q["held"]] for own in found)
        self._training = [[q for q in own if not q["held"]] for own in found]

    def _load(self, folder: Path) -> list[dict[str, Any]]:
        """Return the questions of a folder, their passages numbered among those of all folders."""
        passages, questions = (
            json.loads((folder / f"{name}.json").read_text("utf-8"))
            for name in ("passages", "questions")
        )
        first = len(self._passages)
        for entry in (*passages, *questions):
            entry["states"] = len(self._states)
        for question in questions:
            question["passage"] += first
            question["negatives"] = [first + number for number in question["negatives"]]
        self._passages += passages
        self._states.append(np.memmap(folder / "states.f16", np.float16, "r").reshape(-1, STATE))
        return list(questions)

    def states(self, entry: dict[str, Any]) -> Any:  # noqa: ANN401  an array
        """Return the states of a question or a passage, of shape (tokens, `STATE`)."""
        return self._states[entry["states"]][slice(*entry["rows"])]

    def pairs(self, epoch: int) -> list[Pair]:
        """Return the pairs of an epoch in random order: each question, some with a negative."""
        chance = random.Random(SEED + epoch)
        articles, manuals = self._training
        pairs = []
        for question in articles:
            if chance.random() >= ARTICLE_SHARE:
                continue
            for _ in range(CHINESE_TIMES if question["lang"] == "zh" else 1):
                pairs += self.of(question, chance, negative=chance.random() < NEGATIVE_SHARE)
        for question in manuals:
            for _ in range(MANUAL_TIMES):
                pairs += self.of(question, chance, negative=True)
        chance.shuffle(pairs)
        return pairs

    def of(self, question: dict[str, Any], chance: random.Random, *, negative: bool) -> list[Pair]:
        """Return the pair of a question with its passage, and with one that has no answer."""
        pairs = [Pair(question, self._passages[question["passage"]], bool(question["gold"]))]
        if negative and question["negatives"]:
            other = self._passages[chance.choice(question["negatives"])]
            pairs.append(Pair(question, other, answers=False))
        return pairs

    def batch(self, pairs: Sequence[Pair], device: torch.device) -> Batch:
        """Return the tensors of some pairs."""
        length = max(pair.length for pair in pairs)
        most = max(len(pair.passage["sentences"]) for pair in pairs) + 1
        shape = (len(pairs), length)
        states = np.zeros((*shape, STATE), dtype=np.float32)
        kinds = np.zeros(shape, dtype=np.int64)
        mask, readable = np.zeros(shape, dtype=bool), np.zeros(shape, dtype=bool)
        words = np.zeros(shape, dtype=np.float32)
        owners = np.full(shape, most, dtype=np.int64)
        starts, ends = np.zeros(shape, dtype=bool), np.zeros(shape, dtype=bool)
        gold = np.zeros((len(pairs), most), dtype=bool)
        for row, pair in enumerate(pairs):
            question, passage = pair.question, pair.passage
            size = question["rows"][1] - question["rows"][0]
            states[row, :size] = self.states(question)
            states[row, size : pair.length] = self.states(passage)
            kinds[row, size:] = 1
            mask[row, : pair.length] = True
            words[row, MARKED : size - 1] = 1
            words[row, size + MARKED : pair.length - 1] = 1
            readable[row, 0] = True
            readable[row, size + passage["first"] : pair.length - 1] = True
            owners[row, 0] = 0
            for number, (first, end) in enumerate(passage["sentences"], start=1):
                owners[row, size + first : size + end] = number
            if not pair.answers:
                starts[row, 0] = ends[row, 0] = gold[row, 0] = True
                continue
            gold[row, [1 + number for number in question["gold"]]] = True
            for first, last in question["spans"]:
                starts[row, size + first] = ends[row, size + last] = True
        arrays = (states, kinds, words, mask, readable, owners)
        tensors = [torch.from_numpy(array).to(device) for array in arrays]
        targets = [torch.from_numpy(array).to(device) for array in (starts, ends, gold)]
        return Batch(*tensors, most, *targets)


def batches_of(pairs: Sequence[Pair], *, seed: int) -> Iterator[list[Pair]]:
    """Yield batches of pairs of like length, of about `BATCH_TOKENS`, in random order."""
    chance = random.Random(seed)
    for start in range(0, len(pairs), POOL):
        pool = sorted(pairs[start : start + POOL], key=lambda pair: pair.length)
        batches: list[list[Pair]] = [[]]
        for pair in pool:
            if (len(batches[-1]) + 1) * pair.length > BATCH_TOKENS and batches[-1]:
                batches.append([])
            batches[-1].append(pair)
        chance.shuffle(batches)
        yield from batches


class Training:
    """A run: the model, its optimiser, and where in the data it is."""

    def __init__(
        self, data: Data, output: Path, device: torch.device, start: Path | None = None
    ) -> None:
        self._data, self._output, self._device = data, output, device
        torch.manual_seed(SEED)
        self.model = (ReaderModel() if start is None else read_graph(start)).to(device)
        self._optimiser = torch.optim.AdamW(
            self.model.parameters(), lr=RATE, betas=(0.9, 0.98), weight_decay=DECAY
        )
        self._rates = [group["lr"] for group in self._optimiser.param_groups]
        self.step = self.epoch = self.done = 0
        kept = output / "state.pt"
        if kept.exists():
            state = torch.load(kept, map_location=device)
            self.model.load_state_dict(state["model"])
            self._optimiser.load_state_dict(state["optimiser"])
            self.step, self.epoch, self.done = state["place"]

    def run(self, minutes: float) -> None:
        """Train for so long, with what is measured and kept on the way."""
        begun = time.monotonic()
        measured = kept = 0.0
        losses: list[tuple[float, float]] = []
        saved = False
        while True:
            batches = list(batches_of(self._data.pairs(self.epoch), seed=SEED + self.epoch))
            for pairs in batches[self.done :]:
                spent = (time.monotonic() - begun) / 60
                if spent >= minutes:
                    self._finish(spent, losses)
                    return
                left = (1 - spent / minutes) / FALL
                if left < 1 and not saved:
                    self._keep()  # a later run goes on from before the fall
                    saved = True
                losses.append(self._learn(pairs, min(left, (self.step + 1) / WARM_STEPS, 1.0)))
                self.done += 1
                if not saved and spent - kept >= KEPT_EACH:
                    self._keep()
                    kept = spent
                if spent - measured >= MEASURED_EACH:
                    self._note(spent, losses)
                    measured, losses = spent, []
            self.epoch, self.done = self.epoch + 1, 0

    def _learn(self, pairs: Sequence[Pair], rate: float) -> tuple[float, float]:
        for group, full in zip(self._optimiser.param_groups, self._rates, strict=True):
            group["lr"] = full * rate
        self.model.train()
        batch = self._data.batch(pairs, self._device)
        spans, sentences = loss_of(
            self.model(batch.states, batch.kinds, batch.words, batch.mask), batch
        )
        loss = (1 - SENTENCE_SHARE) * spans + SENTENCE_SHARE * sentences
        self._optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), LARGEST_GRADIENT)
        self._optimiser.step()
        self.step += 1
        return spans.item(), sentences.item()

    def _keep(self) -> None:
        place = self._output / "state.part"
        state = {
            "model": self.model.state_dict(),
            "optimiser": self._optimiser.state_dict(),
            "place": (self.step, self.epoch, self.done),
        }
        torch.save(state, place)
        place.replace(self._output / "state.pt")

    def _finish(self, spent: float, losses: Sequence[tuple[float, float]]) -> None:
        torch.save(self.model.state_dict(), self._output / "reader.pt")
        self._note(spent, losses)

    def _note(self, spent: float, losses: Sequence[tuple[float, float]]) -> None:
        spans, sentences = np.mean(losses or [(0.0, 0.0)], axis=0)
        found = measure(self.model, self._data, self._device)
        line = {"minutes": f"{spent:.1f}", "epoch": self.epoch, "step": self.step,
                "spans": f"{spans:.3f}", "sentences": f"{sentences:.3f}",
                **{name: f"{value:.3f}" for name, value in found.items()}}  # fmt: skip
        path = self._output / "curve.tsv"
        if not path.exists():
            path.write_text("\t".join(line) + "\n", "utf-8")
        with path.open("a", encoding="utf-8") as curve:
            curve.write("\t".join(map(str, line.values())) + "\n")
        print(*(f"{name} {value}" for name, value in line.items()), flush=True)


@torch.no_grad()
def measure(model: ReaderModel, data: Data, device: torch.device) -> dict[str, float]:
    """Return measures on articles and on manuals kept aside.

    ``overlap``: the mean F1 of the tokens of the best span with the nearest right one. ``first``:
    how often the best sentence is a right one, English and Chinese. ``auroc``: how often an
    answering passage has more to say against "no answer" than one that was found instead.
    """
    model.eval()
    measures: dict[str, float] = {}
    for name, held in (("", data.articles), ("manuals_", data.manuals)):
        chance = random.Random(SEED)
        questions = [q for q in held if q["gold"]]
        chance.shuffle(questions)
        pairs = [pair for q in questions[:MEASURED] for pair in data.of(q, chance, negative=True)]
        overlaps: list[float] = []
        first: dict[str, list[bool]] = {"en": [], "zh": []}
        sure: tuple[list[float], list[float]] = ([], [])
        for group in batches_of(pairs, seed=SEED):
            batch = data.batch(group, device)
            scores = model(batch.states, batch.kinds, batch.words, batch.mask)
            sentences = score_sentences(scores[..., 2], batch)
            answered = (sentences[:, 1:].logsumexp(1) - sentences[:, 0]).tolist()
            best = sentences[:, 1:].argmax(1) + 1
            for row, pair in enumerate(group):
                sure[pair.answers].append(answered[row])
                if pair.answers:
                    first[pair.question["lang"]].append(bool(batch.gold[row, best[row]]))
                if pair.answers and pair.question["spans"]:
                    overlaps.append(_overlap(scores[row], batch, row))
        wins = np.array(sure[1])[:, None] > np.array(sure[0])[None]
        found = {"overlap": overlaps, "first_en": first["en"], "first_zh": first["zh"]}
        measures |= {name + key: float(np.mean(values)) for key, values in found.items()}
        measures[f"{name}auroc"] = float(np.mean(wins))
    return measures


def _overlap(scores: torch.Tensor, batch: Batch, row: int) -> float:
    places = batch.readable[row].nonzero()[1:, 0]
    start, end = scores[places, 0], scores[places, 1]
    size = len(places)
    joint = start[:, None] + end[None]
    allowed = torch.ones(size, size, dtype=torch.bool, device=scores.device).triu()
    joint = joint.masked_fill(~allowed.tril(LONGEST_SPAN), -1e9)
    first, last = divmod(int(joint.argmax()), size)
    base = int(places[0])
    found = set(range(base + first, base + last + 1))
    golds = zip(
        batch.starts[row].nonzero()[:, 0].tolist(), batch.ends[row].nonzero()[:, 0].tolist(),
        strict=False,
    )  # fmt: skip
    shares = []
    for gold_first, gold_last in golds:
        gold = set(range(gold_first, gold_last + 1))
        shares.append(2 * len(found & gold) / (len(found) + len(gold)) if gold else 0.0)
    return max(shares, default=0.0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--manuals", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--start", type=Path)
    parser.add_argument("--minutes", type=float, default=90)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    options.output.mkdir(parents=True, exist_ok=True)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    data = Data(options.data, options.manuals)
    Training(data, options.output, device, options.start).run(options.minutes)


if __name__ == "__main__":
    main()
