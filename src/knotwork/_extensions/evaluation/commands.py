"""`knotwork eval` and `knotwork train`: evaluate answers or retrievers, and train on questions."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from knotwork._cli.session import (
    WHERE_OPTION,
    Session,
    check_new,
    choice_option,
    command,
    command_group,
    number_option,
    path_option,
    text_option,
)
from knotwork._cli.views import Table, count_of
from knotwork._shapes.base import fields_of
from knotwork.errors import ConfigError

if TYPE_CHECKING:
    from knotwork._extensions.evaluation.judge_runs import JudgingOptions
    from knotwork._extensions.evaluation.questions import Dataset
    from knotwork._extensions.evaluation.retriever_runs import EvaluationRun


DRAWN_METRIC = "recall@5"
BASELINE = "hybrid"
"""The retriever that `--all` compares the others with."""

SHOWN_CASES = ("wrong", "changed", "all")
"""The values of `--show`: which questions of a file to print with their answers."""

_FILE_OPTIONS = {
    "compare": "Name retrievers to compare with --retrievers.",
    **dict.fromkeys(("budget", "show", "filters", "with_judge", "with_conditions"), ""),
    **dict.fromkeys(("labels", "estimate", "retry", "to_label"), ""),
}
"""Options for a file of questions, with the fix if a folder is given."""

_FOLDER_OPTIONS = dict.fromkeys(
    ("retrievers", "every"), "Compare answers with: --compare retrieval.retriever=NAME"
) | {"hide_titles": ""}
"""Options for a folder, with the fix if a file is given."""


@command(name="eval")
@click.argument("path", metavar="FILE|DIR", type=click.Path(path_type=Path))
@click.option(
    "--compare",
    metavar="KEY=VALUE",
    multiple=True,
    help="FILE: also ask with these settings, separated by semicolons. May be repeated.",
)
@choice_option(
    "--show",
    metavar="WHICH",
    valid=SHOWN_CASES,
    kind="value of --show",
    help="FILE: print the wrong, changed or all answers.",
)
@WHERE_OPTION
@text_option(
    "--budget",
    metavar="AMOUNT",
    help='FILE: spending limit, such as 90k or "2 EUR", for each --compare separately.',
)
@click.option(
    "--judge",
    "with_judge",
    is_flag=True,
    help="FILE: let the model llm.judge judge the answers.",
)
@click.option(
    "--robustness",
    "with_conditions",
    is_flag=True,
    help="FILE: also answer with noise and with changed facts.",
)
@path_option("--labels", help="FILE: labelled answers to compare the judge with.")
@path_option("--to-label", help="FILE: save the answers as a file to label for --labels.")
@click.option(
    "--estimate", is_flag=True, help="FILE: print what --judge and --robustness would cost."
)
@click.option("--retry", is_flag=True, help="FILE: ask again where a reply was unreadable.")
@click.option(
    "--retrievers",
    metavar="NAMES",
    default="auto,hybrid,dense,bm25",
    show_default=True,
    help="DIR: retrievers, separated by commas.",
)
@click.option("--all", "every", is_flag=True, help=f"DIR: compare all retrievers with {BASELINE}.")
@click.option("--hide-titles", is_flag=True, help="DIR: index passages without their titles.")
@number_option("--limit", help="Use only the first N questions.")
def eval_command(session: Session, path: Path, **options: Any) -> None:  # noqa: ANN401
    """Evaluate answers on a file of questions, or retrievers on a data set.

    FILE contains questions with the strings that a right answer contains, as JSON lines or CSV;
    each is asked as by `knotwork ask`. DIR is a data set with its own passages, whose index is kept
    in the user's cache folder.
    $ knotwork eval questions.csv --show wrong --compare retrieval.retriever=bm25
    $ knotwork eval questions.jsonl --judge --robustness --estimate
    $ knotwork eval data/hotpot --retrievers auto,bm25 --json
    """
    if path.is_dir():
        _refuse_options(path, "a folder", _FILE_OPTIONS)
        _evaluate_retrievers(session, path, options)
        return
    _refuse_options(path, "a file of questions", _FOLDER_OPTIONS)
    from knotwork._extensions.evaluation.answer_output import evaluate_file

    evaluate_file(
        session,
        path,
        compared=options["compare"],
        shown=options["show"] or "",
        limit=options["limit"],
        budget=options["budget"],
        filters=options["filters"],
        judging=_read_judging(options),
        only_estimate=options["estimate"],
        to_label=options["to_label"],
    )


def _read_judging(options: Mapping[str, Any]) -> JudgingOptions | None:
    """Return the options of judging, None without --judge and --robustness.

    Raises ConfigError for an option that requires one of these, and for an invalid file of labels.
    """
    from knotwork._extensions.evaluation.judge import read_labelled_cases
    from knotwork._extensions.evaluation.judge_runs import JudgingOptions

    with_judge, with_conditions = options["with_judge"], options["with_conditions"]
    for name, is_given, has_use, fix in (
        ("--labels", options["labels"], with_judge, "--judge"),
        ("--estimate", options["estimate"], with_judge or with_conditions, "--judge"),
        ("--retry", options["retry"], with_judge or with_conditions, "--judge"),
    ):
        if is_given and not has_use:
            raise ConfigError(f"`{name}` requires {fix}.", fix=f"Add {fix}.")
    if not with_judge and not with_conditions:
        return None
    return JudgingOptions(
        with_judge=with_judge,
        with_conditions=with_conditions,
        labelled=read_labelled_cases(options["labels"]) if options["labels"] else (),
        budget=options["budget"],
        retry=options["retry"],
        filters=options["filters"],
    )


def _refuse_options(path: Path, kind: str, others: Mapping[str, str]) -> None:
    """Raise ConfigError if an option was given that does not apply to this kind of path."""
    context = click.get_current_context()
    for name, fix in others.items():
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            option = next(item.opts[0] for item in context.command.params if item.name == name)
            raise ConfigError(f"`{option}` does not apply to `{path}`, which is {kind}.", fix=fix)


def _evaluate_retrievers(session: Session, folder: Path, options: dict[str, Any]) -> None:
    from knotwork._extensions.evaluation.questions import load_dataset
    from knotwork._extensions.evaluation.retriever_runs import (
        describe_retriever_runs,
        read_retrievers,
    )

    every = options["every"]
    names = _all_names() if every else read_retrievers(options["retrievers"])
    dataset = load_dataset(folder, hide_titles=options["hide_titles"], limit=options["limit"])
    run = run_retriever_evaluation(session, dataset, names, skipping=every)
    if not session.emit(describe_retriever_runs(run)):
        print_retriever_evaluation(session, run)


def _all_names() -> list[str]:
    """Return every retriever except `auto`, which stands for another, with the baseline first."""
    from knotwork._retrieval.retriever_registry import AUTO, retriever_names

    return [BASELINE, *(name for name in retriever_names() if name not in {AUTO, BASELINE})]


def run_retriever_evaluation(
    session: Session, dataset: Dataset, names: list[str], *, skipping: bool = False
) -> EvaluationRun:
    """Index the corpus unless that is done, ask every question, and return the results.

    With ``skipping``, communities are built too, and retrievers that cannot run are skipped.
    """
    from platformdirs import user_cache_path

    from knotwork._extensions.evaluation.retriever_runs import (
        EvaluationRun,
        index_dataset,
        index_path,
    )
    from knotwork._extensions.evaluation.retriever_runs import evaluate_retrievers as ask_all
    from knotwork._indexing.communities.detection import CommunityOptions
    from knotwork._indexing.communities.index_reports import bring_up_to_date, is_current
    from knotwork._inference.model_registry import open_embedder, open_reranker
    from knotwork._inference.role_models import RoleModels
    from knotwork._stores.base import companions_of
    from knotwork._stores.urls import open_store
    from knotwork._transform.extractor import make_extractor

    settings = session.settings
    embedder = open_embedder(settings.embedding.model, settings.embedding)
    extractor = make_extractor(settings.index.extractor)
    cache = user_cache_path("knotwork", appauthor=False) / "evaluation"
    cache.mkdir(parents=True, exist_ok=True)
    path = index_path(dataset, embedder=embedder, folder=cache)
    run = EvaluationRun(dataset.name, len(dataset.cases))
    store = open_store(str(path), create=True)
    models = RoleModels.of(settings, companions_of(store))
    try:
        with session.progress(has_lines=True) as view:
            for step in index_dataset.run(
                dataset, store=store, embedder=embedder, extractor=extractor
            ):
                view.show(step)
        options = CommunityOptions.of(settings.communities)
        if skipping and not is_current(store, options=options):
            bring_up_to_date(store, options=options)
        questions = ask_all(
            dataset, names, store=store, embedder=embedder, run=run, models=models,
            reranker=open_reranker(settings.rerank), skipping=skipping,
        )  # fmt: skip
        with session.progress() as counter:
            for asked in questions:
                counter.count(f"Asking {asked.retriever}", asked.done, asked.total)
    finally:
        models.close()
        store.close()
    return run


def print_retriever_evaluation(session: Session, run: EvaluationRun) -> None:
    """Print the means as a table and as bars, and the results of paired tests."""
    from knotwork._extensions.evaluation.retriever_runs import (
        COMPARED_METRICS,
        compare_retrievers,
        describe_retriever_runs,
    )

    terminal = session.terminal
    described = describe_retriever_runs(run)
    means: dict[str, dict[str, float]] = described["retrievers"]
    questions = count_of(run.questions, "question")
    terminal.say(f"{run.dataset}: {questions}, means in percent", style="bold")
    metrics = list(next(iter(means.values()), {}))
    terminal.table(
        [
            (name, *(f"{value * 100:.1f}" for value in values.values()),
             f"{described['median_ms'][name]:.1f}", round(described["tokens"][name]))
            for name, values in means.items()
        ],
        header=("retriever", *metrics, "ms", "tokens"),
    )  # fmt: skip
    terminal.say(f"\n{DRAWN_METRIC}", style="bold")
    terminal.table((name, draw_bar(values[DRAWN_METRIC])) for name, values in means.items())
    for metric in COMPARED_METRICS:
        compared = compare_retrievers(run, metrics=[metric])
        if not compared:
            break
        first = compared[0].first
        terminal.say(f"\nPaired difference to {first} in {metric}, in points", style="bold")
        terminal.table(
            [
                (d.second, f"{0.0 - 100 * d.difference:+.1f}", d.losses, d.wins, f"{d.p_value:.4f}")
                for d in compared
            ],
            header=("retriever", "points", "better", "worse", "p"),
        )  # fmt: skip
    for name, reason in run.skipped.items():
        terminal.note(f"Skipped {name}: {reason}")


_BAR = 50
"""Characters of a full bar."""


def draw_bar(share: float) -> str:
    """Return a bar of a share from 0 to 1, with its value."""
    return f"{'█' * round(share * _BAR)}{'·' * (_BAR - round(share * _BAR))} {share * 100:.1f}"


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
