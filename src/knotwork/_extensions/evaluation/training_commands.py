"""`knotwork train`: train the path ranker, or learn the weights of a fusion, from questions."""

from __future__ import annotations

from pathlib import Path

import click

from knotwork._cli.session import (
    Session,
    check_new,
    command,
    command_group,
    number_option,
    path_option,
)
from knotwork._cli.views import Table, count_of
from knotwork._shapes.base import fields_of


@command_group()
def train_command() -> None:
    """Train the path ranker, or learn the weights of a fusion, from questions."""


@command(group=train_command, short_help="Train the path ranker.")
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
    $ knotwork train paths -o paths.model
    $ knotwork train paths --questions asked.jsonl -o paths.model
    $ knotwork train paths --questions asked.jsonl --made 0 -o paths.model --json
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
    session.show(
        fields_of(report, *names) | described,
        "{questions:#question}, {with_right_path} of them with a path to an answer.",
        "Of {held_back} held back, {right_at_1:.1%} have a right path in first place, "
        "{right_at_3:.1%} among the first three.",
        Table("features", "feature=0 gain=1:.1%"),
        "Wrote {model}. To use it, set the option trees={model} of `paths`.",
        features=list(report.importances.items())[:10],
    )


@command(group=train_command, short_help="Learn the weights of a fusion.")
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
    $ knotwork train fusion "graph + bm25 + dense" --questions asked.jsonl
    $ knotwork train fusion "bm25 + top_down" --questions asked.jsonl
    $ knotwork train fusion "graph + paths" --questions asked.jsonl --json
    """
    from knotwork._extensions.evaluation.datasets import read_question_set
    from knotwork._extensions.evaluation.fusion_training import (
        collect_fusion_examples,
        read_parts,
        train_fusion,
    )
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
    with session.progress() as counter:
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
    over = report.over_best
    session.show(
        described,
        "{questions:#question}, {with_gold_found} of them with a gold document among the results.",
        Table("recalls", {" of": "{0}", "recall@5": "{1:.1%}"}),
        "[{helps:?}Compared with {best} alone: {won}.]",
        "[{helps:!}{best} alone is as good ({won}). You do not need a fusion.]",
        "Learned: {retriever}",
        "To use it, pass it to --retriever or set retrieval.retriever.",
        recalls=[
            ("learned weights", report.learned),
            ("equal weights", report.equal),
            (report.best, report.single),
        ],
        helps=over.difference > 0,
        won=f"{over.wins} won, {over.losses} lost, p {over.p_value:.3f}",
    )
