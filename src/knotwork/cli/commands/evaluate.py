"""`knotwork eval`: how well retrievers find the passages that answer known questions."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from knotwork.cli.app import show_examples
from knotwork.cli.options import with_session
from knotwork.cli.session import Session
from knotwork.cli.terminal import count_of
from knotwork.errors import UnknownName

if TYPE_CHECKING:
    from knotwork.evaluation.datasets import Dataset
    from knotwork.evaluation.runner import EvaluationRun
    from knotwork.evaluation.significance import Comparison

COMPARED_METRIC = "recall@5"


@click.command(
    "eval",
    epilog=show_examples(
        "knotwork eval data/hotpot",
        "knotwork eval data/hotpot --retrievers auto,bm25 --json",
        "knotwork eval data/hotpot --hide-titles --plot recall.png",
    ),
)
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "--retrievers",
    metavar="NAMES",
    default="auto,hybrid,dense,bm25",
    show_default=True,
    help="Separated by commas.",
)
@click.option("--hide-titles", is_flag=True, help="Leave the titles of passages out.")
@click.option(
    "--limit", metavar="N", type=click.IntRange(min=1), help="Only the first N questions."
)
@click.option("--plot", metavar="FILE", type=Path, help="Draw the means into an image.")
@with_session(hides_store=True)
def command(
    session: Session,
    *,
    folder: Path,
    retrievers: str,
    hide_titles: bool,
    limit: int | None,
    plot: Path | None,
) -> None:
    """Measure retrievers on a data set, with a paired test of each against the first.

    The index is kept in the user's cache folder, so that the next run only asks.
    """
    from knotwork.evaluation.datasets import load_dataset
    from knotwork.retrieval.registry import retriever_names

    names = list(dict.fromkeys(name.strip() for name in retrievers.split(",") if name.strip()))
    for name in names or [""]:
        if name not in retriever_names():
            raise UnknownName("retriever", name, retriever_names())
    dataset = load_dataset(folder, hide_titles=hide_titles, limit=limit)
    run = run_evaluation(session, dataset, names)
    if plot is not None:
        from knotwork.cli.plots import draw_means

        draw_means(run, plot)
    if session.common.json:
        session.terminal.emit(describe_run(run))
    else:
        print_run(session, run)


def run_evaluation(session: Session, dataset: Dataset, names: list[str]) -> EvaluationRun:
    """Index the corpus where it is not yet, ask every question, and return the outcome."""
    from platformdirs import user_cache_path

    from knotwork.cli.progress import choose_counter, choose_view
    from knotwork.evaluation.runner import EvaluationRun, index_dataset, index_path
    from knotwork.evaluation.runner import evaluate as ask_all
    from knotwork.inference import open_embedder
    from knotwork.stores.registry import open_store
    from knotwork.transform.registry import make_extractor

    settings = session.settings
    embedder = open_embedder(settings.embedding.model, settings.embedding)
    extractor = make_extractor(settings.index.extractor)
    cache = user_cache_path("knotwork", appauthor=False) / "evaluation"
    cache.mkdir(parents=True, exist_ok=True)
    path = index_path(dataset, embedder=embedder, folder=cache)
    run = EvaluationRun(dataset.name, len(dataset.cases))
    store = open_store(str(path), create=True)
    try:
        with choose_view(session.terminal, "auto", hidden=session.common.no_progress) as view:
            for event in index_dataset(
                dataset, store=store, embedder=embedder, extractor=extractor
            ):
                view.show(event)
        questions = ask_all(dataset, names, store=store, embedder=embedder, run=run)
        with choose_counter(session.terminal, hidden=session.common.no_progress) as counter:
            for asked in questions:
                counter.count(f"Asking {asked.retriever}", asked.done, asked.total)
    finally:
        store.close()
    return run


def describe_run(run: EvaluationRun) -> dict[str, Any]:
    """Return the object of `eval --json`: fractions from 0 to 1."""
    from statistics import median

    return {
        "dataset": run.dataset,
        "questions": run.questions,
        "retrievers": {name: outcome.means() for name, outcome in run.runs.items()},
        "median_ms": {
            name: round(median(outcome.seconds) * 1000, 3) if outcome.seconds else 0.0
            for name, outcome in run.runs.items()
        },
        "comparisons": [
            {"first": first, "second": second, "metric": metric, **asdict(comparison)}
            for first, second, metric, comparison in compare_all(run)
        ],
    }


def compare_all(run: EvaluationRun) -> list[tuple[str, str, str, Comparison]]:
    """Compare the first retriever with each other one, on every metric."""
    first, *others = run.runs
    metrics = run.runs[first].values
    return [
        (first, other, metric, run.compare(first, other, metric))
        for other in others
        for metric in metrics
    ]


def print_run(session: Session, run: EvaluationRun) -> None:
    """Print the means as a table and as bars, and what the paired tests say."""
    terminal = session.terminal
    described = describe_run(run)
    means: dict[str, dict[str, float]] = described["retrievers"]
    questions = count_of(run.questions, "question")
    terminal.say(f"{run.dataset}: {questions}, means in percent", style="bold")
    metrics = list(next(iter(means.values())))
    terminal.table(
        [
            (name, *(f"{value * 100:.1f}" for value in values.values()),
             f"{described['median_ms'][name]:.1f}")
            for name, values in means.items()
        ],
        header=("retriever", *metrics, "ms"),
    )  # fmt: skip
    terminal.say(f"\n{COMPARED_METRIC}", style="bold")
    terminal.table((name, draw_bar(values[COMPARED_METRIC])) for name, values in means.items())
    compared = [item for item in compare_all(run) if item[2] == COMPARED_METRIC]
    if compared:
        terminal.say(f"\nPaired difference in {COMPARED_METRIC}", style="bold")
    for first, second, _, comparison in compared:
        counts = f"better on {comparison.wins}, worse on {comparison.losses} of {questions}"
        points = f"{comparison.difference * 100:+.1f} points"
        terminal.say(f"{first} - {second}: {points}, {counts}, p = {comparison.p_value:.4f}")


def draw_bar(share: float, width: int = 50) -> str:
    """Return a bar of a share from 0 to 1, with its value."""
    return f"{'█' * round(share * width)}{'·' * (width - round(share * width))} {share * 100:.1f}"
