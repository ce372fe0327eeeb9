"""`knotwork train`: rankers trained on questions about the index."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from knotwork.cli.app import show_examples
from knotwork.cli.options import keep_common, with_session
from knotwork.cli.session import Session
from knotwork.cli.terminal import count_of
from knotwork.errors import ConfigError

if TYPE_CHECKING:
    from knotwork.evaluation.path_training import TrainingReport


@click.group()
@keep_common
def command() -> None:
    """Train a ranker on questions about the index."""


@command.command(
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

    A fifth of the questions is held back and tells how good the ranker is. Needs the extra `rank`.
    """
    from knotwork.evaluation.path_questions import make_path_questions, read_path_questions
    from knotwork.evaluation.path_training import train_ranker

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
        session.terminal.emit(describe(report, output))
    else:
        show(session, report, output)


def describe(report: TrainingReport, output: Path) -> dict[str, object]:
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


def show(session: Session, report: TrainingReport, output: Path) -> None:
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
