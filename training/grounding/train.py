"""Train the trees that check the names, numbers and denials of a statement against its sources.

    python training/grounding/train.py --data data

Statements are made as for `benchmarks/grounding`, of other data sets than those that it reports as
fresh. "placement": a name or number that replaced another, or changed places with one, is wrong,
and all mentions of true statements are right. "polarity": a statement with a denial added or
removed is wrong; pairs in free words, written for this, teach it to be silent where words show
nothing. Prints how many statements are found by models that were trained without their articles, at
the shares of true statements rejected; then trains on everything and writes both models.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import zlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from pathlib import Path

import lightgbm
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks" / "grounding"))

from statements import (
    QUOTES,
    Row,
    Statement,
    make_false,
    names_of,
    read_clauses,
    read_passages,
    read_quotes,
    read_rows,
    read_sentences,
    rows_by_key,
    state,
)
from statements import read_statements as read_asked

from knotwork._synthesis.grounding import statement_check
from knotwork._synthesis.grounding.statement_check import CitedSources, denials_of, is_negative
from knotwork._synthesis.grounding.texts import read_text
from knotwork._text.sentences import split_sentences

SETS = (
    "squad_train_subset", "squad_dev", "drcd_test", "xquad_zh", "fairytaleqa", "cmrc2017_user",
    "nq_open_oracle", "integreat_en", "covidqa", "tatqa",
)  # fmt: skip
CORPORA = ("twowiki_full6119",)
CLAUSES = ("selqa", "clapnq_dev", "qed_dev")
"""Sets of whose passages only clauses are taken."""
PAIRS = Path(__file__).with_name("free_pairs.tsv")
"""A source, the key of its row, a true statement, the kind of error, and a false statement."""
KEPT_ASIDE = ("bind9", "docker", "httpd", "debian_edu_zh", "gimp_zh")
MODELS = Path(statement_check.__file__).with_name("data")
FEATURES = {"placement": statement_check.FEATURES, "polarity": statement_check.POLARITY_FEATURES}
TREES = {"placement": (260, 28), "polarity": (140, 12)}
MOVED = ("number", "name", "roles")
REPEATS = {"asked": 3, "close": 1, "replaced": 1}
"""How many false statements of a kind are made of a true one."""
WEIGHTS = {"asked": 3.0, "close": 1.0, "replaced": 0.5, "clauses": 2.0, "free": 6.0}
"""The weight of an example by the kind of statement."""
FOLDS = 5
SHARES = (0.005, 0.01, 0.02)
LIMITS = (0.5, 0.7, 0.85, 1.0, 1.2, 1.35, 1.5, 2.0)

REWORDED = [
    (re.compile(pattern, re.IGNORECASE), other)
    for pattern, other in (
        (r"\bcan ?not be\b", "is unable to be"), (r"\bcan ?not\b", "is unable to"),
        (r"\bcould not\b", "was unable to"), (r"\bdid not\b", "failed to"),
        (r"\b(is|was|are|were|has|had|have) not\b", r"\1 never"),
        (r"\bnot possible\b", "impossible"), (r"\bdo(?:es)? not\b", "never"),
        (r"\bnever\b", "not ever"), (r"\bno\b", "not any"), ("不需要|不用", "无需"),
        ("[沒没]有", "未"), ("不能|不可以", "无法"), ("[無无]法", "不能"), ("不是", "并非"),
        ("[並并]非", "不是"), ("不[會会]", "从不"), ("不得", "不可以"), ("未能", "没能"),
        ("尚未|未曾", "没有"), ("[無无]需", "不需要"),
    )
]  # fmt: skip
"""Other words for a denial, which change no meaning."""


@dataclass(slots=True)
class Examples:
    """Rows of features with what they were made of.

    ``groups`` has the set and the kind of statements, ``folds`` a number by article.
    """

    rows: list[np.ndarray] = field(default_factory=list)
    labels: list[int] = field(default_factory=list)
    folds: list[int] = field(default_factory=list)
    groups: list[tuple[str, str]] = field(default_factory=list)
    statements: list[str] = field(default_factory=list)

    def add(
        self, rows: Sequence[np.ndarray], label: int, statement: Statement, group: tuple[str, str]
    ) -> None:
        article = statement.title or statement.passage[:40]
        for row in rows:
            self.rows.append(row)
            self.labels.append(label)
            self.folds.append(zlib.crc32(article.encode()) % FOLDS)
            self.groups.append(group)
            self.statements.append(statement.text)


def collect(
    name: str, rows: Sequence[Row], most: int, seed: int, found: dict[str, Examples]
) -> None:
    """Add the examples of a data set."""
    asked = list(read_asked(rows))
    names = sorted({n for s in asked for n in names_of(s.answer, s.language) if n == s.answer})
    close = list(read_sentences(rows, every=1))
    replaced = list(replace_words([*asked[::4], *close[::8]], random.Random(seed)))
    collect_clauses(rows, most, found["placement"], (name, "clauses"))
    for kind, everything in (("asked", asked), ("close", close), ("replaced", replaced)):
        chance = random.Random(seed)
        group = name, kind
        statements = chance.sample(everything, min(len(everything), 3 * most))
        count = most if kind == "asked" else most // 2
        true = chance.sample(statements, min(len(statements), count))
        joined = list(join_pairs(true, chance))
        for statement in (*true, *joined):
            found["placement"].add(placement_rows(statement), 0, statement, group)
        false: dict[str, Statement] = {}
        for number in range(REPEATS[kind]):
            made = make_false(true, names, seed=seed + number)
            false |= {s.text: s for error in MOVED for s in made[error]}
        for statement in false.values():
            found["placement"].add(placement_rows(statement), 1, statement, group)

        some = true[: count // 2]
        denied = [s for s in statements if denials_of(read_text(s.text))]
        denied = chance.sample(denied, min(len(denied), count // 2))
        reworded = [r for s in denied for r in reword(s, chance)]
        affirmed = {s.text: s for s in (*some, *denied)}
        for statement in (*affirmed.values(), *reworded, *joined[: count // 2]):
            found["polarity"].add(polarity_rows(statement), 0, statement, group)
        for statement in make_false(list(affirmed.values()), names, seed=seed)["negation"]:
            found["polarity"].add(polarity_rows(statement), 1, statement, group)
        print(name, kind, len(true), len(false), len(denied), flush=True)


def read_manuals() -> Iterator[Row]:
    """Yield the quotes of the manuals that the reader was trained on too."""
    for path in sorted(QUOTES.glob("*.jsonl")):
        if path.stem not in KEPT_ASIDE:
            yield from read_quotes(path)


def collect_pairs(data: Path, found: Examples) -> None:
    """Add the statements in free words that affirm or deny what their passages say."""
    for line in PAIRS.read_text("utf-8").splitlines():
        source, key, text, error, other = line.split("\t")
        manual = QUOTES / f"{source}.jsonl"
        path = manual if manual.exists() else data / f"{source}.jsonl.gz"
        true = state(rows_by_key(path)[key], text)
        group = f"free_{true.language}", "free"
        found.add(polarity_rows(true), 0, true, group)
        if error == "negation":
            false = replace(true, text=other, origin=text, error=error)
            found.add(polarity_rows(false), 1, false, group)


def collect_clauses(
    rows: Sequence[Row], most: int, found: Examples, group: tuple[str, str]
) -> None:
    """Add who did what to whom in both voices, and the same with the names swapped."""
    clauses = list(read_clauses(rows))
    for true, false in random.Random(0).sample(clauses, min(len(clauses), most)):
        found.add(placement_rows(true), 0, true, group)
        found.add(placement_rows(false), 1, false, group)


def join_pairs(true: Sequence[Statement], chance: random.Random) -> Iterator[Statement]:
    """Yield statements made of two true ones of a passage, as models write them."""
    by_passage: defaultdict[str, list[Statement]] = defaultdict(list)
    for statement in true:
        by_passage[statement.passage].append(statement)
    for group in by_passage.values():
        if len(group) > 1:
            one, other = chance.sample(group, 2)
            zh = one.language == "zh"
            mark = "，" if zh else chance.choice(("; ", ", and ", ", while "))
            yield replace(one, text=one.text.rstrip(".。") + mark + other.text)


def replace_words(true: Sequence[Statement], chance: random.Random) -> Iterator[Statement]:
    """Yield statements with other words for some, which their passages lack, as for synonyms."""
    spare = [
        statement.text[word.start : word.end]
        for statement in true
        for word in read_text(statement.text).words
        if not word.is_name and not is_negative(statement.text[word.start : word.end])
    ]
    for statement in true:
        text = statement.text
        share = chance.uniform(0.1, 0.5)
        for word in reversed(read_text(text).words):
            other = chance.choice(spare)
            if word.is_name or is_negative(text[word.start : word.end]):
                continue
            if chance.random() < share and other not in statement.passage:
                text = text[: word.start] + other + text[word.end :]
        yield replace(statement, text=text)


def reword(statement: Statement, chance: random.Random) -> Iterator[Statement]:
    """Yield a statement with other words for its denial."""
    fitting = [rule for rule in REWORDED if rule[0].search(statement.text)]
    if fitting:
        pattern, other = chance.choice(fitting)
        yield replace(statement, text=pattern.sub(other, statement.text, count=1))


def sources_of(statement: Statement) -> CitedSources:
    """Return the sources of a statement, for one of three without the question."""
    passage = statement.passage
    is_hidden = zlib.crc32((statement.origin or statement.text).encode()) % 3 == 0
    return CitedSources(
        [passage[start:end] for start, end in split_sentences(passage)],
        statement.title,
        "" if is_hidden else statement.question,
    )


def placement_rows(statement: Statement) -> list[np.ndarray]:
    """Return a row for each mention of a true statement, or for those that a false one changed."""
    cited = sources_of(statement)
    mentions, rows = statement_check.Compared(
        read_text(statement.text), cited.places, cited.titles, cited.question
    ).rows()
    if not statement.error:
        return list(rows)
    changed = changed_ranges(statement.origin, statement.text)
    return [
        row
        for mention, row in zip(mentions, rows, strict=True)
        if any(mention.start < end and start < mention.end for start, end in changed)
    ]


def polarity_rows(statement: Statement) -> list[np.ndarray]:
    """Return the row of a statement."""
    cited = sources_of(statement)
    said = read_text(statement.text)
    return [
        statement_check.polarity_row(said, cited.places, cited.question, cited.denials_in(said))[0]
    ]


def changed_ranges(original: str, text: str) -> list[tuple[int, int]]:
    """Return where a text differs from the original."""
    codes = SequenceMatcher(None, original, text, autojunk=False).get_opcodes()
    return [(start, max(end, start + 1)) for tag, _, _, start, end in codes if tag != "equal"]


def fit(name: str, rows: np.ndarray, labels: np.ndarray, weights: np.ndarray) -> lightgbm.Booster:
    trees, leaves = TREES[name]
    parameters = {
        "objective": "binary", "num_leaves": leaves, "learning_rate": 0.07,
        "min_child_samples": 30, "lambda_l2": 2, "feature_fraction": 0.6, "bagging_fraction": 0.8,
        "bagging_freq": 1, "seed": 3, "deterministic": True, "force_row_wise": True,
        "num_threads": 1, "verbose": -1,
    }  # fmt: skip
    data = lightgbm.Dataset(rows, labels, weight=weights, feature_name=list(FEATURES[name]))
    return lightgbm.train(parameters, data, trees)


KEPT_LINES = re.compile(
    r"(?:tree$|num_class|num_tree_per|feature_names|Tree=|num_leaves|split_feature|split_gain"
    r"|threshold|decision_type|left_child|right_child|leaf_value|end of trees|$)"
)


def text_of(model: lightgbm.Booster) -> str:
    """Return the lines of a model that are read to predict."""
    text, mark, _ = str(model.model_to_string()).partition("end of trees")
    lines = [line for line in f"{text}{mark}\n".split("\n") if KEPT_LINES.match(line)]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(map(shorten, lines)))


def shorten(line: str) -> str:
    """Return a line with six digits of its decimal numbers; thresholds stay exact."""
    key, mark, values = line.partition("=")
    if key not in ("leaf_value", "split_gain"):
        return line
    return f"{key}{mark}" + " ".join(f"{float(value):.6g}" for value in values.split())


def report(name: str, found: Examples, weights: np.ndarray) -> None:
    """Print what models find in the articles that they were trained without."""
    rows, labels, folds = np.array(found.rows), np.array(found.labels), np.array(found.folds)
    odds = np.zeros(len(labels))
    for fold in range(FOLDS):
        is_own = folds == fold
        model = fit(name, rows[~is_own], labels[~is_own], weights[~is_own])
        odds[is_own] = model.predict(rows[is_own], raw_score=True)
    highest: dict[tuple[tuple[str, str], str, int], float] = {}
    for key in zip(found.groups, found.statements, found.labels, odds, strict=True):
        group, statement, label, value = key
        place = group, statement, label
        highest[place] = max(highest.get(place, -np.inf), value)
    print(f"{name}: found and rejected above odds of {LIMITS}")
    for kind in sorted({kind for _, kind in found.groups}):
        true, false = (
            np.array([v for (g, _, y), v in highest.items() if g[1] == kind and y == label])
            for label in (0, 1)
        )
        cells = [f"{(false > one).mean():.3f} {(true > one).mean():.4f}" for one in LIMITS]
        print(f"  {kind}: {len(true)} true, {len(false)} false: {', '.join(cells)}")
    print(f"{name}: found at {SHARES} rejected, and the odds there")
    for group in sorted(set(found.groups)):
        true, false = (
            np.array([v for (g, _, y), v in highest.items() if g == group and y == label])
            for label in (0, 1)
        )
        limits = np.quantile(true, [1 - share for share in SHARES])
        cells = [f"{(false > limit).mean():.3f} ({limit:.1f})" for limit in limits]
        print(f"  {' '.join(group)}: {len(true)} true, {len(false)} false: {', '.join(cells)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="the folder of train/ and bench/")
    parser.add_argument("--most", type=int, default=1400, help="true statements of a set and kind")
    parser.add_argument("--seed", type=int, default=101)
    parser.add_argument("--output", type=Path, default=MODELS, help="the folder for the models")
    options = parser.parse_args()
    found = {name: Examples() for name in FEATURES}
    for name in SETS:
        rows = list(read_rows(options.data / "train" / f"{name}.jsonl.gz"))
        collect(name, rows, options.most, options.seed, found)
    for language in ("en", "zh"):
        rows = [row for row in read_manuals() if row.language == language]
        collect(f"manuals_{language}", rows, 2 * options.most, options.seed, found)
    collect_pairs(options.data / "train", found["polarity"])
    for name in CLAUSES:
        rows = list(read_rows(options.data / "train" / f"{name}.jsonl.gz"))
        collect_clauses(rows, options.most, found["placement"], (name, "clauses"))
    for name in CORPORA:
        rows = list(read_passages(options.data / "bench" / "qa" / name))
        collect_clauses(rows, 3 * options.most, found["placement"], (name, "clauses"))
    options.output.mkdir(exist_ok=True)
    for name, examples in found.items():
        weights = np.array([WEIGHTS[kind] for _, kind in examples.groups])
        report(name, examples, weights)
        model = fit(name, np.array(examples.rows), np.array(examples.labels), weights)
        (options.output / f"{name}.model").write_text(text_of(model), "utf-8")


if __name__ == "__main__":
    main()
