"""`knotwork train`: train the path ranker, or the weights of a fusion, on questions about the
index.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from knotwork.cli.session import Session, keep_common, show_examples, with_session
from knotwork.cli.terminal import count_of
from knotwork.errors import ConfigError

if TYPE_CHECKING:
    from knotwork.evaluation.fusion_training import FusionReport
    from knotwork.evaluation.path_training import PathTrainingReport


@click.group()
@keep_common
def train_command() -> None:
    """Train on questions about the index."""


@train_command.command(
    short_help="Train the ranker of paths.",
    epilog=show_examples(
        "knotwork train paths -o paths.model",
        "knotwork train paths --questions asked.jsonl -o paths.model",
        "knotwork train paths --questions asked.jsonl --made 0 -o paths.model --json",
    ),
)
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    required=True,
    help="Where the model is written.",
)
@click.option(
    "--questions",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help='Lines of {"question": "...", "answers": ["name", ...]}.',
)
@click.option(
    "--made",
    metavar="N",
    type=click.IntRange(min=0),
    default=600,
    show_default=True,
    help="Questions made of the graph's own relations.",
)
@click.option("--seed", metavar="N", type=int, default=0, show_default=True, help="Of chance.")
@click.option("--force", is_flag=True, help="Replace a file that exists.")
@with_session()
def paths(
    session: Session,
    *,
    output: Path,
    questions: Path | None,
    made: int,
    seed: int,
    force: bool,
) -> None:
    """Train the coarse ranker of the retriever `paths`, on labelled questions, made ones, or both.

    A fifth of the questions is held back to measure the ranker. Needs the extra `rank`.
    """
    from knotwork.evaluation.path_training import (
        make_path_questions,
        read_path_questions,
        train_ranker,
    )

    if output.exists() and not force:
        raise ConfigError(
            f"`{output}` exists already.", fix="Replace it with --force, or name another."
        )
    store = session.open().store
    asked = read_path_questions(questions) if questions is not None else []
    asked += make_path_questions(store, count=made, seed=seed)
    session.terminal.note(f"Comparing the paths of {count_of(len(asked), 'question')} …")
    report = train_ranker(store, asked, seed=seed)
    output.write_text(report.model, "utf-8")
    if session.common.json:
        session.terminal.emit(describe_path_training(report, output))
    else:
        print_path_training(session, report, output)


def describe_path_training(report: PathTrainingReport, output: Path) -> dict[str, object]:
    """Return the object of `train paths --json`: fractions from 0 to 1."""
    return {
        "model": str(output),
        "questions": report.questions,
        "with_right_path": report.usable,
        "held_back": report.held_back,
        "right_at_1": report.right_at_1,
        "right_at_3": report.right_at_3,
        "importances": report.importances,
    }


def print_path_training(session: Session, report: PathTrainingReport, output: Path) -> None:
    """Print how good the ranker is and what it looks at most."""
    terminal = session.terminal
    asked = count_of(report.questions, "question")
    terminal.say(f"{asked}, {report.usable} of them with a path to their answers.")
    terminal.say(
        f"Of {report.held_back} held back, {report.right_at_1:.1%} have a right path first, "
        f"{report.right_at_3:.1%} among the first three."
    )
    terminal.table(
        [(name, f"{share:.1%}") for name, share in list(report.importances.items())[:10]],
        header=("feature", "gain"),
    )
    terminal.say(f"Written to {output}. Use it with the option trees={output} of `paths`.")


@train_command.command(
    short_help="Learn the weights of a fusion.",
    epilog=show_examples(
        'knotwork train fusion "graph + bm25 + dense" --questions asked.jsonl',
        'knotwork train fusion "bm25 + top_down" --questions asked.jsonl',
        'knotwork train fusion "graph + paths" --questions asked.jsonl --json',
    ),
)
@click.argument("parts", metavar="RETRIEVERS")
@click.option(
    "--questions",
    metavar="FILE",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    required=True,
    help='Lines of {"question": "...", "gold_pids": ["document", ...]}.',
)
@with_session()
def fusion(session: Session, *, parts: str, questions: Path) -> None:
    """Learn how much each of several retrievers should count when they are joined by +.

    Recall is measured on questions that the weights were not learned from, in five folds.
    """
    from knotwork.cli.progress import choose_counter
    from knotwork.evaluation.datasets import read_question_set
    from knotwork.evaluation.fusion_training import (
        collect_fusion_examples,
        read_parts,
        train_fusion,
    )
    from knotwork.retrieval.fusion import FUSION_DEPTH

    names = read_parts(parts)
    knowledge_base = session.open()
    uris = [entry.uri for entry in knowledge_base.documents()]
    with questions.open(encoding="utf-8") as lines:
        asked = read_question_set(lines, documents=uris, names=(questions.name, ""))
    cases = [case for case in asked.cases if case.gold]
    collected = collect_fusion_examples(
        names,
        cases,
        lambda text, part: knowledge_base.search(text, retriever=part, k=FUSION_DEPTH),
    )
    examples = []
    with choose_counter(session.terminal, hidden=session.common.no_progress) as counter:
        for done, example in enumerate(collected, start=1):
            examples.append(example)
            counter.count("Searching", done, len(cases))
    report = train_fusion(names, examples)
    if session.common.json:
        session.terminal.emit(describe_fusion_training(report))
    else:
        print_fusion_training(session, report)


def describe_fusion_training(report: FusionReport) -> dict[str, object]:
    """Return the object of `train fusion --json`: fractions from 0 to 1."""
    return {
        "retriever": report.specification,
        "weights": dict(report.weights),
        "questions": report.questions,
        "with_gold_found": report.usable,
        "recall_at_5": {
            "learned": report.learned,
            "equal": report.equal,
            "best_alone": report.single,
        },
        "best": report.best,
        "over_equal": asdict(report.over_equal),
        "over_best": asdict(report.over_best),
    }


def print_fusion_training(session: Session, report: FusionReport) -> None:
    """Print the fusion, how much each part counts, and whether it is worth its searches."""
    terminal = session.terminal
    asked = count_of(report.questions, "question")
    terminal.say(f"{asked}, {report.usable} of them with a gold document among what was found.")
    rows = [("learned weights", report.learned), ("equal weights", report.equal)]
    terminal.table(
        [(name, f"{share:.1%}") for name, share in [*rows, (report.best, report.single)]],
        header=("", "recall@5"),
    )
    over = report.over_best
    won = f"{over.wins} won, {over.losses} lost, p {over.p_value:.3f}"
    if over.difference > 0:
        terminal.say(f"Beside {report.best} alone: {won}.")
    else:
        terminal.say(f"{report.best} alone finds as much ({won}): no fusion is needed.")
    terminal.say(f"Learned: {report.specification}")
    terminal.say("Use it with --retriever, or as retrieval.retriever in the settings.")
