"""Train the first-stage path ranker on questions with known answers.

The questions are read from a file, or generated from the relations in a graph.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from knotwork._extensions.evaluation.datasets import place_of, read_objects
from knotwork._extensions.paths.path_enumeration import LinkReader, PathStep
from knotwork._extensions.paths.path_features import FEATURES
from knotwork._extensions.paths.path_ranking import find_candidates
from knotwork._inference.boosted_trees import FeatureRows, Trees, parse_trees
from knotwork._stores.base import Store
from knotwork._text.names import normal_form
from knotwork._text.relation_words import base_form, read_lexicon, relation_words
from knotwork.errors import ConfigError, RetrievalError, required
from knotwork.records import Label, Node, entity_id

MAX_QUESTION_HOPS = 3
_LINKS = 400
_OTHER_WORD = 0.5
"""Probability that a relation is named by a synonym, if the lexicon has one."""
_EVERY_BETWEEN = 5
"""One in this many questions asks for entities between two others."""
_PART_OF_NAME = 0.3
"""Probability that a relation with a name of several words is named by one of them."""


@dataclass(frozen=True, slots=True)
class PathQuestion:
    """A question with the ids of the entities that answer it."""

    text: str
    answers: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Wordings:
    """Templates for hops in one language. ``{r}`` is a relation and ``{x}`` its subject."""

    forward: tuple[str, ...]
    backward: tuple[str, ...]
    returning: tuple[str, ...]
    questions: tuple[str, ...]
    asking: tuple[str, ...]
    between: tuple[str, ...]


_ENGLISH = _Wordings(
    forward=("the {r} of {x}", "the {r}s of {x}", "{x} {r}s", "the {r} for {x}"),
    backward=(
        "the ones {r} {x}",
        "the ones {r} by {x}",
        "what has {x} as {r}",
        "those whose {r} is {x}",
        "the {r} works of {x}",
        "{x} {r} ones",
    ),
    returning=(
        "the ones that share {r}s with {x}",
        "the ones with the same {r} as {x}",
        "the ones whose {r} also {r} {x}",
        "the ones {r} by the {r} of {x}",
        "others with the {r} of {x}",
    ),
    questions=("{x} are what", "what are {x}", "who is {x}", "name {x}", "which are {x}", "{x}"),
    asking=(
        "what {r} do {x} have",
        "which {r}s are {x}",
        "{x} have which {r}s",
        "what are the {r}s of {x}",
        "who {r} {x}",
        "{x} were {r} by who",
        "who are the {r}s of {x}",
    ),
    between=(
        "which {r}s of {x} have the {s} {y}",
        "which {r} of {x} is {s} {y}",
        "who among the {r}s of {x} has {y} as {s}",
        "what is {r} of {x} and {s} of {y}",
        "the {r} of {x} whose {s} is {y}",
    ),
)
_CHINESE = _Wordings(
    forward=("{x}的{r}",),
    backward=("{r}是{x}的人", "以{x}为{r}的", "{r}为{x}的"),
    returning=("与{x}有共同{r}的", "和{x}{r}相同的", "{x}的{r}的其他"),
    questions=("{x}是谁？", "{x}有哪些？", "谁是{x}？", "{x}是什么？", "请问{x}有谁？"),
    asking=("{x}的{r}是谁？", "{x}的{r}有哪些？", "谁是{x}的{r}？", "{x}的{r}是哪个？"),
    between=(
        "{x}的{r}中，谁的{s}是{y}？",
        "{x}的{r}中，有哪些人的{s}是{y}？",
        "{x}的哪位{r}的{s}是{y}？",
        "谁是{x}的{r}，又是{y}的{s}？",
        "{x}的{r}中，哪些人{s}于{y}？",
    ),
)


def read_path_questions(path: Path) -> list[PathQuestion]:
    """Read labelled questions: one ``{"question", "answers": [names]}`` per line.

    Raises ConfigError, with the line, for an invalid record.
    """
    questions = []
    fix = 'Each line is {"question": "...", "answers": ["...", ...]}.'
    lines = path.read_text("utf-8").splitlines()
    for number, record in read_objects(lines, name=str(path), fix=fix):
        try:
            answers = record["answers"] if "answers" in record else record["answer"]
            found = frozenset(entity_id(normal_form(str(name))) for name in answers)
            questions.append(PathQuestion(str(record["question"]), found))
        except (KeyError, TypeError) as error:
            where = place_of(path, number)
            raise ConfigError(f"{where} is not a question: {error}.", fix=fix) from error
    return questions


def make_path_questions(store: Store, *, count: int, seed: int = 0) -> list[PathQuestion]:
    """Generate questions of one to three hops about a graph. A seed always gives the same ones."""
    chance = random.Random(seed)  # noqa: S311  nothing secret
    nodes = store.graph.find(label=Label.ENTITY, limit=20 * count)
    chance.shuffle(nodes)
    reader = LinkReader(store, limit=_LINKS)
    questions: list[PathQuestion] = []
    for number, node in enumerate(nodes):
        if len(questions) >= count:
            break
        if number % _EVERY_BETWEEN == 0:
            made = _ask_between(node, reader, store, chance)
        else:
            made = _ask_from(node, 1 + number % MAX_QUESTION_HOPS, reader, chance)
        if made is not None:
            questions.append(made)
    return questions


def _ask_from(
    node: Node, hops: int, reader: LinkReader, chance: random.Random
) -> PathQuestion | None:
    walked = _walk(node.id, hops, reader, chance)
    if walked is None:
        return None
    steps, answers = walked
    return PathQuestion(_state(node.name, steps, chance), answers)


def _ask_between(
    node: Node, reader: LinkReader, store: Store, chance: random.Random
) -> PathQuestion | None:
    """Ask for the entities that one relation links to an entity and another to a second one."""
    walked = _walk(node.id, 1, reader, chance)
    if walked is None:
        return None
    (step,), middles = walked
    middle = chance.choice(sorted(middles))
    reader.read([middle])
    offers = [k for k in reader.of(middle) if k.other != node.id and k.relation != step[0]]
    if not offers:
        return None
    link = chance.choice(offers)
    reader.read([link.other])
    wanted = link.relation, not link.forward
    others = {k.other for k in reader.of(link.other) if (k.relation, k.forward) == wanted}
    names = store.graph.entities([link.other])
    if link.other not in names:
        return None
    words = _CHINESE if not (step[0].isascii() and link.relation.isascii()) else _ENGLISH
    text = chance.choice(words.between).format(
        x=node.name,
        r=_call(step[0], chance),
        s=_call(link.relation, chance),
        y=names[link.other].name,
    )
    return PathQuestion(text, middles & others)


def _walk(
    start: str, hops: int, reader: LinkReader, chance: random.Random
) -> tuple[tuple[PathStep, ...], frozenset[str]] | None:
    """Return the relations of a random path and all entities they reach; None at a dead end."""
    steps: list[PathStep] = []
    reached: dict[str, frozenset[str]] = {start: frozenset({start})}
    for _ in range(hops):
        reader.read(reached)
        offers = sorted({(k.relation, k.forward) for node in reached for k in reader.of(node)})
        if not offers:
            return None
        turned = (steps[-1][0], not steps[-1][1]) if steps else None
        # Real questions ask for entities with something in common far more often than by chance.
        step = turned if turned in offers and chance.random() < 0.5 else chance.choice(offers)
        if step is None:
            return None
        following: dict[str, frozenset[str]] = {}
        for node, before in list(reached.items())[:_LINKS]:
            for link in reader.of(node):
                if (link.relation, link.forward) == step and link.other not in before:
                    following.setdefault(link.other, before | {link.other})
        if not following:
            return None
        steps.append(step)
        reached = following
    return tuple(steps), frozenset(reached)


def _state(name: str, steps: Sequence[PathStep], chance: random.Random) -> str:
    """Word a path from a name as a question."""
    is_chinese = any(not relation.isascii() for relation, _ in steps)
    words = _CHINESE if is_chinese else _ENGLISH
    phrase = name
    parts = list(_parts(steps))
    for number, (relation, kind) in enumerate(parts):
        called = _call(relation, chance)
        if number == len(parts) - 1 and kind == "forward" and chance.random() < 0.7:
            return chance.choice(words.asking).format(r=called, x=phrase)
        template: str = chance.choice(getattr(words, kind))
        first, *rest = template.split("{r}")
        stated = first + "".join(
            (called if place == 0 else _call(relation, chance)) + part
            for place, part in enumerate(rest)
        )
        phrase = stated.replace("{x}", phrase)
    return chance.choice(words.questions).format(x=phrase)


def _parts(steps: Sequence[PathStep]) -> Iterator[tuple[str, str]]:
    """Yield each relation with its direction; a relation and its inverse are one "returning"."""
    place = 0
    while place < len(steps):
        relation, forward = steps[place]
        if place + 1 < len(steps) and steps[place + 1] == (relation, not forward):
            yield relation, "returning"
            place += 2
        else:
            yield relation, "forward" if forward else "backward"
            place += 1


def _call(relation: str, chance: random.Random) -> str:
    """Return a name for a relation: its own, a part of it, or a synonym."""
    words = list(relation_words(relation))
    if len(words) > 1 and chance.random() < _PART_OF_NAME:
        words = [chance.choice(words)]
    lexicon = read_lexicon()
    called = []
    for word in words:
        others = sorted(
            {
                other
                for group in lexicon.groups.get(base_form(word), ())
                for other in lexicon.members[group]
                if other.isascii() == word.isascii()
            }
        )
        if others and chance.random() < _OTHER_WORD:
            called.append(chance.choice(others))
        else:
            called.append(word)
    return (" " if relation.isascii() else "").join(called)


EQUAL_OVERLAP = 0.9
"""A pattern is right if the F1 of its answers and the known ones is at least this."""
_HELD_BACK = 5
MIN_OVERLAP = 0.5
"""Minimum F1 for the best pattern to be right if none reaches `EQUAL_OVERLAP`."""


@dataclass(frozen=True, slots=True)
class PathExamples:
    """The features of a question's patterns, and the F1 of each with the known answers."""

    rows: FeatureRows
    overlaps: NDArray[np.float64]

    @property
    def labels(self) -> NDArray[np.bool_]:
        """True for each right pattern."""
        best = self.overlaps.max(initial=0.0)
        bar = EQUAL_OVERLAP if best >= EQUAL_OVERLAP else max(best, MIN_OVERLAP)
        return self.overlaps >= bar


_PARAMETERS = {
    "objective": "binary",
    "num_leaves": 7,
    "learning_rate": 0.06,
    "lambda_l2": 5.0,
    "feature_fraction": 0.8,
    "bagging_fraction": 0.8,
    "bagging_freq": 1,
    "seed": 7,
    "deterministic": True,
    "force_row_wise": True,
    "num_threads": 1,
    "verbose": -1,
}
"""Parameters of LightGBM: few and small trees, since questions come from few sources."""


def collect_examples(store: Store, questions: Iterable[PathQuestion]) -> Iterator[PathExamples]:
    """Yield the patterns of each question that has any."""
    for question in questions:
        found = find_candidates(question.text, store)
        if not found.patterns:
            continue
        overlaps = [
            overlap(frozenset(pattern.answers), question.answers) for pattern in found.patterns
        ]
        yield PathExamples(found.rows(), np.array(overlaps))


def overlap(found: frozenset[str], wanted: frozenset[str]) -> float:
    """Return the F1 of two sets, from 0 to 1."""
    both = len(found | wanted) and len(found) + len(wanted)
    return 2 * len(found & wanted) / both if both else 0.0


def fit_ranker(
    examples: Sequence[PathExamples], *, trees: int = 150, least_in_leaf: int = 40
) -> str:
    """Fit trees that separate right patterns from wrong ones, and return LightGBM's model text.

    Every question has the same weight. Raises MissingExtra without LightGBM, RetrievalError if no
    question has a right pattern.
    """
    with required("Training a path ranker", "rank"):
        import lightgbm
    usable = [one for one in examples if one.labels.any()]
    if not usable:
        raise RetrievalError(
            f"No path in the graph leads to an answer of any of the {len(examples)} questions.",
            fix="Check that the answers are names of entities, and that the graph has relations.",
        )
    weights = [np.full(len(one.rows), 100 / len(one.rows)) for one in usable]
    data = lightgbm.Dataset(
        np.concatenate([one.rows for one in usable]),
        np.concatenate([one.labels for one in usable]).astype(np.float64),
        weight=np.concatenate(weights),
        feature_name=list(FEATURES),
    )
    model = lightgbm.train(_PARAMETERS | {"min_child_samples": least_in_leaf}, data, trees)
    text, mark, _ = str(model.model_to_string()).partition("end of trees")
    return f"{text}{mark}\n"


@dataclass(frozen=True, slots=True)
class PathTrainingReport:
    """A trained model, and its accuracy on questions that were held back.

    ``right_at_1`` and ``right_at_3`` are the shares of the held-back questions with a right pattern
    in first place or among the first three, ranked by a model trained on the others. ``model`` is
    trained on all. ``importances`` are shares of the gain by feature, the largest first.
    """

    model: str
    questions: int
    usable: int
    held_back: int
    right_at_1: float
    right_at_3: float
    importances: dict[str, float]


def train_ranker(
    store: Store, questions: Sequence[PathQuestion], *, seed: int = 0, **fitting: int
) -> PathTrainingReport:
    """Train a ranker on questions about a store. A fifth of them is held back for the report.

    ``fitting`` are options of `fit_ranker`.
    """
    examples = list(collect_examples(store, questions))
    order = np.random.default_rng(seed).permutation(len(examples)).tolist()
    held = [examples[i] for i in order[::_HELD_BACK]]
    rest = [examples[i] for place, i in enumerate(order) if place % _HELD_BACK]
    trial = parse_trees(fit_ranker(rest, **fitting))
    model = fit_ranker(examples, **fitting)
    trees = parse_trees(model)
    gains = dict(zip(trees.features, trees.gains, strict=True))
    total = sum(gains.values()) or 1.0
    ranked = sorted(gains, key=lambda name: (-gains[name], name))
    return PathTrainingReport(
        model=model,
        questions=len(questions),
        usable=sum(bool(one.labels.any()) for one in examples),
        held_back=len(held),
        right_at_1=measure_ranker(trial, held, k=1),
        right_at_3=measure_ranker(trial, held, k=3),
        importances={name: gains[name] / total for name in ranked},
    )


def measure_ranker(trees: Trees, examples: Sequence[PathExamples], *, k: int) -> float:
    """Return the share of questions with a right pattern among the first ``k``."""
    if not examples:
        return 0.0
    right = 0
    for one in examples:
        order = np.argsort(-trees.predict(one.rows), kind="stable")[:k]
        right += bool((one.overlaps[order] >= EQUAL_OVERLAP).any())
    return right / len(examples)
