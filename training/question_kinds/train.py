"""Train the model that predicts the kind of answer a question expects.

    python training/question_kinds/train.py

A multinomial logistic regression. Prints how many questions it reads rightly in domains that it was
trained without, by kind and language, and what it confuses; chooses a temperature on these; then
trains on everything and writes the weights into the package.
"""

from __future__ import annotations

import argparse
import csv
import json
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.optimize import minimize, minimize_scalar
from scipy.sparse import csr_array, diags_array, vstack

from knotwork._questions import reading
from knotwork._questions.reading import name_features

HERE = Path(__file__).parent
MANUALS = HERE.parent / "reader" / "questions"
WEIGHTS = Path(reading.__file__).with_name("kinds.npz")
KIND_OF_TYPE = {
    "fact": "value", "table": "value", "definition": "definition", "list": "list",
    "compare": "comparison", "howto": "steps",
}  # fmt: skip
"""The kind that a type of the reader's questions often is."""

FITTING = 30.0
"""The weight of the loss beside half the squared weights."""

LEAST_DOMAINS = 3
"""In how many domains a feature must occur to be kept; four rough questions count as one."""

ROUGH_WEIGHT = 0.1
"""The weight of a question whose kind was derived from its type."""

LEAST_AGREED, LEAST_SURE = 0.15, 0.7
"""The probability of the kind of its type with which a rough question is used, and that of another
kind which is taken in its place."""


@dataclass(slots=True)
class Questions:
    """Questions with their features, the numbers of their kinds, and where they are from."""

    texts: list[str]
    kinds: np.ndarray
    languages: np.ndarray
    domains: np.ndarray
    rows: csr_array


@dataclass(slots=True)
class Model:
    """Weights of features with a column for each kind, those of the kinds, and which are kept."""

    kept: np.ndarray
    weights: np.ndarray
    biases: np.ndarray

    def probabilities(self, questions: Questions, temperature: float = 1.0) -> np.ndarray:
        odds = scale(questions.rows[:, self.kept]) @ self.weights + self.biases
        return softmax(odds / temperature)


def read_written() -> Iterator[tuple[str, str, str, str]]:
    """Yield kind, language, domain and text of the questions whose kinds people named."""
    with (HERE / "questions.tsv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            yield row["kind"], row["language"], row["domain"], row["question"]
    for (manual, number), (kind, language) in read_manual_kinds().items():
        yield kind, language, "manuals", read_manual(manual)[number]["question"]


def read_manual_kinds() -> dict[tuple[str, int], tuple[str, str]]:
    """Return kind and language of those questions for the reader that were labelled by hand."""
    with (HERE / "manual_kinds.tsv").open(encoding="utf-8") as file:
        return {
            (row["manual"], int(row["row"]) - 1): (row["kind"], row["language"])
            for row in csv.DictReader(file, delimiter="\t")
        }


def read_manual(name: str) -> list[dict[str, str]]:
    lines = (MANUALS / f"{name}.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


def read_rough() -> Iterator[tuple[str, str, str, str]]:
    """Yield the other questions for the reader, with the kind that their type often is."""
    labelled = read_manual_kinds()
    for path in sorted(MANUALS.glob("*.jsonl")):
        for number, row in enumerate(read_manual(path.stem)):
            if row["type"] in KIND_OF_TYPE and (path.stem, number) not in labelled:
                yield KIND_OF_TYPE[row["type"]], row["lang"], path.stem, row["question"]


def collect(
    rows: Iterable[tuple[str, str, str, str]], vocabulary: dict[str, int]
) -> tuple[list[tuple[str, str, str, str]], list[list[int]]]:
    """Return the rows with the columns of their features."""
    listed = list(rows)
    columns = [
        sorted(vocabulary.setdefault(name, len(vocabulary)) for name in sorted(name_features(text)))
        for *_, text in listed
    ]
    return listed, columns


def build(
    rows: Sequence[tuple[str, str, str, str]], columns: list[list[int]], wide: int
) -> Questions:
    starts = np.cumsum([0, *map(len, columns)])
    flat = np.concatenate([np.array(one, dtype=np.int64) for one in columns])
    matrix = csr_array((np.ones(len(flat)), flat, starts), shape=(len(rows), wide))
    names = [kind.value for kind in reading.KINDS]
    return Questions(
        [text for *_, text in rows],
        np.array([names.index(kind) for kind, *_ in rows]),
        np.array([language for _, language, *_ in rows]),
        np.array([domain for _, _, domain, _ in rows]),
        matrix,
    )


def scale(rows: csr_array) -> csr_array:
    """Return the rows over the root of their number of features."""
    return csr_array(diags_array(1 / np.maximum(rows.sum(axis=1), 1) ** 0.5) @ rows)


def softmax(odds: np.ndarray) -> np.ndarray:
    powers = np.exp(odds - odds.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def fit(rows: csr_array, labels: np.ndarray, shares: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the weights and biases that fit best, with the weights kept small."""
    count, wide = len(reading.KINDS), rows.shape[1]
    targets = np.eye(count)[labels]
    turned = csr_array(rows.T)

    def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
        table = flat.reshape(wide + 1, count)
        found = softmax(rows @ table[:-1] + table[-1])
        missed = -np.log(np.maximum((found * targets).sum(axis=1), 1e-300)) @ shares
        wrong = FITTING * shares[:, None] * (found - targets)
        slope = np.vstack([turned @ wrong + table[:-1], wrong.sum(axis=0)])
        return FITTING * missed + 0.5 * (table[:-1] ** 2).sum(), slope.ravel()

    start = np.zeros((wide + 1) * count)
    best = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 120})
    table = best.x.reshape(wide + 1, count)
    return table[:-1], table[-1]


def train(written: Questions, rough: Questions, chosen: np.ndarray) -> Model:
    """Train on the chosen questions, then again with the rough ones that the first model admits."""
    domains = written.domains[chosen]
    rows = written.rows[chosen]
    support = sum((rows[domains == one].sum(axis=0) > 0).astype(float) for one in set(domains))
    labels, shares = written.kinds[chosen], np.ones(chosen.sum())
    kept = np.flatnonzero(support >= LEAST_DOMAINS)
    first = Model(kept, *fit(scale(rows[:, kept]), labels, shares))

    found = first.probabilities(rough)
    of_type = found[np.arange(len(found)), rough.kinds]
    is_agreed = of_type >= LEAST_AGREED
    is_sure = found.max(axis=1) >= LEAST_SURE
    used = is_agreed | is_sure
    taken = np.where(is_agreed, rough.kinds, found.argmax(axis=1))[used]

    support = support + np.minimum(rough.rows.sum(axis=0) / 4, LEAST_DOMAINS)
    kept = np.flatnonzero(support >= LEAST_DOMAINS)
    joined = vstack([scale(rows[:, kept]), scale(rough.rows[used][:, kept])], format="csr")
    weights, biases = fit(
        joined,
        np.concatenate([labels, taken]),
        np.concatenate([shares, np.full(len(taken), ROUGH_WEIGHT)]),
    )
    return Model(kept, weights, biases)


def hold_out(written: Questions, rough: Questions) -> np.ndarray:
    """Return the probabilities of each question by a model trained without its domain."""
    found = np.zeros((len(written.texts), len(reading.KINDS)))
    for domain in sorted(set(written.domains)):
        is_own = written.domains == domain
        model = train(written, rough, ~is_own)
        found[is_own] = model.probabilities(written)[is_own]
        right = (found[is_own].argmax(axis=1) == written.kinds[is_own]).mean()
        print(f"  without {domain}: {right:.3f} of {is_own.sum()}", flush=True)
    return found


def report(written: Questions, found: np.ndarray) -> None:
    """Print accuracy and recall by kind, and what is confused."""
    best = found.argmax(axis=1)
    right = best == written.kinds
    is_manual = written.domains == "manuals"
    for name, group in (("written", ~is_manual), ("manuals", is_manual)):
        for language in ("en", "zh"):
            own = group & (written.languages == language)
            cells = [
                f"{kind.value} {right[own & (written.kinds == number)].mean():.2f}"
                for number, kind in enumerate(reading.KINDS)
                if (own & (written.kinds == number)).any()
            ]
            print(f"{name} {language}: {right[own].mean():.3f} of {own.sum()}; {', '.join(cells)}")
        print(f"{name}: {right[group].mean():.3f}")
    pairs = Counter(zip(written.kinds[~right].tolist(), best[~right].tolist(), strict=True))
    for (true, other), count in pairs.most_common(15):
        print(f"  {reading.KINDS[true]} read as {reading.KINDS[other]}: {count}")


def choose_temperature(written: Questions, found: np.ndarray) -> float:
    """Return the temperature at which held-out kinds are most probable; print the calibration."""
    odds = np.log(np.maximum(found, 1e-12))
    at = np.arange(len(odds)), written.kinds

    def missed(temperature: float) -> float:
        return float(-np.log(softmax(odds / temperature)[at]).mean())

    best = float(minimize_scalar(missed, bounds=(0.3, 3), method="bounded").x)
    sure = softmax(odds / best)
    right = sure.argmax(axis=1) == written.kinds
    print(f"temperature {best:.3f}: loss {missed(1):.3f} to {missed(best):.3f}")
    groups: defaultdict[int, list[int]] = defaultdict(list)
    for number, value in enumerate(sure.max(axis=1)):
        groups[min(int(value * 5), 4)].append(number)
    error = 0.0
    for group, members in sorted(groups.items()):
        said, held = sure.max(axis=1)[members].mean(), right[members].mean()
        error += abs(said - held) * len(members) / len(right)
        print(
            f"  from {group / 5:.1f}: {len(members)} questions, {said:.2f} said, {held:.2f} right"
        )
    print(f"  expected calibration error {error:.3f}")
    return best


def write(model: Model, temperature: float, vocabulary: dict[str, int], output: Path) -> None:
    """Write the weights in whole steps of a scale for each kind, in the order of their hashes."""
    names = list(vocabulary)
    hashes = np.array([zlib.crc32(names[at].encode()) for at in model.kept], dtype=np.uint32)
    order = np.argsort(hashes)
    weights = model.weights[order] / temperature
    scales = np.abs(weights).max(axis=0) / 127
    np.savez_compressed(
        output,
        hashes=hashes[order],
        steps=np.rint(weights / scales).astype(np.int8),
        scales=scales.astype(np.float32),
        biases=(model.biases / temperature).astype(np.float32),
        kinds=np.array([kind.value for kind in reading.KINDS]),
    )
    collisions = len(hashes) - len(set(hashes.tolist()))
    print(f"{len(hashes)} features, {collisions} collisions, {output.stat().st_size} bytes")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--output", type=Path, default=WEIGHTS, help="the file for the weights")
    options = parser.parse_args()
    vocabulary: dict[str, int] = {}
    collected = [collect(rows, vocabulary) for rows in (read_written(), read_rough())]
    written, rough = (build(*one, len(vocabulary)) for one in collected)
    found = hold_out(written, rough)
    report(written, found)
    temperature = choose_temperature(written, found)
    model = train(written, rough, np.ones(len(written.texts), dtype=bool))
    write(model, temperature, vocabulary, options.output)


if __name__ == "__main__":
    main()
