"""`knotwork train`: train the path ranker, or learn the weights of a fusion, from questions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from knotwork._cli.session import (
    Session,
    check_new,
    command,
    command_group,
    number_option,
    path_option,
)
from knotwork._cli.terminal import count_of
from knotwork._shapes.base import fields_of

if TYPE_CHECKING:
    from knotwork._extensions.evaluation.fusion_training import FusionReport
    from knotwork._extensions.evaluation.path_training import PathTrainingReport


@command_group()
def train_command() -> None:
    """Train the path ranker, or learn the weights of a fusion, from questions."""


@command(
    "knotwork train paths -o paths.model",
    "knotwork train paths --questions asked.jsonl -o paths.model",
    "knotwork train paths --questions asked.jsonl --made 0 -o paths.model --json",
    group=train_command,
    short_help="Train the path ranker.",
)
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    required=True,
    help="Write the model to this file.",
)
@path_option("--questions", help='JSON lines: {"question": "...", "answers": ["name", ...]}.')
@number_option(
    "--made",
    default=600,
    least=0,
    help="Number of questions to generate from relations in the graph.",
)
@click.option("--seed", metavar="N", type=int, default=0, show_default=True, help="Random seed.")
@click.option("--force", is_flag=True, help="Replace an existing file.")
def paths(
    session: Session,
    *,
    output: Path,
    questions: Path | None,
    made: int,
    seed: int,
    force: bool,
) -> None:
    """Train the first-stage ranker of the retriever `paths` on labelled or generated questions.

    A fifth of the questions is held back to evaluate the ranker. Requires the extra `rank`.
    """
    from knotwork._extensions.evaluation.path_training import (
        make_path_questions,
        read_path_questions,
        train_ranker,
    )

    check_new(output, overwrites=force)
    store = session.open().store
    asked = read_path_questions(questions) if questions is not None else []
    asked += make_path_questions(store, count=made, seed=seed)
    session.terminal.note(f"Finding the paths of {count_of(len(asked), 'question')} …")
    report = train_ranker(store, asked, seed=seed)
    output.write_text(report.model, "utf-8")
    names = ("questions", "held_back", "right_at_1", "right_at_3", "importances")
    described = {"model": str(output), "with_right_path": report.usable}
    if not session.emit(fields_of(report, *names) | described):
        print_path_training(session, report, output)


def print_path_training(session: Session, report: PathTrainingReport, output: Path) -> None:
    """Print the accuracy of the ranker, and its ten most important features."""
    terminal = session.terminal
    asked = count_of(report.questions, "question")
    terminal.say(f"{asked}, {report.usable} of them with a path to an answer.")
    terminal.say(
        f"Of {report.held_back} held back, {report.right_at_1:.1%} have a right path in first "
        f"place, {report.right_at_3:.1%} among the first three."
    )
    terminal.table(
        [(name, f"{share:.1%}") for name, share in list(report.importances.items())[:10]],
        header=("feature", "gain"),
    )
    terminal.say(f"Wrote {output}. To use it, set the option trees={output} of `paths`.")


@command(
    'knotwork train fusion "graph + bm25 + dense" --questions asked.jsonl',
    'knotwork train fusion "bm25 + top_down" --questions asked.jsonl',
    'knotwork train fusion "graph + paths" --questions asked.jsonl --json',
    group=train_command,
    short_help="Learn the weights of a fusion.",
)
@click.argument("parts", metavar="RETRIEVERS")
@click.option(
    "--questions",
    metavar="FILE",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    required=True,
    help='JSON lines: {"question": "...", "gold_pids": ["document", ...]}.',
)
def fusion(session: Session, *, parts: str, questions: Path) -> None:
    """Learn the weights of several retrievers in a fusion (`+`).

    Recall is measured by five-fold cross-validation.
    """
    from knotwork._cli.progress import choose_counter
    from knotwork._extensions.evaluation.fusion_training import (
        collect_fusion_examples,
        read_parts,
        train_fusion,
    )
    from knotwork._extensions.evaluation.questions import read_question_set
    from knotwork._retrieval.fusion import FUSION_DEPTH

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
    recall = {"learned": report.learned, "equal": report.equal, "best_alone": report.single}
    described = fields_of(report, "weights", "questions", "best", "over_equal", "over_best") | {
        "retriever": report.specification,
        "with_gold_found": report.usable,
        "recall_at_5": recall,
    }
    if not session.emit(described):
        print_fusion_training(session, report)


def print_fusion_training(session: Session, report: FusionReport) -> None:
    """Print the recall of the fusion and of its best part alone, and the learned weights."""
    terminal = session.terminal
    asked = count_of(report.questions, "question")
    terminal.say(f"{asked}, {report.usable} of them with a gold document among the results.")
    rows = [("learned weights", report.learned), ("equal weights", report.equal)]
    terminal.table(
        [(name, f"{share:.1%}") for name, share in [*rows, (report.best, report.single)]],
        header=("", "recall@5"),
    )
    over = report.over_best
    won = f"{over.wins} won, {over.losses} lost, p {over.p_value:.3f}"
    if over.difference > 0:
        terminal.say(f"Compared with {report.best} alone: {won}.")
    else:
        terminal.say(f"{report.best} alone is as good ({won}). You do not need a fusion.")
    terminal.say(f"Learned: {report.specification}")
    terminal.say("To use it, pass it to --retriever or set retrieval.retriever.")
